package main

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/ompi-go/ompi-go/rte/control"
)

func merged(t *testing.T, texts ...rankText) string {
	t.Helper()
	var b bytes.Buffer
	if err := merge(&b, texts); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestMerge(t *testing.T) {
	up := func(values ...string) string {
		s := "# HELP ompi_rte_rank_up Whether the rank has answered this scrape.\n# TYPE ompi_rte_rank_up gauge\n"
		for rank, v := range values {
			s += "ompi_rte_rank_up{rank=\"" + string(rune('0'+rank)) + "\"} " + v + "\n"
		}
		return s
	}
	for _, c := range []struct {
		name  string
		texts []rankText
		want  string
	}{
		{"nothing yet", []rankText{{}, {}}, up("1", "1")},
		{"own label kept", []rankText{{text: "a{rank=\"7\"} 1\n"}, {text: "a{btl=\"sm\"} 2\n"}},
			"# TYPE a untyped\na{rank=\"7\"} 1\na{btl=\"sm\",rank=\"1\"} 2\n" + up("1", "1")},
		{"histogram", []rankText{{text: "# TYPE h histogram\nh_bucket{le=\"1\"} 2\nh_bucket{le=\"+Inf\"} 3\nh_sum 4\nh_count 3\n"}},
			"# TYPE h histogram\nh_bucket{rank=\"0\",le=\"1\"} 2\nh_bucket{rank=\"0\",le=\"+Inf\"} 3\nh_sum{rank=\"0\"} 4\nh_count{rank=\"0\"} 3\n" + up("1")},
		{"types that clash", []rankText{{text: "# TYPE a counter\na 1\n"}, {text: "# TYPE a gauge\na 1\nb 2\n"}},
			"# rank 1: its a is a GAUGE, which does not go with another's\n# TYPE a counter\na{rank=\"0\"} 1\n" + up("1", "0")},
		{"our own name", []rankText{{text: "ompi_rte_rank_up 5\n"}},
			"# rank 0: its ompi_rte_rank_up is a UNTYPED, which does not go with another's\n" + up("0")},
		{"an error of two lines", []rankText{{err: errors.New("one\ntwo")}}, "# rank 0: one two\n" + up("0")},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := merged(t, c.texts...); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// FuzzMerge checks that whatever a rank says, the exposition of all stays readable.
func FuzzMerge(f *testing.F) {
	f.Add("# TYPE a counter\na{x=\"y\"} 1\n", "a 2\n")
	f.Add("# TYPE h histogram\nh_bucket{le=\"1\"} 2\nh_sum 4\nh_count 3\n", "# HELP h text\n")
	f.Add("{\"quoted.name\",a=\"b\"} 1 1000\n", "nonsense")
	f.Fuzz(func(t *testing.T, first, second string) {
		got := merged(t, rankText{text: first}, rankText{text: second})
		if !strings.Contains(got, upName+`{rank="1"}`) {
			t.Fatalf("rank 1 is missing in\n%s", got)
		}
		parser := expfmt.NewTextParser(model.UTF8Validation)
		if _, err := parser.TextToMetricFamilies(strings.NewReader(got)); err != nil {
			t.Fatalf("%v in\n%s", err, got)
		}
	})
}

// TestCollectDeadline: a rank that does not answer, and one that dies, do not keep the others' metrics.
func TestCollectDeadline(t *testing.T) {
	var ranks []*rankControl
	answer := func(serve func(c *control.Conn)) {
		ours, theirs := net.Pipe()
		c := newRankControl(len(ranks), control.NewConn(ours, time.Minute))
		hello := make(chan struct{})
		go c.serve(func(control.Message) { close(hello) })
		peer := control.NewConn(theirs, time.Minute)
		t.Cleanup(func() { theirs.Close() })
		if err := peer.Send(control.Message{Kind: control.Hello}); err != nil {
			t.Fatal(err)
		}
		<-hello
		go serve(peer)
		ranks = append(ranks, c)
	}
	answer(func(c *control.Conn) { c.Receive() }) // asked, and silent
	answer(func(c *control.Conn) { c.Receive(); c.Close() })
	answered := make(chan struct{})
	answer(func(c *control.Conn) {
		m, err := c.Receive()
		if err != nil {
			t.Error(err)
		}
		c.Send(control.Message{Kind: control.Metrics, ID: m.ID + 1, Text: "stale 1\n"})
		c.Send(control.Message{Kind: control.Metrics, ID: m.ID, Text: "a 1\n"})
		// This one is read when the answer has been handed on.
		c.Send(control.Message{Kind: control.Metrics, ID: m.ID + 2, Text: "stale 2\n"})
		close(answered)
	})
	deadline := make(chan time.Time)
	go func() {
		<-answered
		deadline <- time.Time{}
	}()
	texts := collect(append(ranks, newRankControl(3, control.NewConn(struct {
		io.Reader
		io.WriteCloser
	}{}, 0))), deadline)
	for i, bad := range []bool{true, true, false, true} {
		if (texts[i].err != nil) != bad {
			t.Errorf("rank %d: %+v", i, texts[i])
		}
	}
	if texts[2].text != "a 1\n" {
		t.Errorf("rank 2: %+v", texts[2])
	}
}

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/ompi-go/ompi-go/internal/mpiruntest"
	"github.com/ompi-go/ompi-go/ompi"
)

// programs are ranks with an MPI instance of their own; the first argument names one, as with roles.
var programs = map[string]func(args []string) error{"traffic": traffic, "traced": traced}

const (
	smallMessages = 10
	smallBytes    = 8
	bigBytes      = 1 << 20
)

// traffic: when rank 0 is told to, it sends rank 1 some messages; then rank 1 blocks in a receive until rank 0 is told to end.
func traffic([]string) error {
	inst, err := ompi.Init()
	if err != nil {
		return err
	}
	w := inst.World()
	small, big := make([]byte, smallBytes), make([]byte, bigBytes)
	fmt.Println("ready")
	if w.Rank() == 0 {
		in := bufio.NewReader(os.Stdin)
		if _, err := in.ReadString('\n'); err != nil {
			return err
		}
		for range smallMessages {
			if err := w.Send(ompi.Slice(small), 1, 0); err != nil {
				return err
			}
		}
		if err := w.Send(ompi.Slice(big), 1, 1); err != nil {
			return err
		}
		fmt.Println("ready")
		if _, err := io.ReadAll(in); err != nil {
			return err
		}
		return errors.Join(w.Send(ompi.Slice(small), 1, 2), inst.Finalize())
	}
	for range smallMessages {
		if _, err := w.Recv(ompi.Slice(small), 0, 0); err != nil {
			return err
		}
	}
	if _, err := w.Recv(ompi.Slice(big), 0, 1); err != nil {
		return err
	}
	fmt.Println("ready")
	_, err = w.Recv(ompi.Slice(small), 0, 2)
	return errors.Join(err, inst.Finalize())
}

// counters are the values of a scrape, by name and labels without quotes.
func counters(t *testing.T, url string) map[string]float64 {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string]float64)
	for name, f := range families {
		for _, m := range f.Metric {
			var labels []string
			for _, l := range m.Label {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			out[name+"{"+strings.Join(labels, ",")+"}"] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return out
}

// TestInstanceMetrics: the counters of real ranks, of which one blocks in a receive and the other is outside of MPI.
func TestInstanceMetrics(t *testing.T) {
	j := newJob(t, "-n", "2", "--metrics", "0", "RANK", "traffic")
	stdin, err := j.Cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	j.StartReady(2)
	addr := regexp.MustCompile(`metrics at (http://127.0.0.1:\d+/metrics)`).FindStringSubmatch(j.Err.String())
	if addr == nil {
		t.Fatalf("no address in %s", &j.Err)
	}
	before := counters(t, addr[1])
	for _, up := range []string{"ompi_rte_rank_up{rank=0}", "ompi_rte_rank_up{rank=1}"} {
		if before[up] != 1 {
			t.Errorf("%s is %g", up, before[up])
		}
	}
	if _, err := io.WriteString(stdin, "go\n"); err != nil {
		t.Fatal(err)
	}
	j.Ready(2)

	// Rank 1 sleeps before long; then it makes no more passes, and a scrape does not make it.
	const sleeps, passes = "ompi_progress_sleeps_total{rank=1}", "ompi_progress_passes_total{rank=1}"
	after := counters(t, addr[1])
	for last, deadline := -1.0, time.Now().Add(time.Minute); after[sleeps] == 0 || after[passes] != last; after = counters(t, addr[1]) {
		if time.Now().After(deadline) {
			t.Fatalf("rank 1 does not sleep: %g sleeps, %g passes", after[sleeps], after[passes])
		}
		last = after[passes]
		time.Sleep(10 * time.Millisecond)
	}
	grown := func(series string) int { return int(after[series] - before[series]) }
	for series, want := range map[string]int{
		"ompi_pml_messages_sent_total{protocol=inline,rank=0}":     smallMessages,
		"ompi_pml_bytes_sent_total{protocol=inline,rank=0}":        smallMessages * smallBytes,
		"ompi_pml_messages_sent_total{protocol=inline,rank=1}":     0,
		"ompi_pml_messages_received_total{protocol=eager,rank=1}":  smallMessages,
		"ompi_pml_bytes_received_total{protocol=eager,rank=1}":     smallMessages * smallBytes,
		"ompi_pml_matches_total{rank=1}":                           smallMessages + 1,
		"ompi_pml_matches_total{rank=0}":                           0,
		"ompi_pml_refused_total{rank=1}":                           0,
		"ompi_btl_messages_sent_total{btl=sm,peer=remote,rank=0}":  0,
		"ompi_btl_messages_sent_total{btl=sm,peer=process,rank=0}": 0,
	} {
		if got := grown(series); got != want {
			t.Errorf("%s has grown by %d, want %d", series, got, want)
		}
	}
	// The big message comes by single copy where the kernel allows it.
	const received, bytes = "ompi_pml_messages_received_total{protocol=%s,rank=1}", "ompi_pml_bytes_received_total{protocol=%s,rank=1}"
	rget, rndv := grown(fmt.Sprintf(received, "rget"))+grown(fmt.Sprintf(received, "coop")), grown(fmt.Sprintf(received, "rndv"))
	if rget+rndv != 1 || grown(fmt.Sprintf(bytes, "rget"))+grown(fmt.Sprintf(bytes, "coop")) != rget*bigBytes || grown(fmt.Sprintf(bytes, "rndv")) != rndv*bigBytes {
		t.Errorf("%d messages by rget or coop, %d by rndv, want one of them with %d bytes", rget, rndv, bigBytes)
	}
	if n := grown("ompi_btl_get_bytes_total{btl=sm,peer=host,rank=1}"); n != rget*bigBytes {
		t.Errorf("%d bytes read from rank 0, want %d", n, rget*bigBytes)
	}
	sent := grown("ompi_btl_bytes_sent_total{btl=sm,peer=host,rank=0}")
	if want := smallMessages*smallBytes + rndv*bigBytes; sent != want {
		t.Errorf("%d bytes sent over sm, want %d", sent, want)
	}
	stdin.Close()
	j.End(mpiruntest.Swift, 0)
}

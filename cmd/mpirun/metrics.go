package main

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/ompi-go/ompi-go/rte/control"
)

// scrapeTime is how long a scrape waits for the ranks. A rank deep in computation answers late or not at all; the others'
// metrics are shown all the same.
const scrapeTime = 2 * time.Second

// upName is the gauge that says whose metrics a scrape has got.
const upName = "ompi_rte_rank_up"

// metricsServer answers HTTP requests for /metrics with what the ranks say at that moment.
type metricsServer struct {
	listener net.Listener
	ranks    []*rankControl
	one      sync.Mutex // one scrape at a time, so that many clients cannot load the ranks
}

// listenMetrics binds the address, so that a wrong one is known before the ranks start.
func listenMetrics(addr string) (*metricsServer, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("--metrics: %w", err)
	}
	return &metricsServer{listener: l}, nil
}

// serve begins to answer; the ranks are those of the job.
func (s *metricsServer) serve(ranks []*rankControl) {
	s.ranks = ranks
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", s.answer)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		// It returns when close closes the listener.
		_ = server.Serve(s.listener)
	}()
}

func (s *metricsServer) close() { s.listener.Close() }

func (s *metricsServer) answer(w http.ResponseWriter, _ *http.Request) {
	s.one.Lock()
	texts := collect(s.ranks, time.After(scrapeTime))
	s.one.Unlock()
	var body bytes.Buffer
	if err := merge(&body, texts); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", string(expfmt.NewFormat(expfmt.TypeTextPlain)))
	_, _ = w.Write(body.Bytes()) // a client that went away needs nothing
}

// rankText is what a scrape got from one rank.
type rankText struct {
	text string
	err  error // why there is no text
}

// collect asks all ranks at once and takes what comes before the deadline.
func collect(ranks []*rankControl, deadline <-chan time.Time) []rankText {
	texts := make([]rankText, len(ranks))
	answers := make([]<-chan control.Message, len(ranks))
	for i, r := range ranks {
		answer, drop, ok := r.scrape()
		if !ok {
			texts[i].err = fmt.Errorf("it does not listen")
			continue
		}
		defer drop()
		answers[i] = answer
	}
	late := false
	for i, answer := range answers {
		if answer == nil {
			continue
		}
		var m control.Message
		var ok bool
		if late {
			select {
			case m, ok = <-answer:
			default:
			}
		} else {
			select {
			case m, ok = <-answer:
			case <-deadline:
				late = true
			}
		}
		switch {
		case !ok:
			texts[i].err = fmt.Errorf("no answer")
		case m.Err != "":
			texts[i].err = fmt.Errorf("%s", m.Err)
		default:
			texts[i].text = m.Text
		}
	}
	return texts
}

// merge writes one exposition out of those of the ranks: each series gets a label with its rank unless it has one. A gauge
// tells which ranks are in it, and a comment why one is not.
func merge(w io.Writer, texts []rankText) error {
	up := &dto.MetricFamily{
		Name: new(upName), Help: new("Whether the rank has answered this scrape."), Type: dto.MetricType_GAUGE.Enum(),
	}
	families := map[string]*dto.MetricFamily{upName: up}
	for rank, t := range texts {
		err := t.err
		if err == nil {
			err = addRank(families, rank, t.text)
		}
		value := 1.0
		if err != nil {
			value = 0
			fmt.Fprintf(w, "# rank %d: %s\n", rank, strings.ReplaceAll(err.Error(), "\n", " "))
		}
		up.Metric = append(up.Metric, &dto.Metric{
			Label: []*dto.LabelPair{rankLabel(rank)}, Gauge: &dto.Gauge{Value: &value},
		})
	}
	for _, name := range slices.Sorted(maps.Keys(families)) {
		if _, err := expfmt.MetricFamilyToText(w, families[name]); err != nil {
			return fmt.Errorf("writing %s: %w", name, err)
		}
	}
	return nil
}

// addRank adds one rank's metrics, all or none of them.
func addRank(families map[string]*dto.MetricFamily, rank int, text string) error {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	parsed, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		return err
	}
	for name, f := range parsed {
		if have := families[name]; name == upName || have != nil && have.GetType() != f.GetType() {
			return fmt.Errorf("its %s is a %s, which does not go with another's", name, f.GetType())
		}
	}
	for name, f := range parsed {
		for _, m := range f.Metric {
			if !slices.ContainsFunc(m.Label, func(l *dto.LabelPair) bool { return l.GetName() == "rank" }) {
				m.Label = append(m.Label, rankLabel(rank))
			}
		}
		if have := families[name]; have != nil {
			have.Metric = append(have.Metric, f.Metric...)
		} else {
			families[name] = f
		}
	}
	return nil
}

func rankLabel(rank int) *dto.LabelPair {
	return &dto.LabelPair{Name: new("rank"), Value: new(strconv.Itoa(rank))}
}

package metrics

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// Collector shows the counters of one instance to Prometheus (prometheus.Collector). It may be asked from any goroutine.
type Collector struct {
	token   sync.Locker
	sources []Source
	descs   map[string]described // by name
	size    int                  // series of the last snapshot
	mu      sync.Mutex           // guards size
}

type described struct {
	our   *Desc
	their *prometheus.Desc
}

// NewCollector makes the collector of sources which token guards, such as a progress.Engine. The constant labels, such as
// RankLabel, are added to every series; there may be none.
func NewCollector(token sync.Locker, constant map[string]string, sources ...Source) (*Collector, error) {
	all, err := Describe(sources...)
	if err != nil {
		return nil, err
	}
	c := &Collector{token: token, sources: sources, descs: make(map[string]described, len(all))}
	for _, d := range all {
		c.descs[d.Name] = described{d, prometheus.NewDesc(d.Name, d.Help, d.Labels, constant)}
	}
	return c, nil
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		ch <- d.their
	}
}

// sample is one emitted value. The label values are the emitter's own slice.
type sample struct {
	desc   *Desc
	value  uint64
	labels []string
}

// Collect implements prometheus.Collector. The token is held only while the sources read out their counters.
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	for _, s := range sum(c.snapshot()) {
		d, ok := c.descs[s.desc.Name]
		if !ok || !d.our.equal(s.desc) {
			err := fmt.Errorf("metrics: %s with the labels %v is emitted but not described", s.desc.Name, s.desc.Labels)
			ch <- prometheus.NewInvalidMetric(prometheus.NewInvalidDesc(err), err)
			continue
		}
		m, err := prometheus.NewConstMetric(d.their, prometheus.CounterValue, float64(s.value), s.labels...)
		if err != nil {
			m = prometheus.NewInvalidMetric(d.their, err)
		}
		ch <- m
	}
}

// Sample is the value of one series.
type Sample struct {
	Desc   *Desc
	Labels []string // values, in the order of Desc.Labels
	Value  uint64
}

// Snapshot gives all series, taken at one moment between two passes, sorted by name and labels.
func (c *Collector) Snapshot() []Sample {
	all := sum(c.snapshot())
	out := make([]Sample, len(all))
	for i, s := range all {
		out[i] = Sample{s.desc, slices.Clone(s.labels), s.value}
	}
	slices.SortFunc(out, func(a, b Sample) int {
		if x := strings.Compare(a.Desc.Name, b.Desc.Name); x != 0 {
			return x
		}
		return slices.Compare(a.Labels, b.Labels)
	})
	return out
}

// Unit is what the counter counts in: "bytes" where its name says so, else nothing but "1".
func (d *Desc) Unit() string {
	if strings.Contains(d.Name, "_bytes_") {
		return "bytes"
	}
	return "1"
}

func (c *Collector) snapshot() []sample {
	c.mu.Lock()
	out := make([]sample, 0, c.size) // sized before the token is taken
	c.mu.Unlock()
	emit := func(d *Desc, value uint64, labels ...string) { out = append(out, sample{d, value, labels}) }
	c.token.Lock()
	for _, s := range c.sources {
		s.Metrics(emit)
	}
	c.token.Unlock()
	c.mu.Lock()
	c.size = len(out)
	c.mu.Unlock()
	return out
}

// sum adds up samples of one counter with equal labels: several modules of a component are one to whoever reads them.
func sum(all []sample) []sample {
	at := make(map[string]int, len(all))
	out := all[:0]
	for _, s := range all {
		key := s.desc.Name + "\xff" + strings.Join(s.labels, "\xff")
		if i, ok := at[key]; ok {
			out[i].value += s.value
			continue
		}
		at[key] = len(out)
		out = append(out, s)
	}
	return out
}

package ompi

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/ompi-go/ompi-go/metrics"
)

// Metrics gives the instance's counters: those of its progress engine, its components and the fallbacks taken. Every series
// has a label with the rank in the job, so that the gatherers of several ranks of a process can be merged (prometheus.Gatherers).
// Gathering takes a snapshot between two passes of the progress engine and wakes nobody. After Finalize it gives the last
// values. docs/metrics.md lists the counters.
func (i *Instance) Metrics() prometheus.Gatherer { return i.metrics() }

// newMetrics makes the registry. That takes a while, so that it is done when first asked for.
func (i *Instance) newMetrics() prometheus.Gatherer {
	c, err := metrics.NewCollector(i.engine, map[string]string{metrics.RankLabel: strconv.Itoa(i.job.Rank())}, i.sources()...)
	r := prometheus.NewPedanticRegistry()
	if err == nil {
		err = r.Register(c)
	}
	if err != nil { // a component declares its counters wrongly: whoever asks is told
		return prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) { return nil, err })
	}
	return r
}

// sources are the parts of the instance that have counters.
func (i *Instance) sources() []metrics.Source {
	list := []metrics.Source{i.engine, fallbacks(i.said)}
	add := func(part any) {
		if s, ok := part.(metrics.Source); ok {
			list = append(list, s)
		}
	}
	add(i.mem.source())
	add(i.pml)
	add(i.bml)
	for _, m := range i.modules {
		add(m)
	}
	for _, s := range i.services.All() {
		add(s)
	}
	for _, f := range i.coll {
		add(f)
	}
	for _, o := range i.osc {
		add(o.Factory)
	}
	return list
}

// scrape answers the launcher.
func (i *Instance) scrape() ([]byte, error) { return metrics.Text(i.Metrics()) }

// fallbacks counts what Say was told, by its key.
type fallbacks map[string]uint64

var fallbacksDesc = &metrics.Desc{
	Name: "ompi_fallbacks_total", Labels: []string{"what"},
	Help: "Times that a mechanism was not to be had and another was used instead, as told on stderr.",
}

func (fallbacks) Describe() []*metrics.Desc { return []*metrics.Desc{fallbacksDesc} }

func (f fallbacks) Metrics(emit metrics.Emit) {
	for key, n := range f {
		emit(fallbacksDesc, n, key)
	}
}

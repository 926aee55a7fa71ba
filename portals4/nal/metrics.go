package nal

import (
	"slices"

	"github.com/ompi-go/ompi-go/metrics"
)

// A carrier's counters are those of its BTL, told apart from the instance's own by the label that names it: portals4-shm instead of sm.

// btlLabel is the label with a BTL's name.
const btlLabel = "btl"

// Describe implements metrics.Source.
func (s *Set) Describe() []*metrics.Desc {
	var all []*metrics.Desc
	for _, c := range s.open {
		for _, m := range c.modules {
			if src, ok := m.(metrics.Source); ok {
				all = append(all, src.Describe()...)
			}
		}
	}
	return all
}

// Metrics implements metrics.Source. The token is held.
func (s *Set) Metrics(emit metrics.Emit) {
	for _, c := range s.open {
		for _, m := range c.modules {
			src, ok := m.(metrics.Source)
			if !ok {
				continue
			}
			src.Metrics(func(d *metrics.Desc, value uint64, labels ...string) {
				labels = slices.Clone(labels)
				if i := slices.Index(d.Labels, btlLabel); i >= 0 && i < len(labels) {
					labels[i] = sayPrefix + c.kind.name
				}
				emit(d, value, labels...)
			})
		}
	}
}

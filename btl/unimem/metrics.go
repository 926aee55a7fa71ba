package unimem

import (
	"github.com/ompi-go/ompi-go/metrics"
	"github.com/ompi-go/ompi-go/rcache"
)

// Describe implements metrics.Source.
func (m *module) Describe() []*metrics.Desc { return rcache.Describe() }

// Metrics implements metrics.Source: the registrations with all peers. The token is held.
func (m *module) Metrics(emit metrics.Emit) {
	var all rcache.Stats
	for _, l := range m.links {
		if l == nil {
			continue
		}
		s := l.routes.stats()
		all.Hits += s.Hits
		all.Misses += s.Misses
		all.Evictions += s.Evictions
		all.Failures += s.Failures
		all.Merges += s.Merges
		all.Overlaps += s.Overlaps
		all.Made += s.Made
		all.MadeBytes += s.MadeBytes
		all.Entries += s.Entries
		all.Bytes += s.Bytes
	}
	rcache.Emit(emit, "btl/unimem", all)
}

// stats are those of the cache; without one each transfer is a miss.
func (r *routes) stats() rcache.Stats {
	if r.cache != nil {
		return r.cache.Stats()
	}
	return r.plain
}

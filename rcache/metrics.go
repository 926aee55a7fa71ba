package rcache

import "github.com/ompi-go/ompi-go/metrics"

// byOwner is the label of a cache: whose it is.
var byOwner = []string{"owner"}

var (
	hitsDesc      = &metrics.Desc{Name: "ompi_rcache_hits_total", Help: "Look-ups that found memory registered.", Labels: byOwner}
	missesDesc    = &metrics.Desc{Name: "ompi_rcache_misses_total", Help: "Look-ups that did not, so that memory had to be registered.", Labels: byOwner}
	evictionsDesc = &metrics.Desc{Name: "ompi_rcache_evictions_total", Help: "Unused registrations given up for a limit or for room.", Labels: byOwner}
	failuresDesc  = &metrics.Desc{Name: "ompi_rcache_failures_total", Help: "Registrations that the transport refused.", Labels: byOwner}
	mergesDesc    = &metrics.Desc{Name: "ompi_rcache_merges_total", Help: "Unused registrations replaced by a wider one.", Labels: byOwner}
	overlapsDesc  = &metrics.Desc{Name: "ompi_rcache_overlaps_total", Help: "Look-ups that found a part of the memory registered.", Labels: byOwner}
	madeDesc      = &metrics.Desc{Name: "ompi_rcache_registrations_total", Help: "Registrations made.", Labels: byOwner}
	madeBDesc     = &metrics.Desc{Name: "ompi_rcache_registered_bytes_total", Help: "Memory registered.", Labels: byOwner}
	endedDesc     = &metrics.Desc{Name: "ompi_rcache_deregistrations_total", Help: "Registrations that have ended; the others made are there now.", Labels: byOwner}
	endedBDesc    = &metrics.Desc{Name: "ompi_rcache_deregistered_bytes_total", Help: "Memory of which the registration has ended.", Labels: byOwner}
)

// Describe lists the counters that Emit emits, for a metrics.Source that owns a cache.
func Describe() []*metrics.Desc {
	return []*metrics.Desc{hitsDesc, missesDesc, evictionsDesc, failuresDesc, mergesDesc, overlapsDesc, madeDesc, madeBDesc, endedDesc, endedBDesc}
}

// Emit emits the counts of the cache of that owner, such as "btl/tcp".
func Emit(emit metrics.Emit, owner string, s Stats) {
	emit(hitsDesc, s.Hits, owner)
	emit(missesDesc, s.Misses, owner)
	emit(evictionsDesc, s.Evictions, owner)
	emit(failuresDesc, s.Failures, owner)
	emit(mergesDesc, s.Merges, owner)
	emit(overlapsDesc, s.Overlaps, owner)
	emit(madeDesc, s.Made, owner)
	emit(madeBDesc, s.MadeBytes, owner)
	emit(endedDesc, s.Made-uint64(s.Entries), owner)
	emit(endedBDesc, s.MadeBytes-uint64(s.Bytes), owner)
}

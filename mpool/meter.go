package mpool

import (
	"sync/atomic"

	"github.com/ompi-go/ompi-go/metrics"
)

// Meter counts what a pool does. Pools are used without the token, so that counters are atomic; memory is not allocated per message.
// A pool embeds one and so is a metrics.Source.
type Meter struct {
	Pool             string // the label
	allocs, frees    atomic.Uint64
	bytes, freeBytes atomic.Uint64
	failures         atomic.Uint64
}

var byPool = []string{"pool"}

var (
	allocsDesc    = &metrics.Desc{Name: "ompi_mpool_allocations_total", Help: "Pieces of memory handed out.", Labels: byPool}
	bytesDesc     = &metrics.Desc{Name: "ompi_mpool_allocated_bytes_total", Help: "Memory handed out.", Labels: byPool}
	freesDesc     = &metrics.Desc{Name: "ompi_mpool_frees_total", Help: "Pieces of memory freed; the others handed out are in use.", Labels: byPool}
	freeBytesDesc = &metrics.Desc{Name: "ompi_mpool_freed_bytes_total", Help: "Memory freed.", Labels: byPool}
	failuresDesc  = &metrics.Desc{Name: "ompi_mpool_failures_total", Help: "Times that there was no memory.", Labels: byPool}
)

// Name implements Pool.
func (m *Meter) Name() string { return m.Pool }

// Allocated counts n bytes handed out.
func (m *Meter) Allocated(n int64) {
	m.allocs.Add(1)
	m.bytes.Add(uint64(n))
}

// Freed counts n bytes freed.
func (m *Meter) Freed(n int64) {
	m.frees.Add(1)
	m.freeBytes.Add(uint64(n))
}

// Failed counts an allocation that failed.
func (m *Meter) Failed() { m.failures.Add(1) }

// Used is what is in use: pieces and bytes.
func (m *Meter) Used() (pieces, bytes int64) {
	return int64(m.allocs.Load() - m.frees.Load()), int64(m.bytes.Load() - m.freeBytes.Load())
}

// Describe implements metrics.Source.
func (m *Meter) Describe() []*metrics.Desc {
	return []*metrics.Desc{allocsDesc, bytesDesc, freesDesc, freeBytesDesc, failuresDesc}
}

// Metrics implements metrics.Source.
func (m *Meter) Metrics(emit metrics.Emit) {
	emit(allocsDesc, m.allocs.Load(), m.Pool)
	emit(bytesDesc, m.bytes.Load(), m.Pool)
	emit(freesDesc, m.frees.Load(), m.Pool)
	emit(freeBytesDesc, m.freeBytes.Load(), m.Pool)
	emit(failuresDesc, m.failures.Load(), m.Pool)
}

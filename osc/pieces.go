package osc

import (
	"unsafe"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
)

// Pieces walks memory here and in a target's window side by side, in the order of their type signatures, as runs of bytes that are contiguous on both
// sides. It allocates nothing, and may be part of a longer-lived object.
type Pieces struct {
	base          unsafe.Pointer
	local, remote datatype.Runs
	// What is left of the run of either side.
	mem, memLeft int64
	off, offLeft int64
	start        int64 // of the target's first element
}

// Init begins at the start. The two sides have the same number of bytes; off is where the target's first element begins (displacement 0).
func (p *Pieces) Init(local core.Buffer, off, count int64, t *datatype.Type) {
	p.base, p.start = local.Addr(), off
	p.memLeft, p.offLeft = 0, 0
	p.local, p.remote = datatype.Runs{}, datatype.Runs{}
	if local.Type() == nil || count == 0 {
		return // an empty operation need not say of what
	}
	p.local.Init(local.Type(), local.Count())
	p.remote.Init(t, count)
}

// Next gives the next run, of at most most bytes; n is 0 after the last. Where all elements have one kind, no run ends inside of one if most is 16 or more.
func (p *Pieces) Next(most int64) (mem unsafe.Pointer, off, n int64) {
	if most >= 16 {
		most &^= 15 // all elements begin at a multiple of their size from where the run does, and 16 is the largest
	}
	if p.memLeft == 0 {
		p.mem, p.memLeft = p.local.Next(most)
	}
	if p.offLeft == 0 {
		p.off, p.offLeft = p.remote.Next(most)
	}
	n = min(p.memLeft, p.offLeft, most)
	if n == 0 {
		return nil, 0, 0
	}
	mem, off = unsafe.Add(p.base, p.mem), p.start+p.off
	p.mem, p.memLeft = p.mem+n, p.memLeft-n
	p.off, p.offLeft = p.off+n, p.offLeft-n
	return mem, off, n
}

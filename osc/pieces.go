package osc

import (
	"unsafe"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
)

// Pieces walks memory here and in a target's window side by side, in the order of their type signatures, as runs of bytes that are contiguous on both
// sides. It allocates nothing, and may be part of a longer-lived object.
type Pieces struct {
	local  datatype.Convertor
	remote datatype.Runs
	piece  struct{ mem, off, left int64 }
}

// Init begins at the start. The two sides have the same number of bytes.
func (p *Pieces) Init(local core.Buffer, off, count int64, t *datatype.Type) { panic("to come") }

// Next gives the next run, of at most most bytes; n is 0 after the last. No run ends inside a basic element, if most is 16 or more.
func (p *Pieces) Next(most int64) (mem unsafe.Pointer, off, n int64) { panic("to come") }

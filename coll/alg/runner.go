package alg

import (
	"sync/atomic"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/pml"
)

// Chooser picks the algorithm for an operation on size ranks; bytes is Args.Bytes. All ranks of a communicator choose the same, so it may
// depend on nothing that one rank alone knows. It may set a.Segment.
type Chooser interface {
	Choose(a *Args, bytes int64, size int) *Algorithm
}

// Runner serves all operations of one communicator with the algorithms that its Chooser picks. Modules of components embed it.
type Runner struct {
	pml     pml.Module
	comm    *core.Comm
	chooser Chooser
	uses    *Uses
	keep    int64 // bytes of scratch memory kept

	// spare is the call of the last operation, for the next one. Collectives of one communicator follow each other, so one is
	// enough; should two overlap, the second makes its own.
	spare atomic.Pointer[Call]
}

// Init prepares r. keep is how much scratch memory stays between operations, in bytes.
func (r *Runner) Init(p pml.Module, c *core.Comm, chooser Chooser, uses *Uses, keep int64) {
	r.pml, r.comm, r.chooser, r.uses, r.keep = p, c, chooser, uses, keep
}

// Close implements coll.Module.
func (r *Runner) Close() error {
	r.spare.Store(nil)
	return nil
}

// begin takes a Call, whose args are to be filled in. Tags are one an operation, so that ranks that disagree about which operation
// comes next do not take each other's messages.
func (r *Runner) begin(k Kind) (*Call, *Args) {
	c := r.spare.Swap(nil)
	if c == nil {
		c = &Call{comm: r.comm, ch: &r.comm.Inner, pml: r.pml, rank: r.comm.MyRank, size: r.comm.Size(), peers: r.comm.Peers()}
		if r.comm.Local != nil {
			c.ch = &r.comm.Local.Inner
		}
	}
	c.tag = 1 + int(k)
	c.args.Kind = k
	return c, &c.args
}

// run carries the operation out and gives its error.
func (r *Runner) run(c *Call) error {
	a := &c.args
	bytes := a.Bytes(c.rank, c.size)
	g := r.chooser.Choose(a, bytes, c.size)
	from := r.uses.Begin(g)
	g.Run(c, a)
	c.wait()
	r.uses.End(from, g, bytes)
	err := c.err
	c.args = Args{}
	if c.dead {
		return err // a send may still read the scratch memory: leave it to the garbage collector
	}
	c.err = nil
	c.ints = c.ints[:0]
	for i := range c.scratch {
		c.scratch[i].trim(r.keep)
	}
	r.spare.Store(c)
	return err
}

// Plan implements coll.Planner.
func (r *Runner) Plan(a *Args) *Algorithm {
	size := r.comm.Size()
	return r.chooser.Choose(a, a.Bytes(r.comm.MyRank, size), size)
}

package ompi

import (
	"unsafe"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
)

// contextSet is the context numbers in use at this rank, and those that an agreement under way has its hand on.
type contextSet struct {
	used  map[uint32]bool
	first uint32 // all below are in use
}

func (s *contextSet) take(k uint32) bool {
	if s.used == nil {
		s.used = make(map[uint32]bool)
	}
	if s.used[k] {
		return false
	}
	s.used[k] = true
	for s.used[s.first] {
		s.first++
	}
	return true
}

func (s *contextSet) give(k uint32) {
	delete(s.used, k)
	s.first = min(s.first, k)
}

// free is the lowest number from k on that is not in use.
func (s *contextSet) free(k uint32) uint32 {
	for k = max(k, s.first); s.used[k]; k++ {
	}
	return k
}

// agreeContext finds a context number that is free at all members of c. Each round every rank puts its hand on the largest of the
// ranks' lowest free numbers; the round succeeds when all could. No lock is held while ranks talk, so agreements on other
// communicators go on meanwhile; one that takes the number first only costs a round.
func (c *Comm) agreeContext() (uint32, error) {
	i := c.inst
	from := uint32(0)
	for round := 0; ; round++ {
		i.mu.Lock()
		want := int64(i.contexts.free(from))
		i.mu.Unlock()
		top, err := c.reduceInt(want, Max)
		if err != nil {
			return 0, err
		}
		k := uint32(top)
		if 2*top+1 > int64(i.pml.MaxContext()) {
			return 0, core.NewError(ErrOther, "all %d contexts of pml %s are in use; free communicators", (i.pml.MaxContext()+1)/2, i.pml.Name())
		}
		i.mu.Lock()
		mine := i.contexts.take(k)
		i.mu.Unlock()
		ok := int64(0)
		if mine {
			ok = 1
		}
		all, err := c.reduceInt(ok, Min)
		if err == nil && all == 1 {
			return k, nil
		}
		if mine {
			i.giveContext(k)
		}
		if err != nil {
			return 0, err
		}
		if from = k + 1; round%4 == 3 {
			from = 0 // what a collision kept away from may be free again
		}
	}
}

// giveContext makes a context number free again at this rank.
func (i *Instance) giveContext(k uint32) {
	i.mu.Lock()
	i.contexts.give(k)
	i.mu.Unlock()
}

func (c *Comm) reduceInt(v int64, op *Op) (int64, error) {
	in, out := new(int64), new(int64)
	*in = v
	err := c.coll.Allreduce.Allreduce(core.MakeBuffer(unsafe.Pointer(in), 1, datatype.Int64), core.MakeBuffer(unsafe.Pointer(out), 1, datatype.Int64), op)
	return *out, err
}

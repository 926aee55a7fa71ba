package main

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/suite"
	"github.com/ompi-go/ompi-go/ompi"
)

// window is what the one-sided tests work on: memory of every rank that the others reach, in bytes.
type window struct {
	*ompi.Win
	o      suite.OneSided
	memory []byte  // this rank's
	begins []int64 // displacement at which each rank's memory begins: that of dynamic windows is an address
	piece  ompi.Address
	others *ompi.Group // ranks 0 and 1: the other of the two
	ring   *ompi.Group // both neighbours on the ring
}

// openWindow makes the window of the test. It is collective.
func (b *bench) openWindow() (err error) {
	w := &window{o: b.test.OneSidedOf(b.cmd.params), begins: make([]int64, b.ranks)}
	n := int(b.bufferBytes())
	switch w.o.Window {
	case "create":
		w.memory = b.recv
		w.Win, err = ompi.WinCreate(b.world, ompi.Slice(w.memory), 1)
	case "allocate":
		w.Win, w.memory, err = ompi.WinAllocate[byte](b.world, n)
	case "dynamic":
		w.memory = b.recv
		err = b.attachWindow(w)
	default:
		err = fmt.Errorf("no window of kind %q", w.o.Window)
	}
	if err != nil {
		return err
	}
	clear(w.memory) // pages that exist before the clock runs, and numbers that can be added to
	if w.others, err = b.groupOf(1 - b.rank); err != nil {
		return err
	}
	if w.ring, err = b.groupOf((b.rank+b.ranks-1)%b.ranks, (b.rank+1)%b.ranks); err != nil {
		return err
	}
	b.win = w
	return b.world.Barrier()
}

func (b *bench) attachWindow(w *window) (err error) {
	if w.Win, err = ompi.WinCreateDynamic(b.world); err != nil {
		return err
	}
	if w.piece, err = w.Attach(ompi.Slice(w.memory)); err != nil {
		return err
	}
	mine := int64(w.piece)
	return b.world.Allgather(ompi.Value(&mine), ompi.Slice(w.begins))
}

// groupOf is the group of those of the ranks that there are, each once.
func (b *bench) groupOf(ranks ...int) (*ompi.Group, error) {
	var of []int
	for i, r := range ranks {
		if r >= 0 && r < b.ranks && (i == 0 || r != ranks[0]) {
			of = append(of, r)
		}
	}
	return b.world.Group().Incl(of)
}

// closeWindow is collective.
func (b *bench) closeWindow() error {
	if b.win == nil {
		return nil
	}
	w := b.win
	b.win = nil
	if err := b.world.Barrier(); err != nil { // nobody is on its way here any more
		return err
	}
	var err error
	if w.o.Window == "dynamic" {
		err = w.Detach(w.piece)
	}
	return errors.Join(err, w.Free())
}

// remote gives the call that a test is about, to the beginning of a rank's memory. It is made before the clock runs.
func (b *bench) remote(size, target int) func() error { return b.remoteAt(size, target, 0) }

// remoteAt is remote to an offset.
func (b *bench) remoteAt(size, target, offset int) func() error {
	w, at := b.win.Win, ompi.At(target, b.win.begins[target]+int64(offset))
	out, in := ompi.Slice(b.send[:size]), ompi.Slice(b.recv[:size])
	number, result, compare := ompi.Value(word(b.send)), ompi.Value(word(b.recv)), ompi.Value(new(int64))
	switch b.test.Name {
	case "get_latency", "get_bw":
		return func() error { return w.Get(in, at) }
	case "acc_latency":
		return func() error { return w.Accumulate(out, at, ompi.Sum) }
	case "get_acc_latency":
		return func() error { return w.GetAccumulate(out, in, at, ompi.Sum) }
	case "fop_latency", "hammer":
		return func() error { return w.FetchAndOp(number, result, at, ompi.Sum) }
	case "cas_latency":
		return func() error { return w.CompareAndSwap(number, compare, result, at) }
	}
	return func() error { return w.Put(out, at) }
}

// word sees the first eight bytes of a buffer, which begins aligned, as a number.
func word(b []byte) *int64 { return (*int64)(unsafe.Pointer(unsafe.SliceData(b[:8]))) }

// batch makes several calls of one.
func batch(call func() error, calls int) func() error {
	if calls == 1 {
		return call
	}
	return func() error {
		for range calls {
			if err := call(); err != nil {
				return err
			}
		}
		return nil
	}
}

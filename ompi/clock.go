package ompi

import (
	"encoding/binary"
	"unsafe"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/pml"
	"github.com/ompi-go/ompi-go/trace"
)

// The tracks of all ranks are to be on one clock, that of rank 0. So each rank that keeps a trace asks rank 0 for the time when it
// starts, and later adds the difference to what it writes.

// clockTrips is how often a rank asks rank 0 for the time; the shortest round trip counts.
const clockTrips = 24

// keyTrace is published by ranks that keep a trace: whoever keeps none would not answer.
const keyTrace = "trace"

// announceTrace publishes whether this rank keeps a trace, before all ranks meet.
func (i *Instance) announceTrace() error {
	if i.trace.ring == nil || i.job.Size() == 1 {
		return nil
	}
	return i.job.Put(keyTrace, []byte{1})
}

func (i *Instance) traces(rank int) bool {
	_, err := i.job.Get(rank, keyTrace)
	return err == nil
}

// compareClocks finds what this rank's clock is behind that of rank 0, or serves the others as rank 0. A rank that dies ends it for
// those that still measure: their tracks do without.
func (i *Instance) compareClocks() {
	if i.trace.ring == nil || i.job.Size() == 1 {
		return
	}
	if i.job.Rank() == 0 {
		i.trace.ring.SetClock(trace.Clock{Known: true})
		for r := 1; r < i.job.Size(); r++ {
			if i.traces(r) && i.tellTime(r) != nil {
				return
			}
		}
		return
	}
	if !i.traces(0) {
		return
	}
	if samples, err := i.askTime(); err == nil {
		i.trace.ring.SetClock(trace.NewClock(i.job.Node(0) == i.job.Node(i.job.Rank()), samples))
	}
}

// clockMessage is a time. It lives on the heap, since it is sent by its address.
type clockMessage [8]byte

func (m *clockMessage) buffer() core.Buffer {
	return core.MakeBuffer(unsafe.Pointer(m), int64(len(m)), datatype.Byte)
}

// tellTime answers the questions of one rank.
func (i *Instance) tellTime(rank int) error {
	ch, tag, m := &i.world.c.Inner, i.pml.MaxTag(), new(clockMessage)
	for range clockTrips {
		if _, err := i.pml.Recv(ch, m.buffer(), rank, tag); err != nil {
			return err
		}
		binary.LittleEndian.PutUint64(m[:], uint64(i.trace.ring.Now()))
		if err := i.pml.Send(ch, m.buffer(), rank, tag, pml.Standard); err != nil {
			return err
		}
	}
	return nil
}

// askTime asks rank 0.
func (i *Instance) askTime() ([]trace.Sample, error) {
	ch, tag, m := &i.world.c.Inner, i.pml.MaxTag(), new(clockMessage)
	samples := make([]trace.Sample, clockTrips)
	for k := range samples {
		s := &samples[k]
		s.Before = i.trace.ring.Now()
		if err := i.pml.Send(ch, m.buffer(), 0, tag, pml.Standard); err != nil {
			return nil, err
		}
		if _, err := i.pml.Recv(ch, m.buffer(), 0, tag); err != nil {
			return nil, err
		}
		s.After = i.trace.ring.Now()
		s.There = int64(binary.LittleEndian.Uint64(m[:]))
	}
	return samples, nil
}

package ompi_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/ompi-go/ompi-go/ompi"
)

// partitioned passes divided blocks around for some rounds; partitions become ready in an order of their own.
func (x *player) partitioned() error {
	w := x.w
	by, tag, rounds := x.plan.IntN(2*w.Size()), x.plan.IntN(10), 1+x.plan.IntN(3)
	sparts, rparts := 1+x.plan.IntN(30), 1+x.plan.IntN(8)
	n := sparts * rparts * []int{0, 1, 8, 100, 2000}[x.plan.IntN(5)]
	id, order := x.id, x.plan.Perm(sparts)
	x.id += rounds * w.Size()
	to, from := (w.Rank()+by)%w.Size(), (w.Rank()-by+2*w.Size())%w.Size()
	out, in := make([]byte, n), make([]byte, n)
	s, r := w.PsendInit(ompi.Slice(out), sparts, to, tag), w.PrecvInit(ompi.Slice(in), rparts, from, tag)
	for round := range rounds {
		if err := ompi.StartAll(s, r); err != nil {
			return err
		}
		fillMessage(out, id+round*w.Size()+w.Rank())
		for _, k := range order {
			if err := s.Pready(k); err != nil {
				return err
			}
		}
		for k := range rparts {
			for ok := false; !ok; {
				var err error
				if ok, err = r.Parrived(k); err != nil {
					return err
				}
			}
		}
		var st ompi.Status
		for i, c := range ompi.Completed(context.Background(), s, r) {
			if c.Err != nil {
				return c.Err
			}
			if i == 1 {
				st = c.Status
			}
		}
		m := &message{id: id + round*w.Size() + from, from: from, to: w.Rank(), tag: tag, size: n}
		if err := x.checkMessage(m, st, in); err != nil {
			return fmt.Errorf("%d to %d partitions, round %d: %w", sparts, rparts, round, err)
		}
	}
	return errors.Join(s.Free(), r.Free())
}

// swaps passes blocks around with several Isendrecv at a time.
func (x *player) swaps() error {
	w := x.w
	by, tag, k := x.plan.IntN(2*w.Size()), x.plan.IntN(10), 1+x.plan.IntN(5)
	id := x.id
	x.id += k * w.Size()
	to, from := (w.Rank()+by)%w.Size(), (w.Rank()-by+2*w.Size())%w.Size()
	var reqs []ompi.Request
	var boxes [][]byte
	for i := range k {
		n := x.size()
		out, in := make([]byte, n), make([]byte, n)
		fillMessage(out, id+i*w.Size()+w.Rank())
		reqs = append(reqs, w.Isendrecv(ompi.Slice(out), to, tag, ompi.Slice(in), from, tag))
		boxes = append(boxes, in)
	}
	sts := make([]ompi.Status, k)
	if err := ompi.WaitAllStatus(reqs, sts); err != nil {
		return err
	}
	for i, st := range sts {
		m := &message{id: id + i*w.Size() + from, from: from, to: w.Rank(), tag: tag, size: len(boxes[i])}
		if err := x.checkMessage(m, st, boxes[i]); err != nil {
			return err
		}
	}
	return nil
}

package portals

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/report"
	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/suite"
	"github.com/ompi-go/ompi-go/portals4"
)

// row measures one size, and then looks whether the bytes have come.
func (r *rank) row(size int64) (report.Row, error) {
	if r.test.op == matching {
		return r.matchRow(size)
	}
	r.transfer.Length = uint64(size)
	r.prepare(int(size))
	if err := r.handOver(); err != nil {
		return report.Row{}, err
	}
	loop := r.latency
	if r.test.shape == stream {
		loop = r.stream
	}
	row, err := r.repeat(size, loop)
	if err == nil {
		err = r.meet()
	}
	if err == nil {
		err = r.verify(int(size))
	}
	if err == nil {
		err = r.meet() // before the next size's bytes
	}
	return row, err
}

// issue begins one operation.
func (r *rank) issue() error {
	switch r.test.op {
	case get:
		return r.md.Get(&r.transfer)
	case atomic:
		return r.md.Atomic(&r.transfer, portals4.Sum, portals4.Uint64)
	case fetch:
		return r.md.FetchAtomic(&r.transfer, &r.dest, portals4.Sum, portals4.Uint64)
	}
	return r.md.Put(&r.transfer)
}

// latency is n operations one after the other, in microseconds each. Of what the target hears of, two ranks play ping-pong, and it is
// half a round; what brings data is timed whole.
func (r *rank) latency(n int) (float64, error) {
	if r.test.op.passive() {
		return r.actively(func() (float64, error) {
			start := time.Now()
			for range n {
				if err := r.issue(); err != nil {
					return 0, err
				}
				if err := r.fetched.wait(1); err != nil {
					return 0, err
				}
			}
			return micros(start, n), nil
		})
	}
	first := r.job.Rank() == 0
	start := time.Now()
	for range n {
		if first {
			if err := r.issue(); err != nil {
				return 0, err
			}
		}
		if err := r.arrived.wait(1); err != nil {
			return 0, err
		}
		if !first {
			if err := r.issue(); err != nil {
				return 0, err
			}
		}
	}
	if r.alone {
		return micros(start, n), nil
	}
	return micros(start, 2*n), nil
}

// stream is n windows of operations, in MB/s of 1,000,000 bytes; after each window of what the target hears of it answers.
func (r *rank) stream(n int) (float64, error) {
	if r.test.op.passive() {
		return r.actively(func() (float64, error) { return r.windows(n, r.fetched) })
	}
	if r.job.Rank() == 0 {
		if r.alone {
			return r.windows(n, r.arrived)
		}
		return r.windows(n, nil)
	}
	for range n {
		if err := r.arrived.wait(suite.Window); err != nil {
			return 0, err
		}
		if err := r.nudge(); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

// windows are n of them, whose end is noticed here, or else told by the peer.
func (r *rank) windows(n int, here *notice) (float64, error) {
	start := time.Now()
	for range n {
		for range suite.Window {
			if err := r.issue(); err != nil {
				return 0, err
			}
		}
		if here != nil {
			if err := here.wait(suite.Window); err != nil {
				return 0, err
			}
		} else if err := r.hear(); err != nil {
			return 0, err
		}
	}
	bytes := float64(r.transfer.Length) * suite.Window * float64(n)
	return bytes / 1e6 / time.Since(start).Seconds(), nil
}

// actively lets rank 0 run f while its peer does nothing but to wait until it is told that f is over.
func (r *rank) actively(f func() (float64, error)) (float64, error) {
	if r.job.Rank() != 0 {
		return 0, r.hear()
	}
	v, err := f()
	if err == nil && !r.alone {
		err = r.nudge()
	}
	return v, err
}

func micros(start time.Time, n int) float64 { return time.Since(start).Seconds() * 1e6 / float64(n) }

// prepare fills the buffers of one size.
func (r *rank) prepare(size int) {
	clear(r.mem[:size])
	clear(r.into[:size])
	switch {
	case r.test.op.sums():
		for i := 0; i < size; i += number {
			binary.LittleEndian.PutUint64(r.from[i:], 1)
		}
	case r.test.op == get:
		clear(r.from[:size])
		pattern(r.mem[:size], size)
	default:
		pattern(r.from[:size], size)
	}
}

func pattern(b []byte, seed int) {
	for i := range b {
		b[i] = byte(i*5+seed) | 1 // never zero
	}
}

// verify looks at what has come after the last operation.
func (r *rank) verify(size int) error {
	if size == 0 {
		return nil
	}
	root := r.job.Rank() == 0
	switch r.test.op {
	case put, get:
		got, want := r.mem, make([]byte, size)
		pattern(want, size)
		if r.test.op == get {
			got = r.from
		}
		receives := r.alone || r.test.op == put && (!root || r.test.shape == latency) || r.test.op == get && root
		if receives && string(got[:size]) != string(want) {
			return fmt.Errorf("rank %d got other bytes than were sent, of %d", r.job.Rank(), size)
		}
	default:
		first, last := binary.LittleEndian.Uint64(r.mem), binary.LittleEndian.Uint64(r.mem[size-number:])
		target := r.alone || !root
		if first != last || target && first == 0 {
			return fmt.Errorf("the numbers added up at rank %d are %d to %d", r.job.Rank(), first, last)
		}
		if r.test.op == fetch && root && binary.LittleEndian.Uint64(r.into) != binary.LittleEndian.Uint64(r.into[size-number:]) {
			return fmt.Errorf("fetched numbers differ at rank %d", r.job.Rank())
		}
	}
	return nil
}

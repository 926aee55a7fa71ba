package ompi_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/ompi"
)

// TestPartitioned: any division at either end, many rounds, partitions ready in any order and from many goroutines (MPI-4 §4.2).
func TestPartitioned(t *testing.T) {
	for _, c := range []struct{ send, recv, each int }{ // each: bytes of a sender's partition
		{1, 1, 8}, {4, 4, 8}, {16, 4, 8}, {4, 16, 8}, {6, 4, 12}, {1000, 1, 3}, {1000, 7, 7}, {1, 64, 64}, {3, 5, 5000}, {8, 8, 1024},
		{5, 3, 30_000}, {2, 16, 200_000}, {0, 0, 0}, {0, 3, 0}, {3, 0, 0}, {5, 2, 0}, {2, 5, 0},
	} {
		for _, btl := range []string{"self,sm", "self,tcp"} {
			t.Run(fmt.Sprintf("%d to %d of %d/%s", c.send, c.recv, c.each, btl), func(t *testing.T) {
				job(t, 2, func(w *ompi.Comm) error { return partitionedRounds(w, c.send, c.recv, c.each) }, ompi.WithParam("btl", btl))
			})
		}
	}
}

func partitionedRounds(w *ompi.Comm, sparts, rparts, each int) error {
	var m must
	const rounds = 6
	b := make([]byte, sparts*each)
	var want [rounds][]byte
	for round := range rounds {
		want[round] = make([]byte, len(b))
		for i := range b {
			want[round][i] = byte(i*7 + round)
		}
	}
	if w.Rank() == 1 {
		r := w.PrecvInit(ompi.Slice(b), rparts, 0, 7)
		for round := range rounds {
			clear(b)
			m.ok(r.Start())
			for k := range rparts {
				for ok := false; !ok && m.err == nil; {
					var err error
					ok, err = r.Parrived(k)
					m.ok(err)
				}
				lo, hi := k*len(b)/rparts, (k+1)*len(b)/rparts
				m.that(bytes.Equal(b[lo:hi], want[round][lo:hi]), "round %d: arrived partition %d is wrong", round, k)
			}
			st, err := r.Wait()
			m.that(err == nil && st.Source == 0 && st.Tag == 7 && st.Bytes() == int64(len(b)), "round %d: %+v, %v", round, st, err)
			m.that(bytes.Equal(b, want[round]), "round %d: not what was sent", round)
		}
		m.ok(r.Free())
		return m.err
	}
	r := w.PsendInit(ompi.Slice(b), sparts, 1, 7)
	for round := range rounds {
		m.ok(r.Start())
		ready := func(k int) error {
			copy(b[k*each:(k+1)*each], want[round][k*each:])
			return r.Pready(k)
		}
		switch round % 3 {
		case 0:
			for k := range sparts {
				m.ok(ready(k))
			}
		case 1:
			for k := sparts - 1; k >= 0; k-- {
				m.ok(ready(k))
			}
		case 2:
			m.ok(threads(4, func(g int) error {
				for k := g; k < sparts; k += 4 {
					if err := ready(k); err != nil {
						return err
					}
				}
				return nil
			}))
		}
		_, err := r.Wait()
		m.ok(err)
	}
	m.ok(r.Free())
	return m.err
}

// TestPartitionTravels: a partition that is ready arrives though no other is, and though the sender calls MPI no more.
func TestPartitionTravels(t *testing.T) {
	for _, each := range []int{8, 100_000} {
		job(t, 2, func(w *ompi.Comm) error {
			var m must
			const parts = 4
			b := make([]byte, parts*each)
			if w.Rank() == 0 {
				r := w.PsendInit(ompi.Slice(b), parts, 1, 1)
				for k := range parts {
					if k == 0 {
						m.ok(r.Start())
					}
					b[k*each] = byte(k + 1)
					m.ok(r.Pready(k))
					_, err := w.Recv(ompi.Slice[byte](nil), 1, 2) // it has come
					m.ok(err)
				}
				_, err := r.Wait()
				m.ok(err)
				return m.err
			}
			r := w.PrecvInit(ompi.Slice(b), parts, 0, 1)
			m.ok(r.Start())
			for k := range parts {
				for ok := false; !ok && m.err == nil; {
					var err error
					ok, err = r.Parrived(k)
					m.ok(err)
				}
				m.that(b[k*each] == byte(k+1), "partition %d is not there", k)
				if k+1 < parts {
					ok, err := r.Parrived(k + 1)
					m.that(!ok && err == nil, "partition %d is there, %v", k+1, err)
				}
				m.ok(w.Send(ompi.Slice[byte](nil), 0, 2))
			}
			_, err := r.Wait()
			m.ok(err)
			return m.err
		})
	}
}

// TestPartitionMatching: the n-th send meets the n-th receive of its source and tag, and nothing else meets them (MPI-4 §4.2.1).
func TestPartitionMatching(t *testing.T) {
	job(t, 2, func(w *ompi.Comm) error {
		var m must
		const n = 5
		var b [2][n]int64
		var reqs []ompi.Request
		for tag := range 2 {
			for k := range n {
				if w.Rank() == 0 {
					b[tag][k] = int64(100*tag + k)
					reqs = append(reqs, w.PsendInit(ompi.Value(&b[tag][k]), 1, 1, tag))
				} else {
					reqs = append(reqs, w.PrecvInit(ompi.Value(&b[1-tag][k]), 1, 0, 1-tag))
				}
			}
		}
		if w.Rank() == 1 {
			any := w.Irecv(ompi.Slice(make([]byte, 100_000)), ompi.AnySource, ompi.AnyTag) // must get the ordinary message
			m.ok(ompi.StartAll(reqs...))
			m.ok(ompi.WaitAll(reqs...))
			for tag := range 2 {
				for k := range n {
					m.that(b[tag][k] == int64(100*tag+k), "tag %d, number %d: %d", tag, k, b[tag][k])
				}
			}
			st, ok, err := w.Iprobe(ompi.AnySource, ompi.AnyTag)
			m.that(!ok && err == nil, "Iprobe finds %+v, %v", st, err)
			m.ok(w.Send(ompi.Slice[byte](nil), 0, 3))
			st, err = any.Wait()
			m.that(err == nil && st.Tag == 0 && st.Bytes() == 3, "the ordinary message: %+v, %v", st, err)
			return m.err
		}
		for k := len(reqs) - 1; k >= 0; k-- {
			m.ok(reqs[k].Start())
			m.ok(reqs[k].Pready(0))
		}
		m.ok(ompi.WaitAll(reqs...))
		_, err := w.Recv(ompi.Slice[byte](nil), 1, 3)
		m.ok(err)
		m.ok(w.Send(ompi.Slice([]byte("abc")), 1, 0))
		return m.err
	})
}

// TestPartitionTypes: data with gaps at either end, also where the sender's partitions end inside the receiver's elements.
func TestPartitionTypes(t *testing.T) {
	for _, n := range []int{3, 900} { // int64 of a sender's partition
		job(t, 2, func(w *ompi.Comm) error {
			var m must
			const parts = 4
			gaps, err := datatype.Vector(2, 1, 2, datatype.Int64) // one, a gap, one
			m.ok(err)
			m.ok(gaps.Commit())
			mem := make([]int64, 2*parts*n)
			if w.Rank() == 0 {
				flat := make([]int64, parts*n)
				r := w.PsendInit(ompi.Slice(flat), parts, 1, 0)
				for round := range 2 {
					m.ok(r.Start())
					for k := range parts {
						for i := k * n; i < (k+1)*n; i++ {
							flat[i] = int64(i + round)
						}
						m.ok(r.Pready(k))
					}
					_, err = r.Wait()
					m.ok(err)
				}
				one, err := datatype.Resized(datatype.Int64, 0, 16)
				m.ok(err)
				m.ok(one.Commit())
				for i := range mem {
					mem[i] = int64(i)
				}
				r = w.PsendInit(ompi.Typed(mem, parts*n, one), parts, 1, 0)
				m.ok(r.Start())
				for k := range parts {
					m.ok(r.Pready(parts - 1 - k))
				}
				_, err = r.Wait()
				m.ok(err)
				return m.err
			}
			r := w.PrecvInit(ompi.Typed(mem, parts*n/2, gaps), 1, 0, 0)
			for round := range 2 {
				m.ok(r.Start())
				_, err = r.Wait()
				m.ok(err)
				at := 0
				for e := range parts * n / 2 { // elements of extent 3
					for _, d := range []int{3 * e, 3*e + 2} {
						m.that(mem[d] == int64(at+round), "round %d: number %d is %d", round, at, mem[d])
						at++
					}
				}
			}
			flat := make([]int64, parts*n)
			r = w.PrecvInit(ompi.Slice(flat), 2, 0, 0)
			m.ok(r.Start())
			_, err = r.Wait()
			m.ok(err)
			for i := range flat {
				m.that(flat[i] == int64(2*i), "number %d is %d", i, flat[i])
			}
			return m.err
		})
	}
}

// TestPartitionMisuse: what the standard forbids is refused and changes nothing.
func TestPartitionMisuse(t *testing.T) {
	job(t, 1, func(w *ompi.Comm) error {
		var m must
		b := make([]int32, 6)
		for what, r := range map[string]ompi.Request{
			"a negative number": w.PsendInit(ompi.Slice(b), -1, 0, 0), "an uneven division": w.PrecvInit(ompi.Slice(b), 4, 0, 0),
			"any source": w.PrecvInit(ompi.Slice(b), 2, ompi.AnySource, 0), "any tag": w.PrecvInit(ompi.Slice(b), 2, 0, ompi.AnyTag),
			"no partition for data": w.PsendInit(ompi.Slice(b), 0, 0, 0),
		} {
			_, err := r.Wait()
			m.that(err != nil, "%s is allowed", what)
		}
		in := make([]int32, 6)
		s, r := w.PsendInit(ompi.Slice(b), 3, 0, 0), w.PrecvInit(ompi.Slice(in), 2, 0, 0)
		m.that(errors.Is(s.Pready(0), ompi.ErrRequest), "Pready before Start")
		ok, err := r.Parrived(0)
		m.that(ok && err == nil, "Parrived of an inactive request: %v, %v", ok, err)
		ok, err = ompi.Request{}.Parrived(0)
		m.that(ok && err == nil, "Parrived of a null request: %v, %v", ok, err)
		m.ok(ompi.StartAll(s, r))
		m.that(errors.Is(s.Pready(3), ompi.ErrArg) && errors.Is(s.Pready(-1), ompi.ErrArg), "Pready of what is no partition")
		m.that(errors.Is(r.Pready(0), ompi.ErrRequest), "Pready of a receive")
		_, err = s.Parrived(0)
		m.that(errors.Is(err, ompi.ErrRequest), "Parrived of a send: %v", err)
		_, err = r.Parrived(2)
		m.that(errors.Is(err, ompi.ErrArg), "Parrived of what is no partition: %v", err)
		m.ok(s.Pready(1))
		m.that(errors.Is(s.Pready(1), ompi.ErrArg), "Pready twice")
		m.that(errors.Is(s.Free(), ompi.ErrRequest) && errors.Is(r.Free(), ompi.ErrRequest), "Free of an active request")
		m.that(errors.Is(s.Cancel(), ompi.ErrRequest) && errors.Is(r.Cancel(), ompi.ErrRequest), "Cancel of an active request")
		_, done, err := s.Test()
		m.that(!done && err == nil, "complete with partitions missing: %v", err)
		m.ok(s.Pready(0))
		m.ok(s.Pready(2))
		m.ok(ompi.WaitAll(s, r))
		m.ok(s.Free())
		m.ok(r.Free())
		m.that(errors.Is(s.Start(), ompi.ErrRequest), "Start after Free")
		return m.err
	})
}

// TestPartitionAmounts: ends that disagree about the amount of data fail, and nobody hangs.
func TestPartitionAmounts(t *testing.T) {
	for _, each := range []int{8, 100_000} {
		for _, more := range []int{-1, 1} {
			job(t, 2, func(w *ompi.Comm) error {
				var m must
				if w.Rank() == 0 {
					r := w.PsendInit(ompi.Slice(make([]byte, 4*each)), 4, 1, 0)
					m.ok(r.Start())
					for k := range 4 {
						m.ok(r.Pready(k))
					}
					_, err := r.Wait()
					m.ok(err)
					return m.err
				}
				r := w.PrecvInit(ompi.Slice(make([]byte, (4+more)*each)), 1, 0, 0)
				m.ok(r.Start())
				_, err := r.Wait()
				want := map[int]error{-1: ompi.ErrTruncate, 1: ompi.ErrCount}[more]
				m.that(errors.Is(err, want), "%d partitions for 4: %v", 4+more, err)
				return m.err
			})
		}
	}
}

// TestPartitionNull: with ProcNull all is there at once, but marking is still the program's.
func TestPartitionNull(t *testing.T) {
	job(t, 1, func(w *ompi.Comm) error {
		var m must
		b := make([]byte, 4)
		s, r := w.PsendInit(ompi.Slice(b), 2, ompi.ProcNull, 0), w.PrecvInit(ompi.Slice(b), 2, ompi.ProcNull, 0)
		for range 3 {
			m.ok(ompi.StartAll(s, r))
			st, err := r.Wait()
			m.that(err == nil && st.Source == ompi.ProcNull && st.Bytes() == 0, "%+v, %v", st, err)
			m.ok(s.Pready(1))
			m.ok(s.Pready(0))
			_, err = s.Wait()
			m.ok(err)
		}
		return m.err
	})
}

// TestPartitionWaits: goroutines wait for both ends while others mark, in many operations at once.
func TestPartitionWaits(t *testing.T) {
	const ops, parts, rounds = 6, 16, 10
	job(t, 2, func(w *ompi.Comm) error {
		return threads(ops, func(k int) error {
			var m must
			b := make([]int64, parts)
			if w.Rank() == 1 {
				r := w.PrecvInit(ompi.Slice(b), parts/2, 0, k)
				for round := range rounds {
					m.ok(r.Start())
					_, err := r.Wait()
					m.that(err == nil && b[3] == int64(round*100+3), "operation %d round %d: %d, %v", k, round, b[3], err)
				}
				m.ok(r.Free())
				return m.err
			}
			s := w.PsendInit(ompi.Slice(b), parts, 1, k)
			for round := range rounds {
				m.ok(s.Start())
				var wg sync.WaitGroup
				for g := range 3 {
					wg.Go(func() {
						for p := g; p < parts; p += 3 {
							b[p] = int64(round*100 + p)
							if err := s.Pready(p); err != nil {
								panic(err)
							}
						}
					})
				}
				_, err := s.Wait()
				m.ok(err)
				wg.Wait()
			}
			m.ok(s.Free())
			return m.err
		})
	})
}

// TestPartitionFreedComm: messages under way when a communicator is freed do not turn up in the next one.
func TestPartitionFreedComm(t *testing.T) {
	job(t, 2, func(w *ompi.Comm) error {
		var m must
		for round := range 10 {
			c, err := w.Dup()
			if err != nil {
				return err
			}
			b := []int64{int64(round), 0}
			peer := 1 - w.Rank()
			if round%2 == 0 {
				c.PsendInit(ompi.Slice(b), 2, peer, 0) // nobody ever receives it
			} else {
				in := make([]int64, 2)
				s, r := c.PsendInit(ompi.Slice(b), 2, peer, 0), c.PrecvInit(ompi.Slice(in), 1, peer, 0)
				m.ok(ompi.StartAll(s, r))
				m.ok(s.Pready(1))
				m.ok(s.Pready(0))
				m.ok(ompi.WaitAll(s, r))
				m.that(in[0] == int64(round), "round %d: %d", round, in[0])
				c.PrecvInit(ompi.Slice(in), 1, peer, 0) // nobody ever sends it
			}
			m.ok(c.Free())
		}
		return m.err
	})
}

// TestPartitionAsleep: the work that hooks leave is done though the goroutine that drives has gone to sleep over something else.
func TestPartitionAsleep(t *testing.T) {
	for _, ranks := range []int{1, 2} {
		job(t, ranks, func(w *ompi.Comm) error {
			var m must
			peer := ranks - 1 - w.Rank()
			other := make(chan error)
			go func() {
				_, err := w.Recv(ompi.Slice[byte](nil), peer, 99)
				other <- err
			}()
			for round := range 3 {
				out, in := []int64{1, 2, int64(round)}, make([]int64, 3)
				s := w.PsendInit(ompi.Slice(out), 3, peer, round)
				time.Sleep(25 * time.Millisecond) // the offer is there, and the driver sleeps
				r := w.PrecvInit(ompi.Slice(in), 1, peer, round)
				m.ok(r.Start())
				m.ok(s.Start())
				for k := range 3 {
					m.ok(s.Pready(k))
				}
				m.ok(ompi.WaitAll(s, r))
				m.that(in[2] == int64(round), "round %d: %v", round, in)
			}
			m.ok(w.Barrier())
			m.ok(w.Send(ompi.Slice[byte](nil), peer, 99))
			m.ok(<-other)
			return m.err
		})
	}
}

// TestPartitionAggregation: small partitions that are ready while there is no room for messages share them.
func TestPartitionAggregation(t *testing.T) {
	aboutOb1(t)
	const parts = 20_000
	marked := make(chan struct{})
	job(t, 2, func(w *ompi.Comm) error {
		var m must
		b := make([]int64, parts)
		if w.Rank() == 1 {
			r := w.PrecvInit(ompi.Slice(b), 10, 0, 0)
			m.ok(r.Start())
			<-marked
			_, err := r.Wait()
			m.ok(err)
			for i := range b {
				m.that(b[i] == int64(i), "partition %d is %d", i, b[i])
			}
			return m.err
		}
		s := w.PsendInit(ompi.Slice(b), parts, 1, 0)
		p, err := w.Instance().Pvars()
		m.ok(err)
		p.Reset()
		m.ok(s.Start())
		for i := range b {
			b[i] = int64(i)
			m.ok(s.Pready(i))
		}
		close(marked)
		_, err = s.Wait()
		m.ok(err)
		var n uint64
		for _, v := range p.Read() {
			if v.Name == "ompi_pml_messages_sent_total" {
				n += v.Value
			}
		}
		m.that(n < parts/10, "%d messages for %d partitions", n, parts)
		return m.err
	})
}

// TestPartitionedAfterCancel: a round begun after the job was cancelled ends, though messages for it had come before.
func TestPartitionedAfterCancel(t *testing.T) {
	for _, btl := range []string{"self,sm", "self,tcp"} {
		ctx, cancel := context.WithCancel(context.Background())
		sent := make(chan struct{})
		over := make(chan error, 1)
		go func() {
			over <- ompi.Run(ctx, 2, func(w *ompi.Comm) error {
				b := make([]byte, 400_000)
				if w.Rank() == 0 {
					r := w.PsendInit(ompi.Slice(b), 2, 1, 7)
					for range 2 {
						if err := r.Start(); err != nil {
							return err
						}
						for k := range 2 {
							if err := r.Pready(k); err != nil {
								return err
							}
						}
						if _, err := r.Wait(); err != nil {
							return nil
						}
					}
					return errors.New("the second round is over")
				}
				r := w.PrecvInit(ompi.Slice(b), 16, 0, 7)
				if err := r.Start(); err != nil {
					return err
				}
				if _, err := r.Wait(); err != nil {
					return err
				}
				for range 1000 { // the second round announces itself
					if _, _, err := w.Iprobe(0, 1); err != nil {
						return err
					}
					time.Sleep(10 * time.Microsecond)
				}
				close(sent)
				for err := error(nil); err == nil; {
					_, _, err = w.Iprobe(0, 1)
				}
				if err := r.Start(); err != nil {
					return nil
				}
				if _, err := r.Wait(); err == nil {
					return errors.New("a round after the cancellation is over without error")
				}
				return nil
			}, ompi.WithParam("btl", btl))
		}()
		<-sent
		cancel()
		select {
		case err := <-over:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", btl, err)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%s: the round does not end", btl)
		}
	}
}

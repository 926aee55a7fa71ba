package ompi_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ompi-go/ompi-go/ompi"
	"github.com/ompi-go/ompi-go/trace/tracetest"
)

// exchanges sends each size from rank 0 to rank 1, first to a receive that is posted and then to one that is late. Tags tell them apart.
func exchanges(w *ompi.Comm, sizes []int) error {
	for i, n := range sizes {
		buf, go1 := make([]byte, n), make([]byte, 1)
		if w.Rank() == 0 {
			if _, err := w.Recv(ompi.Slice(go1), 1, 100); err != nil {
				return err
			}
			if err := w.Send(ompi.Slice(buf), 1, i); err != nil {
				return err
			}
			s := w.Isend(ompi.Slice(buf), 1, 10+i)
			if err := w.Send(ompi.Slice(go1), 1, 101); err != nil {
				return err
			}
			if _, err := s.Wait(); err != nil {
				return err
			}
			continue
		}
		if w.Rank() > 1 {
			continue
		}
		r := w.Irecv(ompi.Slice(buf), 0, i)
		if err := w.Send(ompi.Slice(go1), 0, 100); err != nil {
			return err
		}
		if _, err := r.Wait(); err != nil {
			return err
		}
		if _, err := w.Recv(ompi.Slice(go1), 0, 101); err != nil { // which comes behind the message
			return err
		}
		if _, err := w.Recv(ompi.Slice(buf), 0, 10+i); err != nil {
			return err
		}
	}
	return w.Barrier()
}

// find gives the end of a message with this tag.
func find(t *testing.T, f *tracetest.File, rank int, name string, tag int) *tracetest.Message {
	t.Helper()
	i := slices.IndexFunc(f.Messages, func(m *tracetest.Message) bool { return m.Rank == rank && m.Name == name && m.Tag == tag })
	if i < 0 {
		t.Fatalf("rank %d has no %s with tag %d", rank, name, tag)
	}
	return f.Messages[i]
}

// traceOf runs a job and reads its trace.
func traceOf(t *testing.T, n int, body func(w *ompi.Comm) error, opts ...ompi.Option) *tracetest.File {
	t.Helper()
	name := filepath.Join(t.TempDir(), "t.json")
	job(t, n, body, append(opts, ompi.WithParam("mpi_trace_file", name))...)
	f, err := tracetest.Read(name)
	if err != nil {
		t.Fatal(err)
	}
	if f.Halves != 0 {
		t.Errorf("%d arrows with one end", f.Halves)
	}
	return f
}

// TestTraceOfMessages: both ends of each message, with the protocol that it took, over several BTLs.
func TestTraceOfMessages(t *testing.T) {
	aboutOb1(t)
	sizes := []int{8, 4096, 1 << 20}
	for btl, sent := range map[string][]string{"self,sm": {"inline", "eager", "rget"}, "self,tcp": {"inline", "eager", "rndv"}} {
		t.Run(btl, func(t *testing.T) {
			f := traceOf(t, 3, func(w *ompi.Comm) error { return exchanges(w, sizes) }, ompi.WithParam("btl", btl), ompi.WithParam("btl_sm_eager_limit", "8k"))
			if want := 2 * 4 * len(sizes); len(f.Messages) != want || len(f.Arrows) != want/2 {
				t.Errorf("%d ends of messages, %d arrows; want %d and %d: the program's own alone", len(f.Messages), len(f.Arrows), want, want/2)
			}
			for i, n := range sizes {
				for _, tag := range []int{i, 10 + i} {
					s, r := find(t, f, 0, "send", tag), find(t, f, 1, "receive", tag)
					came := sent[i]
					if came == "inline" {
						came = "eager"
					}
					if s.Protocol != sent[i] || r.Protocol != came || s.Bytes != n || r.Bytes != n || s.Peer != 1 || r.Peer != 0 || s.Why == "" || s.Cat != "pml" {
						t.Errorf("tag %d: %+v, %+v", tag, s, r)
					}
					if s.Failed || r.Failed || s.Unfinished || r.Unfinished || s.Begin > r.End || r.Begin > r.End {
						t.Errorf("tag %d: %+v, %+v", tag, s, r)
					}
					if want := []string{"waits for a message", "data"}; !slices.Equal(r.Stages, want) {
						t.Errorf("tag %d: the receive's stages are %q, want %q", tag, r.Stages, want)
					}
					if sent[i] == "rndv" && (s.Fragments == 0 || s.Fragments != len(s.Points) || s.Stages[len(s.Stages)-1] != "ACK came: fragments") {
						t.Errorf("tag %d: %+v", tag, s)
					}
					if sent[i] == "rget" && s.Stages[len(s.Stages)-1] != "FIN came" {
						t.Errorf("tag %d: %+v", tag, s)
					}
				}
			}
			unexpected, gets := 0, 0
			for _, e := range f.Events {
				switch {
				case e.Ph == "b" && e.Name == "unexpected":
					unexpected++
				case e.Ph == "b" && e.Name == "get" && e.Pid == 1:
					gets++
				}
			}
			if unexpected < len(sizes) || (sent[2] == "rget") != (gets == 2) {
				t.Errorf("%d unexpected messages, %d reads", unexpected, gets)
			}
		})
	}
}

// TestTraceOfManyMessages: arrows keep their names apart when communicators come and go; nothing is recorded
// of the library's own messages unless that is asked for.
func TestTraceOfManyMessages(t *testing.T) {
	aboutOb1(t)
	const many = 300
	body := func(w *ompi.Comm) error {
		for range 2 {
			c, err := w.Dup()
			if err != nil {
				return err
			}
			x := make([]byte, 1)
			for range many / 2 {
				if c.Rank() == 0 {
					err = c.Send(ompi.Slice(x), 1, 0)
				} else {
					_, err = c.Recv(ompi.Slice(x), 0, 0)
				}
				if err != nil {
					return err
				}
			}
			if err := c.Free(); err != nil {
				return err
			}
		}
		c, x := w, make([]byte, 1)
		for range many {
			var err error
			if c.Rank() == 0 {
				err = c.Send(ompi.Slice(x), 1, 0)
			} else {
				_, err = c.Recv(ompi.Slice(x), ompi.AnySource, ompi.AnyTag)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	f := traceOf(t, 2, body, ompi.WithParam("mpi_trace_events", "10000"))
	if len(f.Messages) != 4*many || len(f.Arrows) != 2*many {
		t.Errorf("%d ends of messages, %d arrows", len(f.Messages), len(f.Arrows))
	}
	f = traceOf(t, 2, func(w *ompi.Comm) error { return w.Barrier() }, ompi.WithParam("pml_ob1_trace_internal", "true"), ompi.WithParam("coll", "^sm"))
	if len(f.Messages) == 0 {
		t.Error("no message of the library")
	}
	for _, m := range f.Messages {
		if m.Cat != "pml.internal" {
			t.Errorf("%+v", m)
		}
	}
}

// TestTraceOfFailures: a receive that is cancelled, one that is too short, and one that nobody serves.
func TestTraceOfFailures(t *testing.T) {
	aboutOb1(t)
	f := traceOf(t, 1, func(w *ompi.Comm) error {
		x := make([]byte, 8)
		r := w.Irecv(ompi.Slice(x), 0, 1)
		if err := r.Cancel(); err != nil {
			return err
		}
		if _, err := r.Wait(); err != nil {
			return err
		}
		r = w.Irecv(ompi.Slice(x[:4]), 0, 2)
		if err := w.Send(ompi.Slice(x), 0, 2); err != nil {
			return err
		}
		if _, err := r.Wait(); err == nil {
			return fmt.Errorf("8 bytes fit into 4")
		}
		w.Irecv(ompi.Slice(x), 0, 3)
		return nil
	})
	if m := find(t, f, 0, "receive", 1); m.Protocol != "cancelled" || m.Unfinished {
		t.Errorf("%+v", m)
	}
	if m := find(t, f, 0, "receive", 2); !m.Failed || len(f.Arrows) != 1 {
		t.Errorf("%+v", m)
	}
	if m := find(t, f, 0, "receive", 3); !m.Unfinished {
		t.Errorf("%+v", m)
	}
}

// clockOf is what a rank's track says of its clock.
func clockOf(t *testing.T, f *tracetest.File, rank int) (offset, measured, wrong time.Duration) {
	t.Helper()
	for _, e := range f.Events {
		if e.Ph == "M" && e.Name == "process_sort_index" && e.Pid == rank {
			get := func(key string) time.Duration {
				x, ok := e.Args[key].(float64)
				if !ok {
					t.Fatalf("rank %d: no %s in %v", rank, key, e.Args)
				}
				return time.Duration(x)
			}
			return get("clock_offset_ns"), get("clock_measured_ns"), get("clock_error_ns")
		}
	}
	t.Fatalf("no rank %d", rank)
	return
}

// TestTraceClocks: clocks that go alike are left alone, and skewed ones are set right.
func TestTraceClocks(t *testing.T) {
	for _, skew := range []time.Duration{0, time.Second, -time.Minute} {
		f := traceOf(t, 3, func(w *ompi.Comm) error { return exchanges(w, []int{8}) }, ompi.WithParam("mpi_trace_skew", skew.String()))
		for r := range 3 {
			offset, measured, wrong := clockOf(t, f, r)
			if d := measured + skew*time.Duration(r); d < -wrong || d > wrong {
				t.Errorf("skew %v: rank %d measured %v, give or take %v", skew, r, measured, wrong)
			}
			if skew == 0 && offset != 0 || skew != 0 && offset != measured {
				t.Errorf("skew %v: rank %d is set by %v after measuring %v", skew, r, offset, measured)
			}
		}
	}
}

// TestTraceAllocations: nothing is allocated for a message, with a trace and without.
func TestTraceAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for _, file := range []string{"", filepath.Join(t.TempDir(), "t.json")} {
		for _, n := range []int{8, 4000, 1 << 20} {
			out, in := make([]byte, n), make([]byte, n)
			job(t, 2, func(w *ompi.Comm) error {
				var failure error
				once := func() {
					r, s := w.Irecv(ompi.Slice(in), 1-w.Rank(), 1), w.Isend(ompi.Slice(out), 1-w.Rank(), 1)
					if err := ompi.WaitAll(r, s); err != nil && failure == nil {
						failure = err
					}
				}
				const warm, runs = 100, 20
				for range warm {
					once()
				}
				if w.Rank() == 1 {
					for range runs + 1 {
						once()
					}
					return failure
				}
				if a := testing.AllocsPerRun(runs, once); a != 0 {
					t.Errorf("trace %q, %d bytes: %v allocations", file, n, a)
				}
				return failure
			}, ompi.WithParam("mpi_trace_file", file))
		}
	}
}

// BenchmarkTrace is what a trace costs: messages of a rank to itself.
func BenchmarkTrace(b *testing.B) {
	for _, on := range []string{"off", "on"} {
		file := ""
		if on == "on" {
			file = filepath.Join(b.TempDir(), "t.json")
		}
		for _, n := range []int{8, 4096, 1 << 20} {
			out, in := make([]byte, n), make([]byte, n)
			b.Run(fmt.Sprintf("%s/%d", on, n), func(b *testing.B) {
				b.ReportAllocs()
				if err := ompi.Run(context.Background(), 1, func(w *ompi.Comm) error {
					b.ResetTimer() // neither Init nor the writing of the file
					defer b.StopTimer()
					for range b.N {
						if err := ompi.WaitAll(w.Irecv(ompi.Slice(in), 0, 1), w.Isend(ompi.Slice(out), 0, 1)); err != nil {
							return err
						}
					}
					return nil
				}, ompi.WithParam("mpi_trace_file", file), ompi.WithParam("mpi_trace_events", "1024")); err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}

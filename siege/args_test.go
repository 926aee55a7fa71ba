package siege_test

import (
	"errors"
	"fmt"
	"testing"
	"unsafe"

	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/ompi"
)

type node struct {
	Value int32
	Next  *node
}

// badCalls are calls with a wrong argument, by rank 0 of 2.
func badCalls(w *ompi.Comm) []struct {
	name string
	err  error
	want ompi.ErrorClass
	text string
} {
	x := make([]int32, 4)
	good := ompi.Slice(x)
	_, recvRank := w.Recv(good, 7, 0)
	_, recvTag := w.Recv(good, 1, -5)
	_, recvNeg := w.Recv(ompi.Raw(unsafe.Pointer(&x[0]), -3, datatype.Int32), 1, 0)
	_, probe := w.Probe(2, 0)
	_, isend := w.Isend(good, 2, 0).Wait()
	_, irecv := w.Irecv(good, 1, w.TagUB()+1).Wait()
	_, cycle := w.Sendrecv(good, 1, 0, ompi.Slice([]node{{}}), 1, 0)
	return []struct {
		name string
		err  error
		want ompi.ErrorClass
		text string
	}{
		{"send rank", w.Send(good, 2, 0), ompi.ErrRank, "0 to 1"},
		{"send negative rank", w.Send(good, -9, 0), ompi.ErrRank, "0 to 1"},
		{"send any", w.Send(good, ompi.AnySource, 0), ompi.ErrRank, "0 to 1"},
		{"send tag", w.Send(good, 1, -1), ompi.ErrTag, "tag -1"},
		{"send any tag", w.Send(good, 1, ompi.AnyTag), ompi.ErrTag, "tag -2"},
		{"recv rank", recvRank, ompi.ErrRank, "0 to 1"},
		{"recv tag", recvTag, ompi.ErrTag, "tag -5"},
		{"raw count", w.Send(ompi.Raw(unsafe.Pointer(&x[0]), -3, datatype.Int32), 1, 0), ompi.ErrCount, "count -3 is negative"},
		{"recv count", recvNeg, ompi.ErrCount, "count -3 is negative"},
		{"typed count", w.Send(ompi.Typed(x, -1, datatype.Int32), 1, 0), ompi.ErrCount, "count -1 is negative"},
		{"typed outside", w.Send(ompi.Typed(x, 5, datatype.Int32), 1, 0), ompi.ErrArg, "bytes [0,20) of a slice of 16 bytes"},
		{"typed nil", w.Send(ompi.Typed(x, 1, nil), 1, 0), ompi.ErrType, "nil"},
		{"pointer", w.Send(ompi.Slice([]node{{}}), 1, 0), ompi.ErrType, "Next"},
		{"pointer recv", cycle, ompi.ErrType, "Next"},
		{"string", w.Send(ompi.Slice([]string{"x"}), 1, 0), ompi.ErrType, "string"},
		{"slice", w.Send(ompi.Value(&struct{ A [2]struct{ B []int } }{}), 1, 0), ompi.ErrType, "field A[].B"},
		{"in place", w.Send(ompi.InPlace(), 1, 0), ompi.ErrBuffer, "InPlace"},
		{"nil value", w.Send(ompi.Value[int32](nil), 1, 0), ompi.ErrBuffer, "nil pointer"},
		{"probe", probe, ompi.ErrRank, "0 to 1"},
		{"isend", isend, ompi.ErrRank, "0 to 1"},
		{"irecv", irecv, ompi.ErrTag, "tags are 0 to"},
		{"root", w.Bcast(good, 2), ompi.ErrRoot, "root 2"},
		{"uneven", w.Allgather(good, ompi.Slice(make([]int32, 3))), ompi.ErrCount, "evenly"},
		{"free world", w.Free(), ompi.ErrComm, "predefined"},
	}
}

// badArgsRole makes each bad call and then shows that the communicator is none the worse.
func badArgsRole(world *ompi.Comm, args []string) error {
	if world.Rank() == 0 {
		for _, c := range badCalls(world) {
			fmt.Printf("%s: %v\n", c.name, c.err)
			var e *ompi.Error
			if !errors.Is(c.err, c.want) || !errors.As(c.err, &e) || e.Op == "" || e.Comm != "MPI_COMM_WORLD" {
				return fmt.Errorf("%s: %#v, want class %v", c.name, c.err, c.want)
			}
			if !contains(c.err.Error(), c.text) {
				return fmt.Errorf("%s: %q does not say %q", c.name, c.err, c.text)
			}
		}
	}
	return ringRole(world, args)
}

// TestBadArguments: each wrong argument is the error of that one call.
func TestBadArguments(t *testing.T) {
	mpirun(t, "-n 2", "badargs").Run(0, `^ring of 2`, `^send rank: .*Send.*MPI_COMM_WORLD.*2.*0 to 1`, `^pointer: .*Next`)
}

// badRole returns an error from Main.
func badRole(world *ompi.Comm, args []string) error {
	switch args[0] {
	case "each":
		return fmt.Errorf("cause %d", world.Rank())
	case "rank":
		if world.Rank() == 1 {
			return world.Send(ompi.Slice([]int32{1}), 9, 0)
		}
	case "tag":
		if world.Rank() == 1 {
			return world.Send(ompi.Slice([]int32{1}), 0, -7)
		}
	case "pointer":
		if world.Rank() == 1 {
			return world.Send(ompi.Value(&node{}), 0, 0)
		}
	case "fatal":
		world.SetErrhandler(ompi.ErrorsAreFatal)
		if world.Rank() == 1 {
			_ = world.Send(ompi.Slice([]int32{1}), 9, 0) // does not return
			fmt.Println("still here")
		}
	}
	return world.Barrier()
}

// TestBadArgumentEndsJob: the error that Main returns is told with the rank, and its class is the exit status.
func TestBadArgumentEndsJob(t *testing.T) {
	for _, c := range []struct {
		what  string
		class ompi.ErrorClass
		want  string
	}{
		{"rank", ompi.ErrRank, `failed: .*Send.*0 to 2`},
		{"tag", ompi.ErrTag, `failed: .*Send.*tag -7`},
		{"pointer", ompi.ErrType, `failed: .*Send.*Next`},
		{"fatal", ompi.ErrRank, `called Abort\(\d+\): .*Send.*0 to 2`},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			j := mpirun(t, "-n 3", "bad", c.what)
			j.Run(int(c.class), `^mpirun: rank 1 \(pid \d+\) on \S+ `+c.want)
			j.Once(`mpirun: `)
			if contains(j.Out.String(), "still here") {
				t.Error("a fatal error returned")
			}
			hydra(t, "-n 3", "bad", c.what).Run(-1, `^(ompi: )?rank 1: .*Send`)
		})
	}
}

// truncateRole sends messages that are too large for their receives, which fill and say so, and then goes on.
func truncateRole(world *ompi.Comm, args []string) error {
	const room = 100
	for _, n := range []int{room + 1, 5000, 100_000, 3_000_000} {
		for _, early := range []bool{false, true} { // the receive is posted before the message comes, or after
			if world.Rank() == 1 {
				if early {
					if err := world.Barrier(); err != nil {
						return err
					}
				}
				data := make([]byte, n)
				for i := range data {
					data[i] = byte(i)
				}
				if err := world.Send(ompi.Slice(data), 0, 3); err != nil {
					return fmt.Errorf("the sender of %d: %w", n, err)
				}
				if !early {
					if err := world.Barrier(); err != nil {
						return err
					}
				}
				continue
			}
			into := make([]byte, room+1)
			var req ompi.Request
			if early {
				req = world.Irecv(ompi.Slice(into[:room]), 1, 3)
				if err := world.Barrier(); err != nil {
					return err
				}
			} else {
				for ok := false; !ok; {
					var err error
					if _, ok, err = world.Iprobe(1, 3); err != nil {
						return err
					}
				}
				req = world.Irecv(ompi.Slice(into[:room]), 1, 3)
			}
			st, err := req.Wait()
			if !early {
				if err := world.Barrier(); err != nil {
					return err
				}
			}
			if !errors.Is(err, ompi.ErrTruncate) || st.Bytes() != room || st.Source != 1 || st.Tag != 3 {
				return fmt.Errorf("%d bytes: %v, %+v of %d bytes", n, err, st, st.Bytes())
			}
			for i := range room {
				if into[i] != byte(i) {
					return fmt.Errorf("%d bytes: byte %d is %d", n, i, into[i])
				}
			}
			if into[room] != 0 {
				return fmt.Errorf("%d bytes: written beyond the buffer", n)
			}
			fmt.Println(err)
		}
	}
	if len(args) > 0 && world.Rank() == 0 {
		_, err := world.Recv(ompi.Slice(make([]byte, 1)), 1, 4)
		return err
	}
	if len(args) > 0 {
		return errors.Join(world.Send(ompi.Slice(make([]byte, 2)), 0, 4), world.Barrier())
	}
	return ringRole(world, nil)
}

// TestTruncation between processes.
func TestTruncation(t *testing.T) {
	for _, btl := range []string{"self,sm", "self,tcp"} {
		mpirun(t, "-n 2 --mca btl "+btl, "truncate").Run(0, `^ring of 2`, `^Irecv on MPI_COMM_WORLD: .*peer rank 1.*message has 5000 bytes.*room for 100$`)
		j := mpirun(t, "-n 2 --mca btl "+btl, "truncate", "die")
		j.Run(int(ompi.ErrTruncate), `^mpirun: rank 0 \(pid \d+\) on \S+ failed: .*Recv.*message has 2 bytes.*room for 1;`)
		j.Once(`mpirun: `)
	}
}

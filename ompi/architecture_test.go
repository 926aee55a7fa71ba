package ompi_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/ompi"
)

// station is a Go struct with elements of several sizes and padding.
type station struct {
	ID   int16
	Temp float64
	Wind [3]float32
	Open bool
}

func stations(n, seed int) []station {
	s := make([]station, n)
	for i := range s {
		s[i] = station{int16(seed + i), float64(i) / 3, [3]float32{1, float32(i), float32(seed)}, i%3 == 0}
	}
	return s
}

// architectureRank exchanges typed data with every other rank, by every protocol and call that moves data of its own.
func architectureRank(w *ompi.Comm) error {
	if err := w.Instance().AttachBuffer(make([]byte, 1<<20)); err != nil {
		return err
	}
	column, err := datatype.Vector(500, 1, 3, datatype.Int64)
	if err != nil {
		return err
	}
	for shift := 1; shift < w.Size(); shift++ {
		to, from := (w.Rank()+shift)%w.Size(), (w.Rank()+w.Size()-shift)%w.Size()
		for _, n := range []int{0, 1, 3, 100, 12_000} {
			want, got := stations(n, from), make([]station, n)
			r := w.Irecv(ompi.Slice(got), from, 1)
			if err := w.Send(ompi.Slice(stations(n, w.Rank())), to, 1); err != nil {
				return err
			}
			if _, err := r.Wait(); err != nil {
				return err
			}
			for i := range want {
				if got[i] != want[i] {
					return fmt.Errorf("%d stations from rank %d to %d: number %d is %v, want %v", n, from, w.Rank(), i, got[i], want[i])
				}
			}
		}
		for _, n := range []int{1, 700, 100_000} {
			v := make([]float64, n)
			fill := func(rank int) {
				for i := range v {
					v[i] = float64(rank) + 1/float64(i+1)
				}
			}
			holds := func(rank int) error {
				for i := range v {
					if v[i] != float64(rank)+1/float64(i+1) {
						return fmt.Errorf("%d floats from rank %d to %d: number %d is %v", n, rank, w.Rank(), i, v[i])
					}
				}
				return nil
			}
			fill(w.Rank())
			if _, err := w.SendrecvReplace(ompi.Slice(v), to, 2, from, 2); err != nil {
				return err
			}
			if err := holds(from); err != nil {
				return fmt.Errorf("Sendrecv_replace: %w", err)
			}
		}
		cells, in := make([]int64, 1500), make([]int64, 1500)
		for i := range cells {
			cells[i] = int64(w.Rank()+1) << 40 * int64(i)
		}
		if err := w.Bsend(ompi.Typed(cells, 1, column), to, 4); err != nil {
			return err
		}
		if _, err := w.Recv(ompi.Typed(in, 1, column), from, 4); err != nil {
			return err
		}
		for i := range in {
			if want := int64(from+1) << 40 * int64(i); i%3 == 0 && in[i] != want || i%3 != 0 && in[i] != 0 {
				return fmt.Errorf("Bsend from %d: cell %d is %d", from, i, in[i])
			}
		}
	}
	if err := architectureCollectives(w); err != nil {
		return err
	}
	sum := []int32{0}
	if err := w.Allreduce(ompi.Slice([]int32{int32(w.Rank() + 1)}), ompi.Slice(sum), ompi.Sum); err != nil {
		return err
	}
	if want := int32(w.Size() * (w.Size() + 1) / 2); sum[0] != want {
		return fmt.Errorf("sum %d, want %d", sum[0], want)
	}
	if w.Rank() == 0 {
		fmt.Fprintln(os.Stdout, "all is as it was sent")
	}
	return nil
}

// architectureCollectives uses those in which ranks forward what others have packed.
func architectureCollectives(w *ompi.Comm) error {
	n, me := w.Size(), w.Rank()
	all := func() []station { return stations(3*n, 100) }
	for root := range n {
		mine, got := all()[3*me:3*me+3], make([]station, 3*n)
		if err := w.Gather(ompi.Slice(mine), ompi.Slice(got), root); err != nil {
			return err
		}
		if me == root && !slices.Equal(got, all()) {
			return fmt.Errorf("gathered at %d: %v", root, got)
		}
		got = make([]station, 3)
		if err := w.Scatter(ompi.Slice(all()), ompi.Slice(got), root); err != nil {
			return err
		}
		if !slices.Equal(got, all()[3*me:3*me+3]) {
			return fmt.Errorf("scattered from %d to %d: %v", root, me, got)
		}
		got = all()
		if me != root {
			clear(got)
		}
		if err := w.Bcast(ompi.Slice(got), root); err != nil {
			return err
		}
		if !slices.Equal(got, all()) {
			return fmt.Errorf("broadcast from %d to %d: %v", root, me, got)
		}
	}
	got := make([]station, 3*n)
	if err := w.Allgather(ompi.Slice(all()[3*me:3*me+3]), ompi.Slice(got)); err != nil {
		return err
	}
	if !slices.Equal(got, all()) {
		return fmt.Errorf("gathered by all at %d: %v", me, got)
	}
	blocks := make([]int64, 2*n)
	for i := range blocks {
		blocks[i] = int64(me+1) << (4 * i)
	}
	if err := w.Alltoall(ompi.InPlace(), ompi.Slice(blocks)); err != nil {
		return err
	}
	for i := range blocks {
		if want := int64(i/2+1) << (4 * (2*me + i%2)); blocks[i] != want {
			return fmt.Errorf("all to all at %d: %x at %d, want %x", me, blocks[i], i, want)
		}
	}
	return nil
}

// TestArchitectures: ranks of which some send big-endian data, over all transports, with and without checksums, in goroutines and
// in processes.
func TestArchitectures(t *testing.T) {
	aboutOb1(t)
	for _, btl := range []string{"sm", "tcp"} {
		for _, more := range [][]string{
			{"mpi_architecture", "big-endian:1"},
			{"mpi_architecture", "big-endian:0,2", "pml_ob1_checksum", "true", "coll", "basic"},
			{"mpi_architecture", "big-endian", "btl_" + btl + "_eager_limit", "1000"},
			{"pml_ob1_checksum", "true", "btl_" + btl + "_max_send_size", "4099"},
		} {
			if raceEnabled && (btl == "tcp") != (len(more) > 4) {
				continue // each transport once or more is enough there
			}
			params := append([]string{"btl", "self," + btl}, more...)
			name := btl + " " + strings.Join(more, " ")
			t.Run(name+"/goroutines", func(t *testing.T) {
				var opts []ompi.Option
				for i := 0; i < len(params); i += 2 {
					opts = append(opts, ompi.WithParam(params[i], params[i+1]))
				}
				job(t, 7, architectureRank, opts...)
			})
			t.Run(name+"/processes", func(t *testing.T) {
				if out := processes(t, 3, "architecture", params, nil); !strings.Contains(out, "all is as it was sent") {
					t.Errorf("the ranks say %q", out)
				}
			})
		}
	}
}

func TestArchitectureParameter(t *testing.T) {
	for _, bad := range []string{"pdp", "", "big-endian:", "big-endian:x", "big-endian:1,-2", "native:1:2"} {
		err := ompi.Run(t.Context(), 1, func(*ompi.Comm) error { return nil }, ompi.WithParam("mpi_architecture", bad))
		if err == nil || !strings.Contains(err.Error(), "mpi_architecture") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestChecksumMismatch: ranks that are set differently hear of it with their first message.
func TestChecksumMismatch(t *testing.T) {
	aboutOb1(t)
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, mpirun(t), "-n", "2", "--timeout", "30", "--mca", "coll", "basic", os.Args[0])
	cmd.Env = append(os.Environ(), roleVar+"=mismatch")
	out, err := cmd.CombinedOutput()
	if n := strings.Count(string(out), "rank hears: "); err == nil || n != 2 {
		t.Errorf("%d of 2 ranks hear of it, the job ends with %v: %s", n, err, out)
	}
}

// mismatchRank sets its checksums by its rank, which the launcher tells in PMI_RANK.
func mismatchRank(w *ompi.Comm) error {
	got := []int32{7}
	s := w.Isend(ompi.Slice([]int32{1}), 1-w.Rank(), 1)
	_, err := w.Recv(ompi.Slice(got), 1-w.Rank(), 1)
	if !errors.Is(err, ompi.ErrOther) || got[0] != 7 {
		return fmt.Errorf("received %v: %w", got, err)
	}
	fmt.Println("rank hears:", err)
	_, err = s.Wait()
	return err // the barrier of Finalize will fail as well
}

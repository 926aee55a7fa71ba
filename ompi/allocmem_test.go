package ompi_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"unsafe"

	"github.com/ompi-go/ompi-go/ompi"
)

func TestAllocMem(t *testing.T) {
	for _, c := range []struct {
		n    int
		pool string
	}{{1, ""}, {2, ""}, {2, "heap"}, {2, "huge"}, {1, "huge"}} {
		t.Run(fmt.Sprint(c.n, c.pool), func(t *testing.T) {
			job(t, c.n, func(w *ompi.Comm) error {
				i := w.Instance()
				a, err := ompi.AllocMem[float64](i, 1000)
				if err != nil || len(a) != 1000 || cap(a) != 1000 || uintptr(unsafe.Pointer(&a[0]))%64 != 0 {
					return fmt.Errorf("%d elements of %d at %p: %w", len(a), cap(a), a, err)
				}
				for k := range a {
					if a[k] != 0 {
						return fmt.Errorf("element %d is %v", k, a[k])
					}
					a[k] = float64(k)
				}
				type point struct {
					x, y int32
					m    [3]float32
					_    struct{}
				}
				p, err := ompi.AllocMem[point](i, 3)
				if err != nil || len(p) != 3 {
					return fmt.Errorf("structs: %w", err)
				}
				p[2] = point{1, 2, [3]float32{2: 1}, struct{}{}}
				if err := ompi.FreeMem(i, a[:10]); err != nil { // it begins where AllocMem's began
					return err
				}
				if err := ompi.FreeMem(i, p); err != nil {
					return err
				}
				_, err = ompi.AllocMem[byte](i, 100) // Finalize frees it
				return err
			}, ompi.WithParam("mpool", c.pool))
		})
	}
}

// TestAllocMemErrors: what cannot be is refused, with the class that the documentation tells.
func TestAllocMemErrors(t *testing.T) {
	job(t, 1, func(w *ompi.Comm) error {
		i := w.Instance()
		var errs []error
		want := func(what string, err error, class ompi.ErrorClass) {
			if !errors.Is(err, class) {
				errs = append(errs, fmt.Errorf("%s: %v, want %v", what, err, class))
			}
			if err != nil && !strings.Contains(err.Error(), "_mem") {
				errs = append(errs, fmt.Errorf("%s: %q does not name the call", what, err))
			}
		}
		_, err := ompi.AllocMem[string](i, 1)
		want("strings", err, ompi.ErrType)
		_, err = ompi.AllocMem[struct{ p *int }](i, 1)
		want("pointers", err, ompi.ErrType)
		_, err = ompi.AllocMem[[2][]int](i, 0)
		want("no slices", err, ompi.ErrType)
		_, err = ompi.AllocMem[any](i, 1)
		want("interfaces", err, ompi.ErrType)
		if _, err = ompi.AllocMem[[0]*int](i, 1); err != nil {
			errs = append(errs, err)
		}
		_, err = ompi.AllocMem[byte](i, -1)
		want("-1 elements", err, ompi.ErrArg)
		_, err = ompi.AllocMem[int64](i, 1<<62)
		want("2^65 bytes", err, ompi.ErrNoMem)
		_, err = ompi.AllocMem[byte](i, 1<<60)
		want("2^60 bytes", err, ompi.ErrNoMem)
		_, err = ompi.AllocMem[byte](nil, 1)
		want("no instance", err, ompi.ErrArg)
		want("free without an instance", ompi.FreeMem[byte](nil, nil), ompi.ErrArg)
		want("memory of make", ompi.FreeMem(i, make([]int, 5)), ompi.ErrBase)
		a, err := ompi.AllocMem[int32](i, 10)
		if err != nil {
			return err
		}
		want("not its beginning", ompi.FreeMem(i, a[1:]), ompi.ErrBase)
		if err := ompi.FreeMem(i, a); err != nil {
			return err
		}
		want("a second time", ompi.FreeMem(i, a), ompi.ErrBase)
		for _, n := range []int{0, 7} {
			none, err := ompi.AllocMem[struct{}](i, n)
			if err != nil || none == nil || len(none) != n {
				return fmt.Errorf("%d elements of no size: %v, %w", n, none, err)
			}
			if err := ompi.FreeMem(i, none); err != nil {
				return err
			}
		}
		empty, err := ompi.AllocMem[int](i, 0)
		if err != nil || empty == nil || len(empty) != 0 {
			return fmt.Errorf("no elements: %v, %w", empty, err)
		}
		errs = append(errs, ompi.FreeMem(i, empty), ompi.FreeMem[int](i, nil))
		// The instance's error handler has the word.
		called := 0
		i.SetErrhandler(func(_ *ompi.Comm, err error) error { called++; return err })
		want("with a handler", ompi.FreeMem(i, a), ompi.ErrBase)
		if called != 1 {
			errs = append(errs, fmt.Errorf("the handler was called %d times", called))
		}
		return errors.Join(errs...)
	})
}

// TestAllocMemAfterFinalize is refused.
func TestAllocMemAfterFinalize(t *testing.T) {
	var i *ompi.Instance
	job(t, 1, func(w *ompi.Comm) error { i = w.Instance(); return nil })
	if _, err := ompi.AllocMem[byte](i, 1); !errors.Is(err, ompi.ErrOther) {
		t.Errorf("AllocMem: %v", err)
	}
	if err := ompi.FreeMem(i, make([]byte, 1)); !errors.Is(err, ompi.ErrOther) {
		t.Errorf("FreeMem: %v", err)
	}
}

const allocMemRounds = 3

// allocMemMessages exchanges messages between every mixture of memory, several times over new memory.
func allocMemMessages(w *ompi.Comm) error {
	i, peer := w.Instance(), 1-w.Rank()
	for round := range allocMemRounds {
		for _, n := range []int{1, 5000, 100_000, 1<<20 + 3} {
			buffers := func(fill byte) (all [2][]byte, err error) {
				if all[0], err = ompi.AllocMem[byte](i, n); err != nil {
					return all, err
				}
				all[1] = make([]byte, n)
				for k := range n {
					all[0][k] = fill ^ byte(k*7)
					all[1][k] = all[0][k]
				}
				return all, nil
			}
			out, err := buffers(byte(w.Rank()*16 + round))
			if err != nil {
				return err
			}
			in, err := buffers(0xff)
			if err != nil {
				return err
			}
			want := bytes.Clone(out[1])
			for k := range want {
				want[k] ^= byte(w.Rank()*16+round) ^ byte(peer*16+round)
			}
			for mix := range 4 {
				clear(in[mix&1])
				req := w.Irecv(ompi.Slice(in[mix&1]), peer, mix)
				if err := w.Send(ompi.Slice(out[mix>>1]), peer, mix); err != nil {
					return err
				}
				if _, err := req.Wait(); err != nil {
					return err
				}
				if !bytes.Equal(in[mix&1], want) {
					return fmt.Errorf("round %d, %d bytes, mixture %d: wrong bytes", round, n, mix)
				}
			}
			if err := errors.Join(ompi.FreeMem(i, out[0]), ompi.FreeMem(i, in[0])); err != nil {
				return err
			}
		}
		if n := memfds(); n > 40 {
			return fmt.Errorf("after round %d there are %d mappings of shared memory", round, n)
		}
	}
	return nil
}

// memfds counts the mappings of AllocMem memory in this process.
func memfds() int {
	b, _ := os.ReadFile("/proc/self/maps")
	return bytes.Count(b, []byte("ompi-go-mem"))
}

func allocMemRank(w *ompi.Comm) error {
	if err := allocMemMessages(w); err != nil {
		return err
	}
	families, err := w.Instance().Metrics().Gather()
	if err != nil {
		return err
	}
	copies := 0.0
	for _, f := range families {
		if f.GetName() == "ompi_btl_mapped_copies_total" {
			for _, m := range f.GetMetric() {
				copies += m.GetCounter().GetValue()
			}
		}
	}
	// Each rank is sent allocMemRounds rounds of 3 sizes above the eager limit, half of which lie in memory that it can map, twice.
	fmt.Printf("mapped copies %v\n", copies)
	return nil
}

func TestAllocMemMessages(t *testing.T) {
	job(t, 2, allocMemMessages)
	job(t, 2, allocMemMessages, ompi.WithParam("mpool", "huge"))
	job(t, 2, allocMemMessages, ompi.WithParam("btl", "self,tcp"))
}

// TestAllocMemProcesses: between processes, with each way to copy and each way to open memory.
func TestAllocMemProcesses(t *testing.T) {
	aboutOb1(t)
	const all = allocMemRounds * 3 * 2
	for _, c := range []struct {
		flags  []string
		copies int
	}{
		{nil, all},
		{[]string{"--mca", "shm_attach", "socket"}, all},
		{[]string{"--mca", "btl_sm_single_copy_mechanism", "map"}, all},
		{[]string{"--mca", "btl_sm_single_copy_mechanism", "cma"}, 0},
		{[]string{"--mca", "btl_sm_single_copy_mechanism", "none"}, 0},
		{[]string{"--mca", "mpool", "heap"}, 0},
	} {
		stdout, stderr, err := launch(t, 2, "allocmem", c.flags, nil)
		want := fmt.Sprintf("mapped copies %d\n", c.copies)
		if err != nil || strings.Count(stdout, want) != 2 {
			t.Errorf("%q: %v\n%s%s, want %s", c.flags, err, stdout, stderr, want)
		}
	}
	names, err := os.ReadDir("/dev/shm")
	for _, n := range names {
		if strings.Contains(n.Name(), "ompi") {
			t.Errorf("/dev/shm/%s is left, %v", n.Name(), err)
		}
	}
}

package ompi_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"unsafe"

	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/ompi"
)

// plainWindows runs a test over the plain component in all its forms, and over what the library chooses.
func plainWindows(t *testing.T, n int, body func(w *ompi.Comm) error) {
	t.Helper()
	for _, p := range []*plainOSC{{name: "plain"}, {name: "lazy", lazy: true}, {name: "mapped", mapped: true}} {
		t.Run(p.name, func(t *testing.T) {
			job(t, n, body, ompi.WithComponent(p), ompi.WithParam("osc", p.name))
		})
	}
	t.Run("chosen", func(t *testing.T) { job(t, n, body) })
}

func allOf(errs ...error) error {
	for i, err := range errs {
		if err != nil {
			return fmt.Errorf("call %d: %w", i, err)
		}
	}
	return nil
}

// TestWindowEpochs puts and gets around a ring in each kind of epoch.
func TestWindowEpochs(t *testing.T) {
	const n = 4
	plainWindows(t, n, func(c *ompi.Comm) error {
		win, mem, err := ompi.WinAllocate[int64](c, 4)
		if err != nil {
			return err
		}
		me, next, prev := c.Rank(), (c.Rank()+1)%n, (c.Rank()+n-1)%n
		out, in := []int64{int64(100 + me)}, []int64{-1}
		// Fence.
		if err := allOf(win.Fence(ompi.ModeNoPrecede), win.Put(ompi.Slice(out), ompi.At(next, 1)), win.Fence(0),
			win.Get(ompi.Slice(in), ompi.At(next, 1)), win.Fence(ompi.ModeNoSucceed)); err != nil {
			return err
		}
		if mem[1] != int64(100+prev) || in[0] != int64(100+me) {
			return fmt.Errorf("fence: memory %d, got %d", mem, in)
		}
		// Post, start, complete, wait.
		to, err := c.Group().Incl([]int{next})
		if err != nil {
			return err
		}
		from, err := c.Group().Incl([]int{prev})
		if err != nil {
			return err
		}
		for round := range 3 {
			out[0] = int64(1000*round + me)
			if err := allOf(win.Post(from, 0), win.Start(to, 0), win.Put(ompi.Slice(out), ompi.At(next, 2)), win.Complete()); err != nil {
				return err
			}
			for over := round != 1; !over; {
				if over, err = win.Test(); err != nil {
					return err
				}
			}
			if round != 1 {
				if err := win.Wait(); err != nil {
					return err
				}
			}
			if mem[2] != int64(1000*round+prev) {
				return fmt.Errorf("pscw: memory %d", mem)
			}
		}
		// Locks.
		old := []int64{-1}
		for range 20 {
			if err := allOf(win.Lock(ompi.LockExclusive, 0, 0), win.Get(ompi.Slice(in), ompi.At(0, 3)), win.Flush(0)); err != nil {
				return err
			}
			in[0]++
			if err := allOf(win.Put(ompi.Slice(in), ompi.At(0, 3)), win.Unlock(0)); err != nil {
				return err
			}
		}
		one := []int64{1}
		if err := c.Barrier(); err != nil {
			return err
		}
		if err := allOf(win.LockAll(0), win.FetchAndOp(ompi.Slice(one), ompi.Slice(old), ompi.At(0, 3), ompi.Sum), win.FlushAll(), c.Barrier(),
			win.FetchAndOp(ompi.Slice(one), ompi.Slice(old), ompi.At(0, 3), ompi.NoOp), win.FlushLocal(0), win.UnlockAll()); err != nil {
			return err
		}
		if old[0] != 21*n {
			return fmt.Errorf("locks: %d", old)
		}
		return win.Free()
	})
}

// TestWindowRequests uses operations with requests.
func TestWindowRequests(t *testing.T) {
	plainWindows(t, 2, func(c *ompi.Comm) error {
		win, mem, err := ompi.WinAllocate[float64](c, 8)
		if err != nil {
			return err
		}
		other := 1 - c.Rank()
		if err := win.LockAll(0); err != nil {
			return err
		}
		out, res, in := []float64{1, 2}, make([]float64, 2), make([]float64, 2)
		for i := range 40 {
			r := []ompi.Request{win.Rput(ompi.Slice(out), ompi.At(other, 0)), win.Raccumulate(ompi.Slice(out), ompi.At(other, 2), ompi.Sum),
				win.RgetAccumulate(ompi.Slice(out), ompi.Slice(res), ompi.At(other, 4), ompi.Sum), win.Rput(ompi.Slice(out), ompi.At(ompi.ProcNull, 99))}
			if err := allOf(win.FlushAll(), ompi.WaitAll(r...)); err != nil {
				return err
			}
			if res[1] != float64(2*i) {
				return fmt.Errorf("round %d: result %v", i, res)
			}
		}
		r := win.Rget(ompi.Slice(in), ompi.At(other, 2))
		if err := win.Flush(other); err != nil {
			return err
		}
		if _, err := r.Wait(); err != nil || in[1] != 80 {
			return fmt.Errorf("got %v, %w", in, err)
		}
		if err := allOf(win.UnlockAll(), c.Barrier()); err != nil {
			return err
		}
		if want := []float64{1, 2, 40, 80, 40, 80, 0, 0}; !slices.Equal(mem, want) {
			return fmt.Errorf("memory %v", mem)
		}
		return win.Free()
	})
}

// TestWindowKinds creates all kinds of windows, of sizes and units that differ.
func TestWindowKinds(t *testing.T) {
	plainWindows(t, 3, func(c *ompi.Comm) error {
		me := c.Rank()
		base := make([]int32, 4*(me+1))
		win, err := ompi.WinCreate(c, ompi.Slice(base), 4*(me+1))
		if err != nil {
			return err
		}
		v := []int32{int32(7 + me)}
		if err := allOf(win.Fence(0), win.Put(ompi.Slice(v), ompi.At(2, int64(me))), win.Fence(0)); err != nil {
			return err
		}
		if me == 2 && (base[0] != 7 || base[3] != 8 || base[6] != 9) {
			return fmt.Errorf("memory %v", base)
		}
		for r := range 3 { // windows of 16, 32 and 48 bytes, of units 4, 8 and 12: four each
			if err := win.Put(ompi.Slice(v), ompi.At(r, 4)); !errors.Is(err, ompi.ErrRMARange) {
				return fmt.Errorf("put behind the window of %d: %v", r, err)
			}
		}
		if unit, _ := ompi.WinDispUnit.Get(win); unit != 4*(me+1) {
			return fmt.Errorf("unit %d", unit)
		}
		if err := allOf(win.Fence(ompi.ModeNoSucceed), win.Free()); err != nil {
			return err
		}
		return allOf(sharedWindow(c), dynamicWindow(c))
	})
}

func sharedWindow(c *ompi.Comm) error {
	me, n := c.Rank(), c.Size()
	win, mine, err := ompi.WinAllocateShared[uint16](c, 2*me) // rank 0 has none
	if err != nil {
		return err
	}
	for i := range mine {
		mine[i] = uint16(10*me + i)
	}
	if err := allOf(win.Sync(), c.Barrier(), win.Sync()); err != nil {
		return err
	}
	for r := range n {
		got, unit, err := ompi.SharedQuery[uint16](win, r)
		if err != nil || unit != 2 || len(got) != 2*r {
			return fmt.Errorf("query of %d: %v %d %w", r, got, unit, err)
		}
		for i, v := range got {
			if v != uint16(10*r+i) {
				return fmt.Errorf("query of %d: %v", r, got)
			}
		}
	}
	got, _, err := ompi.SharedQuery[uint16](win, ompi.ProcNull)
	if err != nil || len(got) != 2 || got[0] != 10 {
		return fmt.Errorf("query of nobody: %v %w", got, err)
	}
	second, _, err := ompi.SharedQuery[uint16](win, n-1)
	if err != nil || uintptr(unsafe.Pointer(&second[0]))-uintptr(unsafe.Pointer(&got[0])) != uintptr(2*(n-1)*(n-2)) {
		return fmt.Errorf("the parts do not follow each other: %w", err)
	}
	return allOf(c.Barrier(), win.Free())
}

func dynamicWindow(c *ompi.Comm) error {
	me := c.Rank()
	win, err := ompi.WinCreateDynamic(c)
	if err != nil {
		return err
	}
	mem := make([]int64, 16)
	at, err := win.Attach(ompi.Slice(mem))
	if err != nil {
		return err
	}
	if _, err := win.Attach(ompi.Slice(mem[3:5])); !errors.Is(err, ompi.ErrRMAAttach) {
		return fmt.Errorf("attached twice: %v", err)
	}
	all := make([]int64, c.Size())
	if err := c.Allgather(ompi.Value(&at), ompi.Slice(all)); err != nil {
		return err
	}
	v := []int64{int64(50 + me)}
	if err := allOf(win.Fence(0), win.Put(ompi.Slice(v), ompi.At(1, all[1]+int64(8*me))), win.Fence(ompi.ModeNoSucceed)); err != nil {
		return err
	}
	if me == 1 && !slices.Equal(mem[:3], []int64{50, 51, 52}) {
		return fmt.Errorf("memory %v", mem)
	}
	if err := win.Detach(at + 8); !errors.Is(err, ompi.ErrBase) {
		return fmt.Errorf("detached what begins elsewhere: %v", err)
	}
	if err := allOf(c.Barrier(), win.Detach(at), c.Barrier(), win.LockAll(0)); err != nil {
		return err
	}
	err = win.Put(ompi.Slice(v), ompi.At(1, all[1]))
	if err == nil {
		err = win.Flush(1)
	}
	if !errors.Is(err, ompi.ErrRMARange) {
		return fmt.Errorf("put to what is detached: %v", err)
	}
	return allOf(win.UnlockAll(), win.Free())
}

// TestWindowTypes moves data with gaps, and accumulates it.
func TestWindowTypes(t *testing.T) {
	plainWindows(t, 2, func(c *ompi.Comm) error {
		win, mem, err := ompi.WinAllocate[int32](c, 12)
		if err != nil {
			return err
		}
		every, err := datatype.Vector(3, 1, 2, datatype.Int32)
		if err != nil {
			return err
		}
		out, res := []int32{1, 2, 3}, make([]int32, 3)
		to := ompi.Target{Rank: 1 - c.Rank(), Disp: 1, Count: 1, Type: every}
		if err := allOf(win.Fence(0), win.Put(ompi.Slice(out), to), win.Fence(0), win.Accumulate(ompi.Slice(out), to, ompi.Prod), win.Fence(0),
			win.GetAccumulate(ompi.Slice(out), ompi.Slice(res), to, ompi.Replace), win.Fence(ompi.ModeNoSucceed)); err != nil {
			return err
		}
		if !slices.Equal(mem, []int32{0, 1, 0, 2, 0, 3, 0, 0, 0, 0, 0, 0}) || !slices.Equal(res, []int32{1, 4, 9}) {
			return fmt.Errorf("memory %v, result %v", mem, res)
		}
		to.Disp = 8 // its last element would be 12
		if err := allOf(win.Fence(0)); err != nil {
			return err
		}
		if err := win.Put(ompi.Slice(out), to); !errors.Is(err, ompi.ErrRMARange) {
			return fmt.Errorf("put behind the end: %v", err)
		}
		to.Disp = 7
		if err := allOf(win.Put(ompi.Slice(out), to), win.Fence(ompi.ModeNoSucceed)); err != nil {
			return err
		}
		if mem[11] != 3 {
			return fmt.Errorf("memory %v", mem)
		}
		return win.Free()
	})
}

package ompi_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/ompi"
)

// TestWindowArguments: each wrong argument gives its class, with the window's name, and touches nothing.
func TestWindowArguments(t *testing.T) {
	job(t, 2, func(c *ompi.Comm) error {
		win, mem, err := ompi.WinAllocate[int64](c, 4)
		if err != nil {
			return err
		}
		win.SetName("board")
		if err := win.LockAll(0); err != nil {
			return err
		}
		one, two, f, bad := ompi.Slice([]int64{1}), ompi.Slice([]int64{1, 2}), ompi.Slice([]float64{1}), ompi.Slice([]*int{nil})
		back, err := datatype.HIndexed([]int{1}, []int64{-8}, datatype.Int64)
		if err != nil {
			return err
		}
		mixed, err := datatype.Struct([]int{1, 1}, []int64{0, 4}, []*datatype.Type{datatype.Int32, datatype.Float32})
		if err != nil {
			return err
		}
		huge, err := datatype.Resized(datatype.Int64, 0, math.MaxInt64/2)
		if err != nil {
			return err
		}
		half := ompi.Slice([]int32{1, 2})
		pair := ompi.Slice([]ompi.Loc[float64]{{}}).Type() // 12 bytes in 16
		user := ompi.NewOp(true, func(in, inout []int64) {})
		for _, tc := range []struct {
			what  string
			class ompi.ErrorClass
			err   error
		}{
			{"rank", ompi.ErrRank, win.Put(one, ompi.At(2, 0))},
			{"negative rank", ompi.ErrRank, win.Get(one, ompi.At(-1, 0))},
			{"displacement", ompi.ErrDisp, win.Put(one, ompi.At(1, -1))},
			{"behind the window", ompi.ErrRMARange, win.Put(one, ompi.At(1, 4))},
			{"over its end", ompi.ErrRMARange, win.Put(two, ompi.At(1, 3))},
			{"far behind", ompi.ErrRMARange, win.Get(one, ompi.At(0, math.MaxInt64))},
			{"so far that it would come around", ompi.ErrRMARange, win.Put(one, ompi.At(0, math.MaxInt64/8+2))},
			{"before its beginning", ompi.ErrRMARange, win.Put(one, ompi.Target{Rank: 1, Disp: 0, Count: 1, Type: back})},
			{"a huge extent", ompi.ErrRMARange, win.Put(two, ompi.Target{Rank: 1, Disp: 0, Count: 2, Type: huge})},
			{"accumulate outside", ompi.ErrRMARange, win.Accumulate(one, ompi.At(1, 4), ompi.Sum)},
			{"fetch outside", ompi.ErrRMARange, win.FetchAndOp(one, ompi.Slice([]int64{0}), ompi.At(1, 99), ompi.Sum)},
			{"swap outside", ompi.ErrRMARange, win.CompareAndSwap(one, one, ompi.Slice([]int64{0}), ompi.At(1, 4))},
			{"count", ompi.ErrCount, win.Put(one, ompi.Target{Rank: 1, Count: -1, Type: datatype.Int64})},
			{"pointers", ompi.ErrType, win.Put(bad, ompi.At(1, 0))},
			{"in place", ompi.ErrBuffer, win.Put(ompi.InPlace(), ompi.At(1, 0))},
			{"nil memory", ompi.ErrBuffer, win.Put(ompi.Raw(nil, 1, datatype.Int64), ompi.At(1, 0))},
			{"other size", ompi.ErrType, win.Put(one, ompi.Target{Rank: 1, Count: 2, Type: datatype.Int64})},
			{"other kind", ompi.ErrType, win.Put(one, ompi.Target{Rank: 1, Count: 1, Type: datatype.Float64})},
			{"other kind, smaller", ompi.ErrType, win.Put(half, ompi.Target{Rank: 1, Count: 1, Type: datatype.Int64})},
			{"no operation", ompi.ErrOp, win.Accumulate(one, ompi.At(1, 0), nil)},
			{"user operation", ompi.ErrOp, win.Accumulate(one, ompi.At(1, 0), user)},
			{"operation not for type", ompi.ErrOp, win.Accumulate(f, ompi.At(1, 0), ompi.BAnd)},
			{"operation of pairs", ompi.ErrOp, win.GetAccumulate(one, ompi.Slice([]int64{0}), ompi.At(1, 0), ompi.MaxLoc)},
			{"mixed elements", ompi.ErrType, win.Accumulate(one, ompi.Target{Rank: 1, Count: 1, Type: mixed}, ompi.Replace)},
			{"no-op that fetches nothing", ompi.ErrOp, win.Accumulate(one, ompi.At(1, 0), ompi.NoOp)},
			{"pairs from bytes", ompi.ErrType, win.Accumulate(ompi.Slice(make([]byte, 24)), ompi.Target{Rank: 1, Count: 2, Type: pair}, ompi.MaxLoc)},
			{"pairs into bytes", ompi.ErrType, win.GetAccumulate(ompi.Buffer{}, ompi.Slice(make([]byte, 24)), ompi.Target{Rank: 1, Count: 2, Type: pair}, ompi.NoOp)},
			{"result too small", ompi.ErrType, win.GetAccumulate(two, ompi.Slice([]int64{0}), ompi.Target{Rank: 1, Count: 2, Type: datatype.Int64}, ompi.Sum)},
			{"two elements", ompi.ErrCount, win.FetchAndOp(two, ompi.Slice([]int64{0, 0}), ompi.At(1, 0), ompi.Sum)},
			{"derived element", ompi.ErrType, win.FetchAndOp(one, ompi.Slice([]int64{0}), ompi.Target{Rank: 1, Disp: 1, Count: 1, Type: back}, ompi.Sum)},
			{"swap of floats", ompi.ErrType, win.CompareAndSwap(f, f, ompi.Slice([]float64{0}), ompi.At(1, 0))},
			{"swap of two", ompi.ErrCount, win.CompareAndSwap(two, two, ompi.Slice([]int64{0, 0}), ompi.At(1, 0))},
			{"compare of another kind", ompi.ErrType, win.CompareAndSwap(one, f, ompi.Slice([]int64{0}), ompi.At(1, 0))},
			{"lock type", ompi.ErrLockType, win.Lock(7, 1, 0)},
			{"lock's target", ompi.ErrRank, win.Lock(ompi.LockShared, 2, 0)},
			{"lock's assertion", ompi.ErrAssert, win.Lock(ompi.LockShared, 1, ompi.ModeNoPut)},
			{"fence's assertion", ompi.ErrAssert, win.Fence(ompi.ModeNoCheck)},
			{"post's assertion", ompi.ErrAssert, win.Post(c.Group(), ompi.ModeNoSucceed)},
			{"start's assertion", ompi.ErrAssert, win.Start(c.Group(), 1<<20)},
			{"lock_all's assertion", ompi.ErrAssert, win.LockAll(ompi.ModeNoStore)},
			{"start of no group", ompi.ErrGroup, win.Start(nil, 0)},
			{"post to no group", ompi.ErrGroup, win.Post(nil, 0)},
			{"flush's target", ompi.ErrRank, win.Flush(9)},
			{"unlock's target", ompi.ErrRank, win.Unlock(-7)},
			{"attach", ompi.ErrRMAFlavor, func() error { _, err := win.Attach(one); return err }()},
			{"detach", ompi.ErrRMAFlavor, win.Detach(0)},
			{"query", ompi.ErrRMAFlavor, func() error { _, _, err := ompi.SharedQuery[int64](win, 0); return err }()},
			{"query's rank", ompi.ErrRank, func() error { _, _, err := ompi.SharedQuery[int64](win, 5); return err }()},
			{"request's rank", ompi.ErrRank, awaited(win.Rput(one, ompi.At(5, 0)))},
			{"request outside", ompi.ErrRMARange, awaited(win.Rget(one, ompi.At(0, 4)))},
			{"request's operation", ompi.ErrOp, awaited(win.Raccumulate(one, ompi.At(0, 0), nil))},
		} {
			var e *ompi.Error
			if !errors.Is(tc.err, tc.class) || !errors.As(tc.err, &e) || e.Comm != "board" || e.Op == "" {
				return fmt.Errorf("%s: got %v, want %v", tc.what, tc.err, tc.class)
			}
		}
		// What is legal and does nothing.
		if err := allOf(win.Put(ompi.Buffer{}, ompi.At(1, 4)), win.Put(ompi.Slice([]int64{}), ompi.At(1, 0)), win.Put(one, ompi.At(ompi.ProcNull, 99)),
			win.Lock(ompi.LockShared, ompi.ProcNull, 0), win.Unlock(ompi.ProcNull), win.Flush(ompi.ProcNull), win.FlushAll(), win.UnlockAll(), c.Barrier()); err != nil {
			return err
		}
		if !slices.Equal(mem, make([]int64, 4)) {
			return fmt.Errorf("memory %v", mem)
		}
		return win.Free()
	})
}

func awaited(r ompi.Request) error {
	_, err := r.Wait()
	return err
}

// TestWindowCreationArguments: an error of one rank is one of all.
func TestWindowCreationArguments(t *testing.T) {
	job(t, 2, func(c *ompi.Comm) error {
		first := c.Rank() == 0
		unit, n, bad := 8, 4, ompi.NewInfo()
		if first {
			unit, n = 0, -1
			if err := bad.Set("no_locks", "perhaps"); err != nil {
				return err
			}
		}
		mem := make([]int64, 8)
		every, err := datatype.Vector(2, 1, 2, datatype.Int64)
		if err != nil {
			return err
		}
		gaps := ompi.Slice(mem)
		if first {
			gaps = ompi.Typed(mem, 1, every)
		}
		for _, tc := range []struct {
			what  string
			class ompi.ErrorClass // at rank 0
			err   error
		}{
			{"unit", ompi.ErrDisp, errOf2(ompi.WinCreate(c, ompi.Slice(mem), unit))},
			{"number", ompi.ErrArg, errOf3(ompi.WinAllocate[int64](c, n))},
			{"info", ompi.ErrInfoValue, errOf3(ompi.WinAllocateShared[int64](c, 1, ompi.WinInfo(bad)))},
			{"gaps", ompi.ErrType, errOf2(ompi.WinCreate(c, gaps, 1))},
			{"pointers", ompi.ErrType, errOf3(ompi.WinAllocate[*int](c, 1))},
		} {
			if tc.err == nil || first && !errors.Is(tc.err, tc.class) {
				return fmt.Errorf("%s: %v", tc.what, tc.err)
			}
		}
		err = nil
		if first {
			_, err = ompi.WinCreateDynamic(c)
		} else {
			_, _, err = ompi.WinAllocate[byte](c, 1)
		}
		if !errors.Is(err, ompi.ErrArg) {
			return fmt.Errorf("different kinds: %v", err)
		}
		var none *ompi.Win
		if err := none.Fence(0); !errors.Is(err, ompi.ErrWin) {
			return fmt.Errorf("nil window: %v", err)
		}
		if err := none.Put(ompi.Slice(mem), ompi.At(0, 0)); !errors.Is(err, ompi.ErrWin) {
			return fmt.Errorf("nil window: %v", err)
		}
		if err := awaited(none.Rput(ompi.Slice(mem), ompi.At(0, 0))); !errors.Is(err, ompi.ErrWin) {
			return fmt.Errorf("nil window: %v", err)
		}
		_, err = ompi.WinCreate(nil, ompi.Slice(mem), 1)
		if !errors.Is(err, ompi.ErrComm) {
			return fmt.Errorf("nil communicator: %v", err)
		}
		return nil
	})
}

func errOf2[T any](_ T, err error) error         { return err }
func errOf3[T, S any](_ T, _ S, err error) error { return err }

// TestWindowEpochErrors: illegal calls name what is open.
func TestWindowEpochErrors(t *testing.T) {
	job(t, 2, func(c *ompi.Comm) error {
		win, _, err := ompi.WinAllocate[int64](c, 4)
		if err != nil {
			return err
		}
		one := ompi.Slice([]int64{1})
		names := func(err error, words ...string) error {
			if !errors.Is(err, ompi.ErrRMASync) {
				return fmt.Errorf("want ErrRMASync, got %w", err)
			}
			for _, w := range words {
				if !strings.Contains(err.Error(), w) {
					return fmt.Errorf("%q is not in: %w", w, err)
				}
			}
			return nil
		}
		g := c.Group()
		if err := allOf(
			names(win.Put(one, ompi.At(1, 0)), "Put on window", "no access epoch", "open: nothing", "peer rank 1"),
			names(win.Unlock(1), "Win_unlock", "not locked"), names(win.UnlockAll(), "Win_lock_all"), names(win.Complete(), "Win_start"), names(win.Wait(), "Win_post"),
			names(win.FlushAll(), "no lock"),
			win.Post(g, 0), names(win.Put(one, ompi.At(1, 0)), "an exposure epoch for ranks 0, 1 (Win_post)"), names(win.Fence(0), "Win_post"),
			names(win.Free(), "Win_post"), names(win.LockAll(0), "exposed"),
			win.Start(g, 0), names(awaited(win.Rput(one, ompi.At(0, 0))), "need a lock"), names(win.Flush(1), "no lock"),
			names(win.Lock(ompi.LockShared, 1, 0), "an access epoch for ranks 0, 1 (Win_start)"), win.Complete(), win.Wait(),
			win.Fence(0), win.Lock(ompi.LockShared, 1, 0), names(win.Put(one, ompi.At(0, 0)), "a lock of rank 1 (Win_lock)"), names(win.Lock(ompi.LockShared, 1, 0), "locked already"),
			win.Unlock(1), c.Barrier(), win.Fence(0), win.Put(one, ompi.At(1, int64(c.Rank()))), names(win.LockAll(0), "Win_fence"), names(win.Free(), "Win_fence"),
			win.Fence(ompi.ModeNoSucceed), names(win.Get(one, ompi.At(1, 0)), "open: nothing"),
		); err != nil {
			return err
		}
		if err := win.Free(); err != nil {
			return err
		}
		for _, err := range []error{win.Fence(0), win.Put(one, ompi.At(0, 0)), win.Free(), win.Flush(0), awaited(win.Rput(one, ompi.At(0, 0)))} {
			if !errors.Is(err, ompi.ErrWin) {
				return fmt.Errorf("after Free: %w", err)
			}
		}
		info := ompi.NewInfo()
		if err := info.Set("no_locks", "true"); err != nil {
			return err
		}
		win, _, err = ompi.WinAllocate[int64](c, 4, ompi.WinInfo(info))
		if err != nil {
			return err
		}
		return allOf(names(win.LockAll(0), "no_locks"), names(win.Lock(ompi.LockShared, 0, 0), "no_locks"), win.Free())
	})
}

// TestWindowAttributes: names, attributes, hints, the group, the error handler and the interceptor.
func TestWindowAttributes(t *testing.T) {
	var seen []string
	intercept := func(call ompi.Call, next func() error) error {
		if call.Comm != nil && call.Comm.Rank() == 0 && call.Comm.Name() == "MPI_COMM_WORLD" {
			seen = append(seen, call.Name)
		}
		return next()
	}
	job(t, 2, func(c *ompi.Comm) error {
		info := ompi.NewInfo()
		if err := allOf(info.Set("accumulate_ordering", "rar,waw"), info.Set("same_size", fmt.Sprint(c.Rank() == 0)), info.Set("mine", "kept")); err != nil {
			return err
		}
		win, mem, err := ompi.WinAllocate[int32](c, 4, ompi.WinInfo(info))
		if err != nil {
			return err
		}
		if win.Name() != "" || win.Group().Size() != 2 {
			return fmt.Errorf("name %q, group of %d", win.Name(), win.Group().Size())
		}
		in := win.Info()
		for key, want := range map[string]string{"accumulate_ordering": "rar,waw", "same_size": "false", "mine": "kept", "accumulate_ops": "same_op_no_op", "no_locks": "false"} {
			if v, _ := in.Get(key); v != want {
				return fmt.Errorf("%s is %q, want %q", key, v, want)
			}
		}
		base, _ := ompi.WinBase.Get(win)
		size, _ := ompi.WinSize.Get(win)
		unit, _ := ompi.WinDispUnit.Get(win)
		flavor, _ := ompi.WinCreateFlavor.Get(win)
		model, ok := ompi.WinModel.Get(win)
		if base != unsafe.Pointer(&mem[0]) || size != 16 || unit != 4 || flavor != ompi.WinFlavorAllocate || model != ompi.WinUnified || !ok {
			return fmt.Errorf("attributes %v %d %d %d %d", base, size, unit, flavor, model)
		}
		if err := ompi.WinSize.Set(win, 3); !errors.Is(err, ompi.ErrKeyval) {
			return fmt.Errorf("set a predefined one: %w", err)
		}
		if _, ok := ompi.WinSize.Get(c); ok {
			return errors.New("a communicator has the size of a window")
		}
		no := errors.New("no")
		refuse := true
		key := ompi.NewKeyval(nil, func(int) error {
			if refuse {
				return no
			}
			return nil
		})
		if err := key.Set(win, 5); err != nil {
			return err
		}
		if v, ok := key.Get(win); v != 5 || !ok {
			return fmt.Errorf("attribute %d", v)
		}
		if err := win.Free(); !errors.Is(err, no) {
			return fmt.Errorf("free although a callback refuses: %w", err)
		}
		refuse = false
		var told *ompi.Comm
		win.SetErrhandler(func(over *ompi.Comm, err error) error {
			told = over
			return fmt.Errorf("handled: %w", err)
		})
		if err := win.UnlockAll(); told != c || err == nil || !strings.HasPrefix(err.Error(), "handled: Win_unlock_all") {
			return fmt.Errorf("handler: %v, %w", told, err)
		}
		if err := awaited(win.Rput(ompi.Slice(mem), ompi.At(0, 0))); err == nil || strings.Count(err.Error(), "handled") != 1 {
			return fmt.Errorf("handler of a request: %w", err)
		}
		return allOf(win.Fence(0), win.Put(ompi.Slice([]int32{1}), ompi.At(1, int64(c.Rank()))), win.Fence(ompi.ModeNoSucceed), win.Free())
	}, ompi.WithInterceptor(intercept))
	want := "Win_allocate Win_free Win_unlock_all Rput Wait Win_fence Put Win_fence Win_free"
	if got := strings.Join(seen, " "); !strings.HasPrefix(got, want) {
		t.Errorf("the interceptor has seen %s", got)
	}
}

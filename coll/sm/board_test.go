package sm

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/ompi-go/ompi-go/coll"
	"github.com/ompi-go/ompi-go/core"
)

// Every place of a board lies inside it, apart from the others, and what different ranks write at a time on lines of its own.
func TestLayout(t *testing.T) {
	for _, n := range []int{2, 3, 17} {
		for _, room := range []int64{0, 1, 48, 56, 57, 64, 500, 512, 4096} {
			size := boardSize(n, room)
			if size%line != 0 {
				t.Errorf("%d ranks, room %d: size %d", n, room, size)
			}
			mem := make([]uint64, size/8+8)
			base := unsafe.Pointer(&mem[0])
			b := boardAt(base, room)
			type span struct{ from, to uintptr }
			var all []span
			var writers []uintptr // first lines of what different ranks write
			add := func(p unsafe.Pointer, n uintptr) uintptr {
				at := uintptr(p) - uintptr(base)
				all = append(all, span{at, at + n})
				return at
			}
			writers = append(writers, add(unsafe.Pointer(b.arrivals), 8), add(unsafe.Pointer(b.left), 8))
			add(unsafe.Pointer(b.blocked), 8)
			writers = append(writers, add(unsafe.Pointer(b.released), 8))
			if r := add(b.result, uintptr(room)); r%8 != 0 {
				t.Errorf("result at %d", r)
			}
			for _, c := range b.casts {
				writers = append(writers, add(unsafe.Pointer(c.seq), 8))
				add(unsafe.Pointer(c.length), 8)
				add(c.data, uintptr(room))
			}
			for r := range n {
				writers = append(writers, add(unsafe.Pointer(b.read(r)), 8), add(b.slot(r), uintptr(room)))
			}
			slices.SortFunc(all, func(a, b span) int { return int(a.from) - int(b.from) })
			for i, s := range all {
				if s.to > uintptr(size) || i > 0 && s.from < all[i-1].to {
					t.Errorf("%d ranks, room %d: %v after %v in %d bytes", n, room, s, all[max(i-1, 0)], size)
				}
			}
			for i, at := range writers {
				if at%line != 0 || room > 0 && slices.Index(writers, at) != i {
					t.Errorf("%d ranks, room %d: place %d at %d", n, room, i, at)
				}
			}
		}
	}
}

// Ranks of changing speed do random operations on several communicators of overlapping groups; everybody knows what must come out.
func TestStress(t *testing.T) {
	const n = 6
	rounds := 3000
	if underRace {
		rounds = 600
	}
	groups := [][]int{{0, 1, 2, 3, 4, 5}, {5, 3, 1}, {0, 2, 3, 4}, {4, 1}}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	w := newWorld(t, n)
	w.fabric.Run(func(self int) {
		tables := make([]*coll.Table, len(groups))
		for i, g := range groups {
			if slices.Contains(g, self) {
				tables[i], _ = w.comm(uint32(10+i), g, self)
			}
		}
		plan := rand.New(rand.NewPCG(seed, 0)) // the same on all ranks
		pace := rand.New(rand.NewPCG(seed, uint64(self)+1))
		buf, out := make([]float64, 70), make([]float64, 70)
		for round := range rounds {
			i := plan.IntN(len(groups))
			op, count, root := plan.IntN(5), 1+plan.IntN(70), plan.IntN(len(groups[i]))
			base := float64(plan.IntN(1000))
			rank := slices.Index(groups[i], self)
			if rank < 0 {
				continue
			}
			for range pace.IntN(3) {
				runtime.Gosched()
			}
			size, tbl := float64(len(groups[i])), tables[i]
			for j := range count {
				buf[j], out[j] = base+float64(j+rank), -1
			}
			want, got := func(j int) float64 { return base + float64(j+root) }, buf[:count]
			var err error
			switch op {
			case 0:
				err = tbl.Barrier.Barrier()
				got = nil
			case 1, 2:
				err = tbl.Bcast.Bcast(floats(buf[:count]), root)
			case 3:
				err = tbl.Reduce.Reduce(floats(buf[:count]), floats(out[:count]), core.Sum, root)
				want = func(j int) float64 { return size*(base+float64(j)) + size*(size-1)/2 }
				got = out[:count]
				if rank != root {
					got = nil
				}
			case 4:
				err = tbl.Allreduce.Allreduce(floats(buf[:count]), floats(out[:count]), core.Max)
				want = func(j int) float64 { return base + float64(j) + size - 1 }
				got = out[:count]
			}
			if err != nil {
				t.Errorf("round %d: rank %d of group %d: %v", round, rank, i, err)
				return
			}
			for j, x := range got {
				if x != want(j) {
					t.Errorf("round %d: operation %d: rank %d of group %d has %v at %d, want %v", round, op, rank, i, x, j, want(j))
					return
				}
			}
		}
		for _, tbl := range tables {
			if tbl != nil {
				if err := tbl.Close(); err != nil {
					t.Error(err)
				}
			}
		}
	})
}

// A root that runs ahead waits when all buffers of broadcasts are taken, whoever broadcast before.
func TestBroadcastsRunAhead(t *testing.T) {
	const n, total = 4, 500
	var written, behind atomic.Int64
	newWorld(t, n).run(func(rank int, tbl *coll.Table, _ *core.Comm) {
		for range 2 {
			_ = tbl.Barrier.Barrier()
		}
		v := make([]float64, 8)
		for i := range total {
			root := i / 20 % 2 // two ranks take turns
			if rank == root {
				for j := range v {
					v[j] = float64(i)
				}
			}
			if rank == n-1 {
				if ahead := written.Load() - int64(i); ahead > castBuffers {
					t.Errorf("root is %d broadcasts ahead", ahead)
				} else if ahead > 1 {
					behind.Add(1)
				}
				for range i % 3 {
					runtime.Gosched()
				}
			}
			if err := tbl.Bcast.Bcast(floats(v), root); err != nil {
				t.Error(err)
				return
			}
			if rank == root {
				written.Store(int64(i) + 1)
			}
			for _, x := range v {
				if x != float64(i) {
					t.Errorf("rank %d has %v of broadcast %d", rank, v, i)
					return
				}
			}
		}
	})
	t.Logf("%d times more than one ahead", behind.Load())
}

// A board is given back when the last member has let go, not before, and the memory serves the next one.
func TestBoardIsGivenBack(t *testing.T) {
	const n = 3
	w := newWorld(t, n)
	factory := func(rank int) *factory {
		for _, f := range w.list[rank] {
			if mine, ok := f.(*factory); ok {
				return mine
			}
		}
		t.Fatal("the component is not there")
		return nil
	}
	var hold, others sync.WaitGroup
	hold.Add(1)
	others.Add(n - 1)
	w.fabric.Run(func(self int) {
		tbl, c := w.comm(5, []int{0, 1, 2}, self)
		for range firstOnBoard + 1 {
			_ = tbl.Barrier.Barrier()
		}
		if self == 2 {
			hold.Wait()
		}
		if err := tbl.Close(); err != nil {
			t.Error(err)
		}
		if err := tbl.Close(); err != nil { // a second time does nothing
			t.Error(err)
		}
		if self != 0 {
			others.Done()
		} else {
			if got := len(factory(0).graves); got != 1 {
				t.Errorf("%d boards wait to be given back, want 1", got)
			}
			hold.Done()
			others.Wait()
			c.Engine.Lock()
			factory(0).bury()
			c.Engine.Unlock()
			if got := len(factory(0).graves); got != 0 {
				t.Errorf("%d boards wait to be given back, want none", got)
			}
		}
	})
}

func TestNoAllocations(t *testing.T) {
	if underRace {
		t.Skip("the race detector allocates")
	}
	const n, rounds = 3, 50
	newWorld(t, n).run(func(rank int, tbl *coll.Table, _ *core.Comm) {
		in, out := make([]float64, 16), make([]float64, 16)
		calls := []struct {
			name string
			call func() error
		}{
			{"barrier", tbl.Barrier.Barrier},
			{"bcast", func() error { return tbl.Bcast.Bcast(floats(in), 1) }},
			{"reduce", func() error { return tbl.Reduce.Reduce(floats(in), floats(out), core.Sum, 1) }},
			{"allreduce", func() error { return tbl.Allreduce.Allreduce(floats(in), floats(out), core.Sum) }},
		}
		for _, c := range calls {
			once := func() {
				if err := c.call(); err != nil {
					t.Error(err)
				}
			}
			for range 20 { // the board, and what the runtime keeps for goroutines that block
				once()
			}
			if rank != 0 {
				for range rounds + 1 {
					once()
				}
				continue
			}
			if got := testing.AllocsPerRun(rounds, once); got != 0 { // of all ranks together
				t.Errorf("%s: %v allocations", c.name, got)
			}
		}
	})
}

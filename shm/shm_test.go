package shm

import (
	"errors"
	"os"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ompi-go/ompi-go/progress"
	"github.com/ompi-go/ompi-go/rte"
)

func newEngine(t testing.TB) *progress.Engine {
	e := progress.New(progress.Config{Cores: 1, LocalRanks: 1})
	t.Cleanup(func() { e.Close() })
	return e
}

// pair opens two ranks' domains: of one process with a hub, else with mapped segments.
func pair(t testing.TB, inProcess bool, opt Options) [2]*Domain {
	t.Helper()
	job := rte.NewHub(2)
	var hub *Hub
	if inProcess {
		hub = NewHub(2)
	}
	var d [2]*Domain
	for i := range d {
		e := newEngine(t)
		var err error
		if d[i], err = Open(Config{Job: job.Job(i), Engine: e, Options: opt, Hub: hub}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			e.Lock()
			defer e.Unlock()
			if err := d[i].Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
	}
	done := make(chan error)
	for i := range d {
		go func() { done <- job.Job(i).Fence() }()
	}
	for range d {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	return d
}

func both(t *testing.T, f func(t *testing.T, inProcess bool)) {
	t.Run("InProcess", func(t *testing.T) { f(t, true) })
	t.Run("Mapped", func(t *testing.T) { f(t, false) })
}

func bytesAt(p unsafe.Pointer, n int) []byte { return unsafe.Slice((*byte)(p), n) }

func TestPieces(t *testing.T) {
	both(t, func(t *testing.T, inProcess bool) {
		d := pair(t, inProcess, Options{Attach: "auto"})
		p, mine, err := d[0].Alloc(100)
		if err != nil || uintptr(mine)%lineSize != 0 {
			t.Fatalf("Alloc: %v, %v", mine, err)
		}
		copy(bytesAt(mine, 100), "shared")
		theirs, err := d[1].At(0, p, 100)
		if err != nil || string(bytesAt(theirs, 6)) != "shared" {
			t.Fatalf("At: %v", err)
		}
		bytesAt(theirs, 100)[99] = 7
		if bytesAt(mine, 100)[99] != 7 {
			t.Error("a peer's write is not seen")
		}
		if own, err := d[0].At(0, p, 100); err != nil || own != mine && inProcess || string(bytesAt(own, 6)) != "shared" {
			t.Errorf("At of an own piece: %v", err)
		}
		for _, c := range []struct {
			rank int
			p    Piece
			n    int64
		}{{0, p, 1 << 40}, {0, p, -1}, {0, ^p, 100}, {0, p + 1, 10}, {0, 1 << 63, 64}, {2, p, 100}, {-1, p, 100}} {
			if _, err := d[1].At(c.rank, c.p, c.n); err == nil {
				t.Errorf("At(%d, %#x, %d) succeeded", c.rank, c.p, c.n)
			}
		}
		d[0].Free(p, 100)
		if inProcess {
			if _, err := d[1].At(0, p, 100); err == nil {
				t.Error("a freed piece is still there")
			}
		}
		again, mem, err := d[0].Alloc(100)
		if err != nil || bytesAt(mem, 100)[0] != 0 || bytesAt(mem, 100)[99] != 0 {
			t.Errorf("a piece used again is not zero: %v", err)
		}
		if !inProcess && again != p {
			t.Error("a freed piece is not used again")
		}
		if !d[0].Shares(1) || d[0].Shares(2) || d[0].Position(1) != 1 || d[0].InProcess() != inProcess || len(d[0].Local()) != 2 {
			t.Error("the local ranks are wrong")
		}
	})
}

func TestOffers(t *testing.T) {
	both(t, func(t *testing.T, inProcess bool) {
		d := pair(t, inProcess, Options{Attach: "auto"})
		peer, err := d[0].Attach(1)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := d[0].Attach(1); again != peer || err != nil {
			t.Error("attached twice")
		}
		calls := d[1].Calls()
		d[0].Offer(peer, 640)
		d[0].Offer(peer, 1280) // replaces the first
		if d[1].Calls() == calls {
			t.Error("nobody called")
		}
		var got []Piece
		take := func(rank int, p Piece) {
			if rank != 0 {
				t.Errorf("an offer from rank %d", rank)
			}
			got = append(got, p)
		}
		d[1].TakeOffers(take)
		d[1].TakeOffers(take)
		if len(got) != 1 || got[0] != 1280 {
			t.Errorf("offers %v", got)
		}
	})
}

func TestRegistrations(t *testing.T) {
	d := pair(t, true, Options{})
	peer, err := d[1].Attach(0)
	if err != nil {
		t.Fatal(err)
	}
	mem := make([]byte, 100)
	slot, gen := d[0].Register(unsafe.Pointer(&mem[0]), 100)
	if p, err := peer.Registered(slot, gen, 10, 90); err != nil || p != unsafe.Pointer(&mem[10]) {
		t.Errorf("Registered: %v, %v", p, err)
	}
	for _, r := range [][2]int64{{0, 101}, {100, 1}, {-1, 2}, {0, -1}, {1 << 62, 1 << 62}} {
		if _, err := peer.Registered(slot, gen, r[0], r[1]); err == nil {
			t.Errorf("range [%d, +%d) of 100 bytes", r[0], r[1])
		}
	}
	for _, id := range [][2]uint32{{slot, gen + 1}, {slot + 1, gen}, {^uint32(0), gen}, {slot, 0}} {
		if _, err := peer.Registered(id[0], id[1], 0, 1); err == nil {
			t.Errorf("registration %v exists", id)
		}
	}
	d[0].Deregister(slot, gen)
	slot2, gen2 := d[0].Register(unsafe.Pointer(&mem[0]), 10)
	d[0].Deregister(slot, gen) // stale: must not touch the new one
	if _, err := peer.Registered(slot, gen, 0, 1); err == nil || slot2 != slot {
		t.Error("a stale name finds something")
	}
	if _, err := peer.Registered(slot2, gen2, 0, 10); err != nil {
		t.Error(err)
	}
}

func TestNotOpen(t *testing.T) {
	d, err := Open(Config{Job: rte.NewHub(2).Job(0), Engine: newEngine(t), Hub: NewHub(2)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Attach(1); err == nil || !strings.Contains(err.Error(), "rank 1 has not opened") {
		t.Errorf("Attach of a rank that is not there: %v", err)
	}
}

func TestTryCMA(t *testing.T) {
	d := pair(t, false, Options{Attach: "auto"})
	p, err := d[0].Attach(1)
	if err != nil {
		t.Fatal(err)
	}
	if p.PID() != os.Getpid() {
		t.Errorf("process %d", p.PID())
	}
	if err := p.TryCMA(func(int, unsafe.Pointer, uint64, int) error { return unix.EPERM }); !errors.Is(err, unix.EPERM) {
		t.Errorf("a refused trial: %v", err)
	}
	if err := p.TryCMA(func(int, unsafe.Pointer, uint64, int) error { return nil }); err == nil {
		t.Error("a trial that read something else is believed")
	}
	if err := p.TryCMA(func(_ int, local unsafe.Pointer, remote uint64, n int) error {
		copy(bytesAt(local, n), bytesAt(unsafe.Pointer(p.region.Base()), n)) // what the kernel would read there
		if remote != d[1].ctl.id.self || n != 8 {
			t.Errorf("reads %d bytes at %#x", n, remote)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

package unimem

import (
	"errors"
	"fmt"
	"time"
	"unsafe"
)

// ErrNoRoute: as many remote ranges are registered as the engine can hold.
var ErrNoRoute = errors.New("unimem: the RDMA engine has no room for another registration")

// Route names a remote range that is registered with the engine; the zero value names none.
type Route struct{ slot, gen uint32 }

// Words is the route as two words, for who keeps registrations of all kinds.
func (r Route) Words() [2]uint64 { return [2]uint64{uint64(r.slot), uint64(r.gen)} }

// RouteOf is the opposite of Words.
func RouteOf(w [2]uint64) Route { return Route{uint32(w[0]), uint32(w[1])} }

type route struct {
	peer   *Peer
	off, n int64
	gen    uint32
}

// Transfer is a read or write of a peer's memory. It belongs to the engine from Submit until it is over.
type Transfer struct {
	Owner  Completer
	Route  Route
	Local  unsafe.Pointer // dmable
	Remote int64          // offset in the peer's memory, inside the route
	N      int64
	Write  bool // else read

	at   unsafe.Pointer // the remote bytes
	done int64
	next *Transfer
}

// Completer is told, from inside Run, that a transfer is over.
type Completer interface{ Transferred(t *Transfer) }

// Engine moves bytes between dmable memory, one transfer after the other, at most Config.Burst of them at a time.
type Engine struct {
	dev         *Device
	routes      []route
	unused      []uint32
	first, last *Transfer
	registered  uint64
}

func (e *Engine) init(d *Device) { e.dev = d }

// Register makes the way to n bytes at off of the peer's memory, widened to pages. It takes Config.RegisterCost.
func (e *Engine) Register(p *Peer, off, n int64) (Route, error) {
	if !p.Has(off, n) {
		return Route{}, fmt.Errorf("unimem: range [%d,+%d) outside the peer's %d bytes of dmable memory", off, n, p.size)
	}
	end := (off + n + Page - 1) &^ (Page - 1)
	off &^= Page - 1
	var slot uint32
	switch k := len(e.unused); {
	case k > 0:
		slot = e.unused[k-1]
		e.unused = e.unused[:k-1]
	case len(e.routes) < e.dev.cfg.Routes:
		slot = uint32(len(e.routes))
		e.routes = append(e.routes, route{})
	default:
		return Route{}, ErrNoRoute
	}
	r := &e.routes[slot]
	r.peer, r.off, r.n = p, off, end-off
	r.gen++
	e.registered++
	spin(e.dev.cfg.RegisterCost)
	return Route{slot, r.gen}, nil
}

// spin is the time that the hardware takes: the caller's processor is busy, as it is in the system call of the real thing.
func spin(d time.Duration) {
	if d <= 0 {
		return
	}
	for start := time.Now(); time.Since(start) < d; {
	}
}

// Deregister forgets a route. No transfer uses it any more.
func (e *Engine) Deregister(r Route) {
	if e.routed(r) == nil {
		return
	}
	e.routes[r.slot].peer = nil
	e.unused = append(e.unused, r.slot)
}

func (e *Engine) routed(r Route) *route {
	if int(r.slot) >= len(e.routes) || e.routes[r.slot].gen != r.gen || e.routes[r.slot].peer == nil {
		return nil
	}
	return &e.routes[r.slot]
}

// Registrations counts the calls of Register that succeeded.
func (e *Engine) Registrations() uint64 { return e.registered }

// check tells what the hardware would not do: local memory that is not dmable, a remote range that is not registered.
func (e *Engine) check(t *Transfer) error {
	if _, ok := e.dev.Dmable(t.Local, t.N); !ok {
		return errors.New("unimem: the local memory of a transfer is not dmable")
	}
	r := e.routed(t.Route)
	if r == nil || t.Remote < r.off || t.N > r.n || t.Remote-r.off > r.n-t.N {
		return fmt.Errorf("unimem: remote range [%d,+%d) of a transfer is not registered", t.Remote, t.N)
	}
	t.at, t.done, t.next = unsafe.Add(r.peer.memory, t.Remote), 0, nil
	return nil
}

// Do carries a transfer out and waits for it, in front of those that wait.
func (e *Engine) Do(t *Transfer) error {
	err := e.check(t)
	if err == nil {
		e.move(t, t.N)
	}
	return err
}

// Submit starts a transfer. done: it is over, and no completion follows; it is when the engine is idle and a burst suffices.
func (e *Engine) Submit(t *Transfer) (done bool, err error) {
	if err := e.check(t); err != nil {
		return false, err
	}
	if e.first != nil {
		e.last.next = t
		e.last = t
		return false, nil
	}
	if e.move(t, e.dev.cfg.Burst) > 0 {
		return true, nil
	}
	e.first, e.last = t, t
	return false, nil
}

// move goes on with t for at most n bytes, and gives what was left of them when t was over before, at least 1; else 0.
func (e *Engine) move(t *Transfer, n int64) int64 {
	k := min(n, t.N-t.done)
	if k > 0 {
		here := unsafe.Slice((*byte)(unsafe.Add(t.Local, t.done)), k)
		there := unsafe.Slice((*byte)(unsafe.Add(t.at, t.done)), k)
		if t.Write {
			copy(there, here)
		} else {
			copy(here, there)
		}
		t.done += k
	}
	if t.done < t.N {
		return 0
	}
	return max(n-k, 1)
}

// Idle reports whether no transfer is under way.
func (e *Engine) Idle() bool { return e.first == nil }

// Run moves a burst of bytes and tells the owners of transfers that are over. It reports whether there was anything to do.
func (e *Engine) Run() bool {
	if e.first == nil {
		return false
	}
	for left := e.dev.cfg.Burst; e.first != nil && left > 0; {
		t := e.first
		k := e.move(t, left)
		if k == 0 {
			break
		}
		if left = k; k == 1 {
			left = 0
		}
		e.first = t.next
		t.next = nil
		t.Owner.Transferred(t)
	}
	return true
}

// Abandon forgets the transfers to a peer: nothing of it is touched any more, and nobody is told.
func (e *Engine) Abandon(p *Peer) {
	var keep, last *Transfer
	for t := e.first; t != nil; {
		next := t.next
		t.next = nil
		if r := e.routed(t.Route); r != nil && r.peer != p {
			if last == nil {
				keep = t
			} else {
				last.next = t
			}
			last = t
		}
		t = next
	}
	e.first, e.last = keep, last
}

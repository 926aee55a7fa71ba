// Package inject makes paths misbehave on purpose: package r2 decorates those that its parameter inject names, so that tests and users
// see what a fault does to a program. It sits between the PML and any BTL: fragments, inline messages, reads and writes of memory pass through it.
//
//	delay       held back for some passes of the engine; others overtake it. Correct results.
//	reorder     the next message to the peer overtakes it. Correct results.
//	dup         sent twice. Correct results.
//	fail_after  the path to a peer breaks after so many messages: what was under way is given back with an error, whether it came or not. Correct
//	            results while other paths to the peer remain; else the peer counts as failed.
//	corrupt     one bit of the payload is changed. With pml_ob1_checksum the receive ends with an error; without, nobody notices.
//	drop        gone, though the sender is told that it came, which no BTL does. The job hangs; a limit of time notices it (mpirun --timeout).
//
// Chances are drawn in the order of messages to a peer, from the seed, the two ranks and the BTL: what a rank sends in the same order meets the
// same faults. Payloads are copied, so that what a broken path still delivers is what was sent.
package inject

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"unsafe"

	"github.com/ompi-go/ompi-go/bml"
	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
)

// Injector decorates the paths of an instance.
type Injector struct {
	env       *btl.Env
	plans     map[string]Plan
	seed      uint64
	endpoints []*endpoint
	free      *frame
	held      int
}

// New makes one; the token is not held.
func New(env *btl.Env, plans map[string]Plan, seed uint64) *Injector {
	i := &Injector{env: env, plans: plans, seed: seed}
	env.Engine.Lock()
	env.Engine.AddPoller(i)
	env.Engine.Unlock()
	return i
}

// Decorate puts the faults of its BTL's plan into a path to a process, and reports whether there are any.
func (i *Injector) Decorate(path *bml.Path, to *core.Proc) bool {
	plan, ok := i.plans[path.Module.Name()]
	if !ok {
		return false
	}
	name := fnv.New64a()
	fmt.Fprintf(name, "%s %d %d", path.Module.Name(), i.env.Job.Rank(), to.Rank)
	e := &endpoint{i: i, plan: plan, module: path.Module, to: to, rnd: rand.New(rand.NewPCG(i.seed, name.Sum64())),
		send: path.Send, inline: path.Inline, get: path.Get, put: path.Put}
	e.draw()
	i.endpoints = append(i.endpoints, e)
	path.Send = e
	if path.Inline != nil {
		path.Inline = e
	}
	if path.Get != nil {
		path.Get = e
	}
	if path.Put != nil {
		path.Put = e
	}
	return true
}

// Quiet reports whether nothing is held back.
func (i *Injector) Quiet() bool { return i.held == 0 }

// Poll implements progress.Poller: it lets go of what was held back, and tells of broken paths.
func (i *Injector) Poll() int {
	n := 0
	for _, e := range i.endpoints {
		if e.broken && !e.told {
			e.told = true
			e.giveBack()
			i.env.Upcalls.EndpointFailed(e.module, e.to, false, errBroken)
			n++
		}
		if len(e.held) > 0 {
			n += e.release()
		}
	}
	return n
}

var errBroken = errors.New("the path broke, as bml_r2_inject has it (fail_after)")

// fate is what becomes of the next message.
type fate struct{ drop, dup, delay, reorder, corrupt bool }

// endpoint is a decorated path to a process.
type endpoint struct {
	i      *Injector
	plan   Plan
	module btl.Module
	to     *core.Proc
	rnd    *rand.Rand

	send   btl.Endpoint
	inline btl.InlineSender
	get    btl.Getter
	put    btl.Putter

	taken        uint64
	next         fate
	broken, told bool
	held         []*frame
	out          []*frame // in the BTL, of fragments whose owners are still to be told
}

// frame is a copy of a message.
type frame struct {
	btl.Frag
	e       *endpoint
	up      *btl.Frag // who is to be told; nil: nobody
	mem     []byte
	inline  bool
	swap    bool // goes behind the next one
	passes  int
	another *frame
}

func (e *endpoint) chance(millionths int) bool {
	return millionths > 0 && e.rnd.IntN(million) < millionths
}

// draw decides about the next message.
func (e *endpoint) draw() {
	p := &e.plan
	e.next = fate{e.chance(p.Drop), e.chance(p.Dup), e.chance(p.Delay), e.chance(p.Reorder), e.chance(p.Corrupt)}
}

// breaks reports whether the path is broken, or breaks now.
func (e *endpoint) breaks() bool {
	if e.plan.FailAfter > 0 && e.taken >= e.plan.FailAfter && !e.broken {
		e.broken = true
		e.i.env.Engine.Wake()
	}
	return e.broken
}

// took counts a message.
func (e *endpoint) took() {
	e.taken++
	e.draw()
}

func (e *endpoint) frame(tag btl.Tag, hdr []byte, n int) *frame {
	g := e.i.free
	if g == nil {
		g = new(frame)
		g.Owner = g
	} else {
		e.i.free = g.another
	}
	g.e, g.up, g.inline, g.swap, g.another = e, nil, false, false, nil
	g.Tag, g.HdrLen, g.Len, g.Sent, g.Data, g.Next = tag, uint8(len(hdr)), n, 0, nil, nil
	copy(g.Hdr[:], hdr)
	if cap(g.mem) < n {
		g.mem = make([]byte, n)
	}
	if g.mem = g.mem[:n]; n > 0 {
		g.Data = unsafe.Pointer(&g.mem[0])
	}
	return g
}

func (g *frame) giveAway() {
	i := g.e.i
	g.e, g.up, g.another = nil, nil, i.free
	i.free = g
}

// FragDone implements btl.Completer.
func (g *frame) FragDone(_ *btl.Frag, err error) {
	e, up := g.e, g.up
	for k, o := range e.out {
		if o == g {
			e.out = append(e.out[:k], e.out[k+1:]...)
			break
		}
	}
	g.giveAway()
	if up != nil {
		up.Owner.FragDone(up, err)
	}
}

// Send implements btl.Endpoint.
func (e *endpoint) Send(f *btl.Frag) (bool, error) {
	if e.breaks() {
		return false, errBroken
	}
	g := e.frame(f.Tag, f.Header(), f.Len)
	packed := f.Data == nil && f.Len > 0
	switch {
	case packed:
		conv := *f.Conv
		conv.Pack(g.mem)
	case f.Len > 0:
		copy(g.mem, unsafe.Slice((*byte)(f.Data), f.Len))
	}
	g.up = f
	done, err := e.pass(g)
	if err == nil && packed {
		f.Conv.SetPosition(f.Conv.Position() + int64(f.Len))
	}
	return done, err
}

// MaxInline implements btl.InlineSender.
func (e *endpoint) MaxInline() int { return e.inline.MaxInline() }

// SendInline implements btl.InlineSender.
func (e *endpoint) SendInline(tag btl.Tag, h0, h1 uint64, data unsafe.Pointer, n int) bool {
	if n > e.inline.MaxInline() || e.breaks() {
		return false
	}
	if e.next == (fate{}) {
		if !e.inline.SendInline(tag, h0, h1, data, n) {
			return false
		}
		e.took()
		e.swapped()
		return true
	}
	var hdr [btl.InlineHeader]byte
	for k := range 8 {
		hdr[k], hdr[8+k] = byte(h0>>(8*k)), byte(h1>>(8*k))
	}
	g := e.frame(tag, hdr[:], n)
	copy(g.mem, unsafe.Slice((*byte)(data), n))
	g.inline = true
	_, err := e.pass(g)
	return err == nil
}

// pass gives a message its fate. It owns g.
func (e *endpoint) pass(g *frame) (done bool, err error) {
	next := e.next
	if next.drop {
		g.giveAway()
		e.took()
		return true, nil
	}
	if next.corrupt && g.Len > 0 {
		// The place is part of the fate: it must not change when the message is offered again.
		at := int((e.taken*0x9e3779b97f4a7c15 + e.i.seed) % uint64(8*g.Len))
		g.mem[at/8] ^= 1 << (at % 8)
	}
	if next.delay || next.reorder {
		g.passes, g.swap = 1+int(e.taken%13), next.reorder
		if g.swap {
			g.passes = 64
		}
		e.held = append(e.held, g)
		e.i.held++
		e.i.env.Engine.Busy(1) // nothing else would keep the engine awake
		e.took()
		return false, nil
	}
	var twin *frame
	if next.dup {
		twin = e.frame(g.Tag, g.Header(), g.Len)
		copy(twin.mem, g.mem)
	}
	done, err = e.offer(g)
	if err == nil {
		e.took()
		e.swapped()
	}
	if twin != nil {
		if err != nil {
			twin.giveAway()
		} else {
			_, _ = e.offer(twin) // where there is no room there is no second one
		}
	}
	return done, err
}

// offer offers a frame to the BTL, and gives it away unless that keeps it.
func (e *endpoint) offer(g *frame) (done bool, err error) {
	done, err = e.send.Send(&g.Frag)
	if err != nil || done {
		g.giveAway()
		return done, err
	}
	e.out = append(e.out, g)
	return false, nil
}

// swapped lets go of what waited to be overtaken.
func (e *endpoint) swapped() {
	for _, g := range e.held {
		if g.swap {
			g.passes = 1
		}
	}
}

// release lets go of what has been held back for long enough.
func (e *endpoint) release() int {
	n := 0
	all := e.held
	e.held = nil
	for k, g := range all {
		if g.passes--; g.passes > 0 {
			e.held = append(e.held, g)
			continue
		}
		up := g.up
		done, err := e.send.Send(&g.Frag)
		switch {
		case errors.Is(err, btl.ErrAgain):
			g.passes = 1
			e.held = append(e.held, g)
			continue
		case err != nil && g.inline: // the BTL's failure is on its way; what is in doubt goes back with it
			e.held = append(e.held, all[k:]...)
			e.broken = true
			return n
		}
		n++
		e.i.held--
		e.i.env.Engine.Busy(-1)
		if err == nil && !done {
			e.out = append(e.out, g)
			continue
		}
		g.giveAway()
		if up != nil {
			up.Owner.FragDone(up, err)
		}
	}
	return n
}

// giveBack gives everything back to its owners: whether it comes is not known.
func (e *endpoint) giveBack() {
	held, out := e.held, e.out
	e.held, e.out = nil, nil
	for _, g := range out { // the BTL still has them, and may deliver them
		if up := g.up; up != nil {
			g.up = nil
			up.Owner.FragDone(up, errBroken)
		}
	}
	for _, g := range held {
		e.i.held--
		e.i.env.Engine.Busy(-1)
		if up := g.up; up != nil {
			up.Owner.FragDone(up, errBroken)
		} else if r, ok := e.i.env.Dispatch.Handlers[g.Tag].(btl.Reclaimer); ok && g.inline {
			r.Reclaim(e.to.Rank, g.Header(), g.mem)
		}
		g.giveAway()
	}
}

// Get implements btl.Getter.
func (e *endpoint) Get(t *btl.Transfer) (bool, error) {
	if e.breaks() {
		return false, errBroken
	}
	if e.next.corrupt {
		t.Shared = false // what is over later cannot be damaged here
	}
	done, err := e.get.Get(t)
	if err == nil {
		if done && e.next.corrupt && t.N > 0 {
			at := int64((e.taken*0x9e3779b97f4a7c15 + e.i.seed) % uint64(8*t.N))
			unsafe.Slice((*byte)(t.Local), t.N)[at/8] ^= 1 << (at % 8)
		}
		e.took()
	}
	return done, err
}

// Put implements btl.Putter.
func (e *endpoint) Put(t *btl.Transfer) (bool, error) {
	if e.breaks() {
		return false, errBroken
	}
	done, err := e.put.Put(t)
	if err == nil {
		e.took()
	}
	return done, err
}

// Vouch implements btl.Voucher.
func (e *endpoint) Vouch() {
	if v, ok := e.send.(btl.Voucher); ok {
		v.Vouch()
	}
}

var (
	_ btl.InlineSender = (*endpoint)(nil)
	_ btl.Getter       = (*endpoint)(nil)
	_ btl.Putter       = (*endpoint)(nil)
	_ btl.Voucher      = (*endpoint)(nil)
)

package portals4

import (
	"errors"
	"math/rand/v2"
	"testing"
)

// TestPeerDiesInAnyState: operations of both sides are brought into any state, then the peer dies: each operation has exactly the events it is to
// have, every entry and memory descriptor ends.
func TestPeerDiesInAnyState(t *testing.T) {
	seeds := uint64(80)
	if testing.Short() {
		seeds = 10
	}
	for seed := range seeds {
		inCorner(t, 1<<14, func(c *corner) { (&chaos{corner: c, r: rand.New(rand.NewPCG(seed, 4)), seed: seed}).run() })
	}
}

type chaos struct {
	*corner
	r       *rand.Rand
	seed    uint64
	pts     *PT
	put     *MDHandle
	into    *MDHandle
	ops     []chaosOp
	entries []Entry
	nextOp  uint32
}

type chaosOp struct {
	kind uint8
	ack  bool
	send []FailType
	back []FailType
}

func (c *chaos) run() {
	c.pts = c.pt(0)
	c.put, c.into = c.md(300000, 0), c.md(300000, 0)
	for range 60 {
		switch c.r.IntN(8) {
		case 0, 1:
			c.begin()
		case 2, 3:
			c.answer()
		case 4:
			c.request()
		case 5:
			c.data()
		case 6:
			c.link()
		default:
			c.must(c.pts.MESearch(&ME{UID: AnyUID, MatchID: AnyProcess, IgnoreBits: ^uint64(0), Options: UseOnce}, SearchOp(c.r.IntN(2)), -1))
		}
		if c.l.dead != nil {
			c.Fatalf("seed %d: an honest peer is not believed: %v", c.seed, c.l.dead)
		}
	}
	c.failed(c.l, errors.New("dead"))
	c.check()
}

func (c *chaos) begin() {
	id := len(c.ops)
	x := Transfer{Length: []uint64{0, 8, 2000, 50000, 300000}[c.r.IntN(5)], Target: Rank(1), PT: 4, UserPtr: id}
	o := chaosOp{kind: uint8(c.r.IntN(4))}
	switch o.kind {
	case opPut, opAtomic:
		if o.ack = c.r.IntN(2) == 0; o.ack {
			x.Ack = Ack
		}
		if o.kind == opAtomic {
			x.Length = min(x.Length, 8000)
			c.must(c.put.Atomic(&x, Sum, Int64))
		} else {
			c.must(c.put.Put(&x))
		}
	case opGet:
		c.must(c.into.Get(&x))
	default:
		x.Length = min(x.Length, 8000)
		c.must(c.put.FetchAtomic(&x, &Into{MD: c.into}, Sum, Int64))
	}
	c.ops = append(c.ops, o)
}

// answer is what an honest target says to some operation, perhaps a part of it.
func (c *chaos) answer() {
	var live []*op
	for _, o := range c.Interface.ops.all {
		if o.live && o.wait && !o.over && !o.flying {
			live = append(live, o)
		}
	}
	if len(live) == 0 {
		return
	}
	o := live[c.r.IntN(len(live))]
	respond := func(kind uint8, n uint64, data []byte) {
		r := response{kind: kind, handle: o.handle(), mlength: n, fail: FailType(c.r.IntN(2) * int(Dropped))}
		w0, w1 := r.words()
		c.says(tagResponse, w0, w1, append(r.appendTail(nil), data...)...)
	}
	switch {
	case o.kind == opPut && o.source != nil && c.r.IntN(2) == 0:
		c.says(tagCTS, 7|uint64(o.handle())<<32, o.length)
	case o.kind == opPut || o.kind == opAtomic:
		respond(respDone, o.length, nil)
	case o.kind != opGet || o.length <= 2000 && !o.known && o.got == 0:
		respond(respData, o.length, make([]byte, o.length))
	case !o.known:
		respond(respFollows, o.length, nil)
	default:
		n := min(o.length-o.got, 30000)
		c.says(tagReply, uint64(o.handle()), o.got, make([]byte, n)...)
	}
}

// request is one of the peer.
func (c *chaos) request() {
	r := request{op: uint8(c.r.IntN(4)), pt: 4, atomic: Sum, typ: Int64}
	n := []int{0, 8, 2000, 100000}[c.r.IntN(4)]
	if r.op == opGet || r.op == opFetch || c.r.IntN(2) == 0 {
		c.nextOp++
		r.flags, r.handle = hasHandle, c.nextOp
	}
	switch {
	case r.op == opGet:
		r.flags |= hasLength
		r.length = uint64(n)
	case r.op == opPut && n > 8 && r.flags&hasHandle != 0:
		r.flags |= hasLength
		r.length = uint64(n)
	default:
		r.data = make([]byte, min(n, 400))
	}
	c.asks(r)
}

// data is a piece of some put of the peer, or the end of its reading.
func (c *chaos) data() {
	for _, a := range c.arrivals.all {
		switch {
		case !a.live || c.r.IntN(2) == 0:
		case a.op == opPut:
			n := min(a.mlength-a.move.at, uint64(1+c.r.IntN(30000)))
			c.says(tagBody, uint64(a.token()), a.move.at, make([]byte, n)...)
			return
		case a.exposed:
			c.says(tagFin, uint64(a.token())|uint64(c.r.IntN(3))<<32, 0)
			return
		}
	}
}

func (c *chaos) link() {
	o := OpPut | OpGet | EventLinkDisable
	l := List(c.r.IntN(2))
	if c.r.IntN(3) > 0 {
		o |= UseOnce
	}
	d := ME{Start: make([]byte, []int{0, 100, 200000}[c.r.IntN(3)]), UID: AnyUID, Options: o, MatchID: AnyProcess, IgnoreBits: ^uint64(0)}
	e, err := c.pts.MEAppend(&d, l, 1000+len(c.entries))
	c.must(err)
	c.entries = append(c.entries, e)
}

func (c *chaos) check() {
	unlinked, freed := make([]int, len(c.entries)), make([]int, len(c.entries))
	var ev Event
	for {
		err := c.eq.Take(&ev)
		if errors.Is(err, ErrEQEmpty) {
			break
		}
		c.must(err)
		id, _ := ev.UserPtr.(int)
		switch ev.Type {
		case EventSend:
			c.ops[id].send = append(c.ops[id].send, ev.NIFail)
		case EventAck, EventReply:
			c.ops[id].back = append(c.ops[id].back, ev.NIFail)
		case EventAutoUnlink:
			unlinked[id-1000]++
		case EventAutoFree:
			freed[id-1000]++
		}
	}
	for id, o := range c.ops {
		send, back := 1, 0
		switch {
		case o.kind == opGet:
			send, back = 0, 1
		case o.kind == opFetch, o.ack && len(o.send) == 1 && o.send[0] == OK:
			back = 1
		}
		if len(o.send) != send || len(o.back) != back {
			c.Errorf("seed %d: operation %d of kind %d: SEND %v, ACK or REPLY %v", c.seed, id, o.kind, o.send, o.back)
		}
	}
	for id, h := range c.entries {
		dead := h.e.gen != h.gen
		want := 0
		if dead || !h.e.linked {
			want = 1
		}
		if unlinked[id] != want {
			c.Errorf("seed %d: entry %d, dead %v: %d AUTO_UNLINK", c.seed, id, dead, unlinked[id])
		}
		if freed[id] > want {
			c.Errorf("seed %d: entry %d: %d AUTO_FREE", c.seed, id, freed[id])
		}
		if err := h.Unlink(); dead != errors.Is(err, ErrArgInvalid) {
			c.Errorf("seed %d: entry %d, dead %v: %v", c.seed, id, dead, err)
		}
	}
	if c.pts.active != 0 {
		c.Errorf("seed %d: %d operations are under way", c.seed, c.pts.active)
	}
	c.must(c.put.Release())
	c.must(c.into.Release())
}

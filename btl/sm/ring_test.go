package sm

import (
	"bytes"
	"errors"
	"sync"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/btl/btltest"
)

// fifo is the model of a ring: what was sent comes, once, in order, unchanged.
type fifo struct {
	want [][]byte // header and payload of what is on its way
	errs []string
}

func (q *fifo) Receive(peer int, hdr, payload []byte) {
	got := append(bytes.Clone(hdr), payload...)
	switch {
	case peer != 0:
		q.errs = append(q.errs, "the sender is wrong")
	case len(q.want) == 0:
		q.errs = append(q.errs, "a message came that was not sent")
	case !bytes.Equal(got, q.want[0]):
		q.errs = append(q.errs, "a message came changed or out of order")
	}
	if len(q.want) > 0 {
		q.want = q.want[1:]
	}
}

// TestRingModel sends at random into tiny rings, so that slots and data area wrap all the time and are often full.
func TestRingModel(t *testing.T) {
	var mu sync.Mutex // rapid runs one check at a time; the world's cleanup must come after
	rapid.Check(t, func(rt *rapid.T) {
		mu.Lock()
		defer mu.Unlock()
		geo := geometry{slots: uint32(8) << rapid.IntRange(0, 2).Draw(rt, "slots"), data: line * uint32(rapid.OneOf(rapid.IntRange(8, 24), rapid.IntRange(100, 200)).Draw(rt, "lines"))}
		d := newDuo(t, btltest.Config{}, geo)
		defer d.Close(t)
		q := &fifo{}
		d.Ranks[1].Dispatch.Handlers[tag] = q
		most := int(geo.data / 4) // as Open makes the data area
		c := &btltest.Completions{}
		id := uint64(0)
		sent := func(f *btl.Frag) {
			q.want = append(q.want, append(bytes.Clone(f.Header()), unsafe.Slice((*byte)(f.Data), f.Len)...))
			id++
		}
		rt.Repeat(map[string]func(*rapid.T){
			"send": func(rt *rapid.T) {
				f := btltest.NewFrag(c, tag, id, rapid.IntRange(16, btl.HeaderMax).Draw(rt, "header"), rapid.IntRange(0, most-btl.HeaderMax).Draw(rt, "payload"))
				done, err := d.ep.Send(f)
				switch {
				case err == nil && !done:
					rt.Fatal("the fragment was kept")
				case err == nil:
					sent(f)
				case !errors.Is(err, btl.ErrAgain):
					rt.Fatal(err)
				case len(q.want) == 0:
					rt.Fatal("an empty ring has no room")
				}
			},
			"inline": func(rt *rapid.T) {
				f := btltest.NewFrag(c, tag, id, 16, rapid.IntRange(0, min(most, d.ep.MaxInline())).Draw(rt, "payload"))
				h := f.Header()
				if d.ep.SendInline(tag, *(*uint64)(unsafe.Pointer(&h[0])), *(*uint64)(unsafe.Pointer(&h[8])), f.Data, f.Len) {
					sent(f)
				} else if len(q.want) == 0 {
					rt.Fatal("an empty ring has no room")
				}
			},
			"poll": func(*rapid.T) { d.to.Poll() },
			"drain": func(rt *rapid.T) {
				for d.to.Poll() > 0 {
				}
				if len(q.want) != 0 {
					rt.Fatalf("%d messages are lost", len(q.want))
				}
			},
			"jump": func(*rapid.T) { // positions near the end of their range: only while nothing is on its way
				if len(q.want) == 0 && len(d.to.rings) == 1 && d.ep.ring.pos < 1<<30 {
					d.jump(1<<32 - 5)
				}
			},
			"": func(rt *rapid.T) {
				if len(q.errs) > 0 {
					rt.Fatal(q.errs)
				}
				if n := len(d.Ranks[1].Failures()); n > 0 {
					rt.Fatalf("%d failures", n)
				}
			},
		})
	})
}

// jump moves an empty ring's positions to pos, as if so many messages had gone through it.
func (d *duo) jump(pos uint32) {
	r, c := &d.ep.ring, d.to.rings[0]
	pos = pos&^r.mask | c.pos&r.mask
	r.pos, c.pos = pos, pos
	c.tell()
	r.head, r.limit, r.free = pos, pos+r.mask+1, r.tail
	for p := pos - r.mask - 1; p != pos; p++ { // what those messages have left in the slots
		*(*uint64)(unsafe.Add(r.slots, uintptr(p&r.mask)*line)) = word(p, uint8(tag), 16, 0, kindSmall)
	}
}

// TestBadHead: a consumer that writes nonsense about what it has read cannot make the producer overwrite what it has not, or hang.
func TestBadHead(t *testing.T) {
	for _, head := range []uint32{1 << 31, ^uint32(0), 9, 3} {
		d := newDuo(t, btltest.Config{}, geometry{slots: 8, data: 256})
		f := btltest.NewFrag(&btltest.Completions{}, tag, 1, 16, 8)
		s := btltest.NewSink(0)
		d.Ranks[1].Dispatch.Handlers[tag] = s
		for range 8 {
			if _, err := d.ep.Send(f); err != nil {
				t.Fatal(err)
			}
		}
		if head == 3 { // back behind what it said before
			d.to.Poll()
			for !d.ep.ring.room() {
			}
			d.ep.ring.limit = d.ep.ring.pos
			if d.ep.ring.head <= head {
				t.Fatalf("head is %d", d.ep.ring.head)
			}
		}
		*(*uint32)(unsafe.Add(d.ep.ring.box, line)) = head
		if _, err := d.ep.Send(f); err == nil || errors.Is(err, btl.ErrAgain) {
			t.Errorf("head %d: Send gives %v, want a failure", head, err)
		}
		if d.ep.SendInline(tag, 0, 0, nil, 0) {
			t.Errorf("head %d: an inline message was taken", head)
		}
	}
}

func TestGeometry(t *testing.T) {
	for _, c := range []struct {
		g  geometry
		ok bool
	}{
		{geometry{8, 64}, true}, {geometry{1 << 16, 1 << 30}, true}, {geometry{256, 128 << 10}, true},
		{geometry{0, 64}, false}, {geometry{4, 64}, false}, {geometry{12, 64}, false}, {geometry{1 << 17, 64}, false},
		{geometry{8, 0}, false}, {geometry{8, 65}, false}, {geometry{8, 1<<30 + 64}, false}, {geometry{1 << 31, 1 << 31}, false},
	} {
		if err := c.g.valid(); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c.g, err)
		}
	}
}

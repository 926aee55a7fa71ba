package sm

import (
	"errors"
	"strings"
	"testing"
	"unsafe"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/btl/btltest"
	"github.com/ompi-go/ompi-go/shm"
)

// bounds is a handler that checks that what it is given lies in the ring's box.
type bounds struct {
	d   *duo
	t   testing.TB
	sum byte
	n   int
}

func (b *bounds) Receive(peer int, hdr, payload []byte) {
	b.n++
	size := geometry{slots: b.d.ep.ring.mask + 1, data: b.d.ep.ring.size}.boxSize()
	c := b.d.to.rings[0]
	if len(hdr) == 0 {
		hdr = nil
	} else if &hdr[0] == &c.st.hdr[0] && len(hdr) <= len(c.st.hdr) {
		hdr = unsafe.Slice((*byte)(c.slots), len(hdr)) // a stream's is the receiver's own copy
	}
	for _, s := range [][]byte{hdr, payload} {
		if len(s) == 0 {
			continue
		}
		if len(s) == 0 {
			continue
		}
		at := b.d.offset(unsafe.Pointer(unsafe.SliceData(s)))
		if at < 2*line || at > size || int64(len(s)) > size-at {
			b.t.Errorf("bytes [%d, +%d) of a box of %d were handed on", at, len(s), size)
			continue
		}
		for _, x := range s {
			b.sum += x
		}
	}
	if peer != 0 {
		b.t.Errorf("a message from rank %d", peer)
	}
}

// FuzzBox: whatever a peer writes into its ring, the receiver stays inside and either delivers or gives the peer up.
func FuzzBox(f *testing.F) {
	f.Add([]byte{0x40, 16, 8, 0}, uint64(0), uint64(0), uint64(200))
	f.Add([]byte{0x40, 40, 0, 1}, uint64(0), uint64(256), uint64(200))
	f.Add([]byte{0x40, 40, 0, 1}, uint64(256), uint64(1), uint64(200))
	f.Add([]byte{0x40, 41, 0, 1}, uint64(64), uint64(64), uint64(200))
	f.Add([]byte{0x40, 16, 41, 0}, uint64(0), uint64(0), uint64(200))
	f.Add([]byte{0x40, 255, 255, 0}, uint64(0), uint64(0), uint64(200))
	f.Add([]byte{0x40, 64, 0, 2, 0x40, 200, 0, 2}, uint64(0), uint64(100), uint64(200))
	f.Add([]byte{0x41, 16, 8, 0}, uint64(0), uint64(0), uint64(200))
	f.Add([]byte{0x40, 16, 8, 2, 0x40, 16, 8, 0}, ^uint64(0), ^uint64(0)-5, uint64(200))
	f.Add([]byte{0x40, 16, 0, 3, 0x40, 0, 0, 4, 0x40, 0, 0, 4}, uint64(0), uint64(80), uint64(240))
	f.Add([]byte{0x40, 16, 0, 2, 0x40, 0, 0, 3, 0x40, 0, 0, 3}, uint64(0), uint64(80), uint64(240))
	f.Add([]byte{0x40, 16, 0, 2, 0x40, 16, 0, 2}, uint64(16), uint64(80), uint64(240))
	f.Add([]byte{0x40, 16, 0, 2}, uint64(256), uint64(0), uint64(0))
	f.Add([]byte{0, 0, 0, kindHelp, 0, 0, 0, kindHelp}, uint64(1024), uint64(2), uint64(4096))
	f.Add([]byte{0, 0, 0, kindHelp}, uint64(4)<<32, uint64(2), uint64(4096))
	f.Fuzz(func(t *testing.T, words []byte, pos, n, total uint64) {
		d := newDuo(t, btltest.Config{}, geometry{slots: 8, data: 256})
		d.connect(t)
		h := &bounds{d: d, t: t}
		d.Ranks[1].Dispatch.Handlers[tag] = h
		r := &d.ep.ring
		slots := min(len(words)/4, 8)
		pieces := false // several slots may make one message, or none
		for i := range slots {
			w := words[4*i:]
			at := unsafe.Add(r.slots, i*line)
			*(*uint64)(unsafe.Add(at, posAt)), *(*uint64)(unsafe.Add(at, lenAt)), *(*uint64)(unsafe.Add(at, totalAt)) = pos, n, total
			pieces = pieces || w[3] == kindStream || w[3] == kindMore || w[3] == kindHelp
			*(*uint64)(at) = uint64(i+1) | uint64(w[0])<<32 | uint64(w[1])<<40 | uint64(w[2])<<48 | uint64(w[3])<<56
		}
		d.Ranks[1].Do(func() {
			d.to.Poll()
			d.to.Poll()
		})
		failed := len(d.Ranks[1].Failures())
		if h.n+failed < slots && failed == 0 && !pieces || failed > 1 {
			t.Errorf("of %d slots %d were delivered, %d failures", slots, h.n, failed)
		}
		if (failed == 1) != (len(d.to.rings) == 0) {
			t.Errorf("%d failures, listening to %d rings", failed, len(d.to.rings))
		}
	})
}

// TestGarbage: what no peer of ours would write ends the endpoint with an error that says so.
func TestGarbage(t *testing.T) {
	slot := func(w uint64, pos, n uint64) func(*duo) {
		return func(d *duo) {
			at := d.ep.ring.slots
			*(*uint64)(unsafe.Add(at, posAt)), *(*uint64)(unsafe.Add(at, lenAt)) = pos, n
			*(*uint64)(at) = w
		}
	}
	for _, c := range []struct {
		name  string
		write func(*duo)
	}{
		{"an unknown kind", slot(word(0, uint8(tag), 16, 8, 9), 0, 0)},
		{"a piece of nothing", slot(word(0, uint8(tag), 0, 0, kindMore), 0, 8)},
		{"a stream longer than what it announces", slot(word(0, uint8(tag), 16, 0, kindStream), 0, 8)},
		{"help with nothing", slot(word(0, 0, 0, 0, kindHelp), 0, 0)},
		{"an unknown tag", slot(word(0, uint8(tag)+1, 16, 8, kindSmall), 0, 0)},
		{"too much in a slot", slot(word(0, uint8(tag), 16, 41, kindSmall), 0, 0)},
		{"a header over the position", slot(word(0, uint8(tag), 41, 0, kindData), 0, 8)},
		{"data beyond the area", slot(word(0, uint8(tag), 16, 0, kindData), 64, 193)},
		{"a header longer than its data", slot(word(0, uint8(tag), 60, 0, kindLong), 64, 59)},
		{"a long header beyond the area", slot(word(0, uint8(tag), 60, 0, kindLong), 200, 60)},
		{"data from beyond", slot(word(0, uint8(tag), 16, 0, kindData), 257, 0)},
		{"a length that wraps", slot(word(0, uint8(tag), 16, 0, kindData), 64, ^uint64(0)-10)},
	} {
		d := newDuo(t, btltest.Config{}, geometry{slots: 8, data: 256})
		d.connect(t)
		d.Ranks[1].Dispatch.Handlers[tag] = btltest.NewSink(0)
		c.write(d)
		d.Ranks[1].Poll()
		f := d.Ranks[1].Failures()
		if len(f) != 1 || f[0].Rank != 0 || !f[0].Dead || !strings.Contains(f[0].Cause.Error(), "garbage") {
			t.Errorf("%s: failures %+v", c.name, f)
		}
		d.Ranks[1].Poll()
		if len(d.Ranks[1].Failures()) != 1 {
			t.Errorf("%s: the peer is listened to still", c.name)
		}
	}
}

// TestBadOffer: a ring that cannot be is not listened to.
func TestBadOffer(t *testing.T) {
	for _, how := range []struct {
		name string
		shm  bool
	}{{"Heap", false}, {"Mapped", true}} {
		t.Run(how.name, func(t *testing.T) {
			cfg := btltest.Config{}
			if how.shm {
				cfg.Shm = mapped(shm.Options{Attach: "auto"})
			}
			for _, g := range []geometry{{0, 0}, {8, 63}, {9, 64}, {1 << 16, 1 << 30}, {^uint32(0), ^uint32(0)}} {
				d := newDuo(t, cfg, geometry{})
				d.Ranks[0].Do(func() {
					p, box, err := d.ep.m.shm.AllocAt(d.ep.peer, line)
					if err != nil {
						t.Fatal(err)
					}
					*(*geometry)(box) = g
					d.ep.m.shm.Offer(d.ep.peer, p)
				})
				d.Until(t, "the offer's refusal", func() bool { return len(d.Ranks[1].Failures()) == 1 })
				if len(d.to.rings) != 0 {
					t.Errorf("%+v: listening to it", g)
				}
			}
			for _, p := range []shm.Piece{^shm.Piece(0), 1 << 63, 1 << 40, 12345} {
				d := newDuo(t, cfg, geometry{})
				d.Ranks[0].Do(func() { d.ep.m.shm.Offer(d.ep.peer, p) })
				d.Until(t, "the offer's refusal", func() bool { return len(d.Ranks[1].Failures()) == 1 })
			}
			d := newDuo(t, cfg, geometry{})
			d.connect(t)
			d.Ranks[0].Do(func() { _ = d.ep.connect() }) // one more
			d.Until(t, "the second ring's refusal", func() bool { return len(d.Ranks[1].Failures()) == 1 })
			if len(d.to.rings) != 1 {
				t.Errorf("listening to %d rings", len(d.to.rings))
			}
		})
	}
}

// TestGetBounds: a handle says what may be read, and no more is.
func TestGetBounds(t *testing.T) {
	for _, how := range []struct {
		name string
		cfg  btltest.Config
	}{{"Heap", btltest.Config{}}, {"Mapped", btltest.Config{Shm: mapped(shm.Options{Attach: "auto"})}}} {
		t.Run(how.name, func(t *testing.T) {
			d := newDuo(t, how.cfg, geometry{})
			mem := []byte("0123456789")
			h, err := d.to.Register(unsafe.Pointer(&mem[0]), 10)
			if err != nil {
				t.Fatal(err)
			}
			got := make([]byte, 20)
			if _, err := d.ep.Get(&btl.Transfer{Local: unsafe.Pointer(&got[0]), N: 4, Remote: h, Off: 6}); err != nil || string(got[:4]) != "6789" {
				t.Fatalf("Get: %q, %v", got[:4], err)
			}
			for _, c := range []struct{ n, off int64 }{{5, 6}, {11, 0}, {1, 10}, {-1, 0}, {1, -1}, {1 << 62, 1 << 62}} {
				if _, err := d.ep.Get(&btl.Transfer{Local: unsafe.Pointer(&got[0]), N: c.n, Remote: h, Off: c.off}); err == nil {
					t.Errorf("Get of [%d, +%d) of 10 bytes", c.off, c.n)
				}
			}
		})
	}
}

// TestBadHeadTold: a receiver that says it has read what was never written is given up, as soon as the sender looks, also by those who
// only receive from it.
func TestBadHeadTold(t *testing.T) {
	d := newDuo(t, btltest.Config{}, geometry{slots: 8, data: 256})
	d.connect(t)
	*(*uint32)(unsafe.Add(d.ep.ring.box, line)) = 1 << 20
	var err error
	for range 9 {
		d.Ranks[0].Do(func() { _, err = d.ep.Send(btltest.NewFrag(&btltest.Completions{}, tag, 0, 16, 0)) })
	}
	if err == nil || errors.Is(err, btl.ErrAgain) || len(d.Ranks[0].Failures()) != 0 {
		t.Errorf("Send into a ring whose head is wrong: %v; failures from inside Send: %v", err, d.Ranks[0].Failures())
	}
	d.Until(t, "the failure", func() bool { return len(d.Ranks[0].Failures()) == 1 })
	if f := d.Ranks[0].Failures()[0]; f.Rank != 1 || !f.Dead || !strings.Contains(f.Cause.Error(), "garbage") {
		t.Errorf("failure %+v", f)
	}
	d.Ranks[0].Do(func() { _, err = d.ep.Send(btltest.NewFrag(&btltest.Completions{}, tag, 0, 16, 0)) })
	d.Poll()
	if err == nil || len(d.Ranks[0].Failures()) != 1 {
		t.Errorf("afterwards: %v, failures %v", err, d.Ranks[0].Failures())
	}
}

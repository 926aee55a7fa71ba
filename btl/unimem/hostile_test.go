package unimem

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/btl/btltest"
	"github.com/ompi-go/ompi-go/unimem"
)

// duo is two ranks: the first is ours to misuse, the second is looked at.
type duo struct {
	*btltest.World
	from, to *link // rank 0's to 1, rank 1's to 0
	ep       btl.Endpoint
	got      []string
}

// Receive implements btl.Handler.
func (d *duo) Receive(peer int, hdr, payload []byte) { d.got = append(d.got, string(payload)) }

func newDuo(t testing.TB, params map[string]string) *duo {
	t.Helper()
	cfg := config(heap(), map[string]string{"btl_unimem_memory": "2m"})
	for k, v := range params {
		cfg.Params[k] = v
	}
	d := &duo{World: btltest.NewWorld(t, cfg, 2)}
	d.from, d.to = d.Ranks[0].Module.(*module).links[1], d.Ranks[1].Module.(*module).links[0]
	d.ep = d.Ranks[0].Endpoints[1]
	d.Ranks[1].Dispatch.Handlers[tag] = d
	return d
}

// TestHostileMessages: what no peer of ours would send fails the peer, and harms nobody.
func TestHostileMessages(t *testing.T) {
	word := func(f frame) unimem.Message { return f.message() }
	for name, msgs := range map[string][]unimem.Message{
		"no kind":                {{0, 1, 2}},
		"unknown kind":           {{7, 1, 2}},
		"inline without handler": {{inlineWord(0x99, 0, 0), 0, 0}},
		"inline too long":        {{inlineWord(uint8(tag), 31, 0), 0, 0}, {}},
		"RTS of a far buffer":    {word(frame{kind: kindRTS, a: 8})},
		"RTS too long":           {word(frame{kind: kindRTS, n: 1 << 30})},
		"RTS header too long":    {word(frame{kind: kindRTS, hdrLen: 64, n: 63})},
		"CTS unasked":            {word(frame{kind: kindCTS})},
		"CTS of a far buffer":    {word(frame{kind: kindCTS, a: 1 << 40})},
		"DONE unasked":           {word(frame{kind: kindDone})},
		"DONE of a far buffer":   {word(frame{kind: kindDone, n: 1 << 30})},
		"DONE without handler":   {word(frame{kind: kindRTS, tag: 0x99}), word(frame{kind: kindDone})},
		"EAGER out of order":     {word(frame{kind: kindEager, tag: uint8(tag), a: 1})},
		"EAGER too long":         {word(frame{kind: kindEager, tag: uint8(tag), n: 1 << 20})},
		"EAGER header too long":  {word(frame{kind: kindEager, tag: uint8(tag), hdrLen: 9, n: 8})},
		"CREDIT unasked":         {word(frame{kind: kindCredit, n: 1})},
		"CREDIT overflow":        {word(frame{kind: kindCredit, n: ^uint32(0)})},
	} {
		d := newDuo(t, nil)
		d.Ranks[0].Do(func() {
			for i := range msgs {
				d.from.peer.Out.Put(&msgs[i])
			}
			d.from.wake()
		})
		d.Until(t, name, func() bool { return len(d.Ranks[1].Failures()) == 1 })
		if f := d.Ranks[1].Failures()[0]; f.Rank != 0 || !f.Dead || !strings.Contains(f.Cause.Error(), "no sense") {
			t.Errorf("%s: %+v", name, f)
		}
		if len(d.got) != 0 {
			t.Errorf("%s: delivered %q", name, d.got)
		}
		d.Ranks[1].Do(func() {
			if _, err := d.Ranks[1].Endpoints[0].Send(btltest.NewFrag(nil, tag, 0, 16, 0)); err == nil || errors.Is(err, btl.ErrAgain) {
				t.Errorf("%s: a later Send: %v", name, err)
			}
		})
	}
	// More requests than there are buffers.
	d := newDuo(t, nil)
	d.Ranks[0].Do(func() {
		for range 9 {
			m := word(frame{kind: kindRTS, n: 1})
			d.from.peer.Out.Put(&m)
		}
		d.from.wake()
	})
	d.Until(t, "the failure", func() bool { return len(d.Ranks[1].Failures()) == 1 })
}

// TestHostileCTS: a receiver cannot have a message written outside of its memory, nor twice.
func TestHostileCTS(t *testing.T) {
	for name, at := range map[string]uint64{"beyond": 2 << 20, "across the end": 2<<20 - 1, "far": 1 << 63, "most": ^uint64(0)} {
		d := newDuo(t, off("eager", "inline"))
		comp := &btltest.Completions{}
		d.Ranks[0].Do(func() {
			if _, err := d.ep.Send(btltest.NewFrag(comp, tag, 0, 16, 8)); err != nil {
				t.Fatal(err)
			}
		})
		d.Ranks[1].Do(func() {
			m := frame{kind: kindCTS, a: 0, b: at}.message()
			d.to.peer.Out.Put(&m)
			d.to.wake()
		})
		d.Until(t, name, func() bool { return len(d.Ranks[0].Failures()) == 1 })
	}
}

// TestHostileHead: a peer that says it has read what was never sent is given up by who sends to it.
func TestHostileHead(t *testing.T) {
	d := newDuo(t, nil)
	m := d.Ranks[0].Module.(*module)
	base, err := m.shm.At(1, 1, m.cfg.Size())
	if err != nil {
		t.Fatal(err)
	}
	// Rank 1's mailbox of rank 0 is the first, behind two lines and the table; it begins with the head.
	*(*uint32)(unsafe.Add(base, 2*64+4096*32)) = 1 << 20
	for range 1000 {
		d.Ranks[0].Do(func() { d.ep.(btl.InlineSender).SendInline(tag, 0, 0, nil, 0) })
	}
	if n := len(d.Ranks[0].Failures()); n != 0 {
		t.Errorf("%d failures from inside SendInline", n)
	}
	d.Until(t, "the failure", func() bool { return len(d.Ranks[0].Failures()) == 1 })
}

// FuzzMessages throws anything at a rank's mailbox; it may give the peer up, but nothing else happens.
func FuzzMessages(f *testing.F) {
	for _, m := range []unimem.Message{
		frame{kind: kindRTS, tag: uint8(tag), hdrLen: 16, n: 64}.message(), frame{kind: kindDone}.message(),
		frame{kind: kindEager, tag: uint8(tag), hdrLen: 16, n: 64}.message(), {inlineWord(uint8(tag), 30, 5), 1, 2},
	} {
		var b []byte
		for range 2 {
			for _, w := range m {
				b = binary.LittleEndian.AppendUint64(b, w)
			}
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		d := newDuo(t, nil)
		d.Ranks[1].Do(func() {
			for ; len(b) >= 24 && d.to.dead == nil; b = b[24:] {
				m := unimem.Message{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[16:])}
				if !d.to.handle(&m) {
					d.to.fail(errors.New("refused"))
				}
			}
		})
		for _, p := range d.got {
			if len(p) > 64<<10 {
				t.Errorf("delivered %d bytes", len(p))
			}
		}
	})
}

// TestDmableUser: a payload in dmable memory is read where it is, and belongs to the BTL until then.
func TestDmableUser(t *testing.T) {
	for _, eager := range []string{"true", "false"} {
		d := newDuo(t, map[string]string{"btl_unimem_eager": eager, "btl_unimem_inline": "false", "btl_unimem_dma_burst": "64"})
		data := dmable(t, d.Ranks[0], 2000)
		copy(data, strings.Repeat("abcdefgh", 250))
		comp := &btltest.Completions{}
		f := &btl.Frag{Owner: comp, Tag: tag, HdrLen: 16, Len: 2000, Data: unsafe.Pointer(&data[0])}
		d.Ranks[0].Do(func() {
			if done, err := d.ep.Send(f); done || err != nil {
				t.Errorf("done %v, %v", done, err)
			}
		})
		d.Until(t, "the message", func() bool { return len(d.got) == 1 && comp.Done == 1 })
		if d.got[0] != string(data) || len(comp.Errs) > 0 {
			t.Errorf("got %q, %v", d.got[0], comp.Errs)
		}
	}
}

// TestFailureGivesBack: what a peer's failure interrupts is given back, once.
func TestFailureGivesBack(t *testing.T) {
	d := newDuo(t, map[string]string{"btl_unimem_dma_burst": "64", "btl_unimem_inline": "false"})
	data, remote := dmable(t, d.Ranks[0], 3000), dmable(t, d.Ranks[1], 3000)
	comp, end := &btltest.Completions{}, &ended{}
	var h btl.MemHandle
	d.Ranks[1].Do(func() {
		var err error
		if h, err = d.Ranks[1].Module.(btl.Registrar).Register(unsafe.Pointer(&remote[0]), 3000); err != nil {
			t.Fatal(err)
		}
	})
	user := make([]byte, 3000)
	d.Ranks[0].Do(func() {
		f := &btl.Frag{Owner: comp, Tag: tag, HdrLen: 16, Len: 3000, Data: unsafe.Pointer(&data[0])}
		if done, err := d.ep.Send(f); done || err != nil {
			t.Fatalf("Send: %v, %v", done, err)
		}
		for _, mem := range [][]byte{data, user} {
			if done, err := d.ep.(btl.Getter).Get(&btl.Transfer{Owner: end, Local: unsafe.Pointer(&mem[0]), N: 3000, Remote: h}); done || err != nil {
				t.Fatalf("Get: %v, %v", done, err)
			}
		}
		d.from.fail(errors.New("it is gone"))
		d.from.fail(errors.New("again"))
	})
	for range 100 {
		d.Ranks[0].Poll()
	}
	if comp.Done != 1 || len(comp.Errs) != 1 || len(end.errs) != 2 || end.errs[0] == nil || len(d.Ranks[0].Failures()) != 1 {
		t.Errorf("completions %d %v, transfers %v, failures %v", comp.Done, comp.Errs, end.errs, d.Ranks[0].Failures())
	}
	d.Ranks[0].Do(func() {
		if _, err := d.ep.(btl.Getter).Get(&btl.Transfer{Owner: end, Local: unsafe.Pointer(&data[0]), N: 1, Remote: h}); err == nil {
			t.Error("Get from a failed peer")
		}
	})
}

type ended struct{ errs []error }

// TransferDone implements btl.Transferrer.
func (e *ended) TransferDone(_ *btl.Transfer, err error) { e.errs = append(e.errs, err) }

// TestRegisterUser: user memory is not dmable, and says so; without an owner a transfer is over at once.
func TestRegisterUser(t *testing.T) {
	d := newDuo(t, map[string]string{"btl_unimem_dma_burst": "64"})
	user := make([]byte, 300000)
	remote := dmable(t, d.Ranks[1], 300000)
	remote[299999] = 5
	var h btl.MemHandle
	d.Ranks[1].Do(func() {
		reg := d.Ranks[1].Module.(btl.Registrar)
		if _, err := reg.Register(unsafe.Pointer(&user[0]), 10); !errors.Is(err, btl.ErrNotSupported) {
			t.Errorf("Register of user memory: %v", err)
		}
		h, _ = reg.Register(unsafe.Pointer(&remote[0]), 300000)
	})
	d.Ranks[0].Do(func() {
		if done, err := d.ep.(btl.Getter).Get(&btl.Transfer{Local: unsafe.Pointer(&user[0]), N: 300000, Remote: h}); !done || err != nil || user[299999] != 5 {
			t.Errorf("Get into user memory: %v, %v", done, err)
		}
	})
}

// TestPeerTimeout: a peer that does not poll is given up, one that has left is not.
func TestPeerTimeout(t *testing.T) {
	params := map[string]string{"btl_unimem_peer_timeout": "40ms"}
	d := newDuo(t, params)
	start := time.Now()
	for len(d.Ranks[0].Failures()) == 0 && time.Since(start) < btltest.Patience {
		d.Ranks[0].Poll() // and rank 1 does not
	}
	if f := d.Ranks[0].Failures(); len(f) != 1 || f[0].Rank != 1 || !f[0].Dead || !strings.Contains(f[0].Cause.Error(), "btl_unimem_peer_timeout") {
		t.Errorf("failures %+v", f)
	}
	d = newDuo(t, params)
	d.CloseRank(t, 1, true)
	for start := time.Now(); time.Since(start) < 120*time.Millisecond; {
		d.Ranks[0].Poll()
	}
	if f := d.Ranks[0].Failures(); len(f) != 0 {
		t.Errorf("a rank that has left: %+v", f)
	}
}

// TestRegistrationsKept: with the cache the same buffers cost one registration, without it one each.
func TestRegistrationsKept(t *testing.T) {
	for _, kept := range []string{"true", "false"} {
		d := newDuo(t, map[string]string{"btl_unimem_rcache": kept, "btl_unimem_eager": "false", "btl_unimem_inline": "false"})
		base := d.from.m.dev.Registrations()
		for i := range 10 {
			d.Ranks[0].Do(func() {
				if _, err := d.ep.Send(btltest.NewFrag(&btltest.Completions{}, tag, uint64(i), 16, 100)); err != nil {
					t.Fatal(err)
				}
			})
			d.Until(t, "the message", func() bool { return len(d.got) > i })
		}
		if n := d.from.m.dev.Registrations() - base; (kept == "true") != (n == 1) || (kept == "false") != (n == 10) {
			t.Errorf("rcache %s: %d registrations for 10 messages", kept, n)
		}
	}
}

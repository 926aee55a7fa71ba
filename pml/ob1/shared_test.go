package ob1

import (
	"errors"
	"testing"
	"unsafe"

	"github.com/ompi-go/ompi-go/bml"
	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
)

// sharer is a module all of whose memory is shared, or none, or which registers nothing.
type sharer struct {
	shared bool
	err    error
	open   int
}

func (s *sharer) Register(unsafe.Pointer, int64) (btl.MemHandle, error) {
	if s.err == nil {
		s.open++
	}
	return btl.MemHandle{A: 5, B: 7}, s.err
}
func (s *sharer) Deregister(btl.MemHandle)      { s.open-- }
func (s *sharer) IsShared(h btl.MemHandle) bool { return s.shared }

type getter struct{ btl.Getter }

// TestOfferShared: shared memory is offered where other memory is not any more, until it has been refused, too.
func TestOfferShared(t *testing.T) {
	mem := make([]byte, 10000)
	typ, err := datatype.For[byte]()
	if err != nil {
		t.Fatal(err)
	}
	buf := core.MakeBuffer(unsafe.Pointer(&mem[0]), int64(len(mem)), typ)
	for _, c := range []struct {
		name       string
		mod        sharer
		change     func(p *bml.Path)
		total      int64
		contiguous bool
		want       bool
	}{
		{"shared", sharer{shared: true}, func(*bml.Path) {}, 10000, true, true},
		{"not shared", sharer{}, func(*bml.Path) {}, 10000, true, false},
		{"no registration", sharer{shared: true, err: errors.New("none")}, func(*bml.Path) {}, 10000, true, false},
		{"all can be fetched", sharer{shared: true}, func(p *bml.Path) { p.NoGet = false }, 10000, true, false},
		{"refused before", sharer{shared: true}, func(p *bml.Path) { p.NoShared = true }, 10000, true, false},
		{"no Get", sharer{shared: true}, func(p *bml.Path) { p.Get = nil }, 10000, true, false},
		{"no Sharer", sharer{shared: true}, func(p *bml.Path) { p.Shares = nil }, 10000, true, false},
		{"small", sharer{shared: true}, func(*bml.Path) {}, 4000, true, false},
		{"with gaps", sharer{shared: true}, func(*bml.Path) {}, 10000, false, false},
	} {
		p := &bml.Path{Get: getter{}, Shares: &c.mod, Reg: &c.mod, NoGet: true}
		c.change(p)
		s := &sendReq{path: p, peer: &peer{}, total: c.total}
		l := &limits{eager: 4000, can: canGet | getRefused, wish: protoAuto}
		if p.Get == nil {
			l.can &^= canGet
		}
		if got := s.offerShared(buf, c.contiguous, l); got != c.want {
			t.Errorf("%s: offered %v", c.name, got)
		}
		if open := c.mod.open == 1; open != c.want || c.want && s.mem != (btl.MemHandle{A: 5, B: 7}) {
			t.Errorf("%s: %d registrations are left, handle %x", c.name, c.mod.open, s.mem)
		}
	}
}

// TestNoGet: a refusal is about the kind of memory that was offered.
func TestNoGet(t *testing.T) {
	for _, shared := range []bool{false, true} {
		p := &bml.Path{Shares: &sharer{shared: shared}}
		noGet(p, btl.MemHandle{})
		if p.NoGet == shared || p.NoShared != shared {
			t.Errorf("shared %v: %v, %v", shared, p.NoGet, p.NoShared)
		}
	}
	p := &bml.Path{}
	if noGet(p, btl.MemHandle{}); !p.NoGet {
		t.Error("without a Sharer")
	}
}

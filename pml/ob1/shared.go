package ob1

import (
	"github.com/ompi-go/ompi-go/bml"
	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
)

// Some memory every peer of a BTL can read, also one that cannot read other memory of this rank (btl.Sharer). So there are two things
// that a path may have turned out not to be able to: Path.NoGet is about the one, Path.NoShared about the other.

// offerShared registers the buffer of a message that is to be fetched if it lies in such memory, though the peer cannot fetch others.
func (s *sendReq) offerShared(buf core.Buffer, contiguous bool, l *limits) bool {
	p := s.path
	if p.Shares == nil || !p.NoGet || p.NoShared || !fetchable(s.total, contiguous, s.peer.differs, s.mode, l) {
		return false
	}
	h, err := p.Shares.Register(buf.Addr(), s.total)
	if err != nil {
		return false
	}
	if !p.Shares.IsShared(h) {
		p.Shares.Deregister(h)
		return false
	}
	s.mem = h
	return true
}

// noGet notes what a peer found that it cannot fetch.
func noGet(p *bml.Path, h btl.MemHandle) {
	if p.Shares != nil && p.Shares.IsShared(h) {
		p.NoShared = true
		return
	}
	p.NoGet = true
}

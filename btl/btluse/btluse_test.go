package btluse

import (
	"strings"
	"testing"

	"github.com/ompi-go/ompi-go/btl"
)

// TestPeer: ranks that there are not, and one that no BTL reaches, are errors.
func TestPeer(t *testing.T) {
	s := &Session{Env: &btl.Env{Refused: []string{"tcp: no address"}}, peers: make([]Peer, 2)}
	for rank, want := range map[int]string{-1: "rank -1 of a job of 2", 2: "rank 2 of a job of 2", 1: "no BTL reaches rank 1 (tcp: no address)"} {
		if _, err := s.Peer(rank); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("rank %d: %v, want %q", rank, err, want)
		}
		if err := s.Send(rank, 1, nil, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("sending to rank %d: %v, want %q", rank, err, want)
		}
	}
}

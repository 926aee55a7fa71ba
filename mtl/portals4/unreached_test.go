package portals4

import (
	"strings"
	"testing"

	"github.com/ompi-go/ompi-go/mtl/mtltest"
)

// TestUnreached: the send to a process that no NAL reaches is an error, though a short one is over when it is copied.
func TestUnreached(t *testing.T) {
	w := mtltest.NewWorld(t, mtltest.Config{Component: component{}, Params: map[string]string{"portals4_nal": "^local,shm,tcp,udp"}}, 2)
	s := &stream{rank: w.Ranks[0], to: 1, n: 1, size: 16, buf: make([]byte, 16)}
	s.next()
	if s.err == nil || !strings.Contains(s.err.Error(), "no nal reaches rank 1") {
		t.Errorf("the error is %v", s.err)
	}
}

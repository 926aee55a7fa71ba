package portals4

import (
	"errors"
	"testing"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mtl/mtltest"
)

// TestOverflowAfterDeath: recovery needs all ranks. Without one of them an overflow ends sends with an error, and does not hang; with credit there is none.
func TestOverflowAfterDeath(t *testing.T) {
	for _, mode := range []string{"recovery", "credit"} {
		w := mtltest.NewWorld(t, mtltest.Config{Component: component{}, Params: map[string]string{"mtl_portals4_flow_control": mode,
			"mtl_portals4_max_unexpected_headers": "64", "mtl_portals4_short_recv_num": "2", "mtl_portals4_short_recv_size": "8k"}}, 3)
		s := &stream{rank: w.Ranks[1], to: 0, n: 1000, size: 100, buf: make([]byte, 100)}
		w.Poll()
		w.Die(2)
		for still := 0; still < 50; still++ {
			if s.next() {
				still = 0
			}
			w.Poll()
		}
		if mode == "recovery" && !errors.Is(s.err, core.ErrProcFailed) || mode == "credit" && s.err != nil {
			t.Errorf("%s: %d messages sent, the error is %v", mode, s.sent, s.err)
		}
		if mode == "recovery" {
			continue
		}
		in := &sink{t: t, rank: w.Ranks[0], buf: make([]byte, 100), seen: make([]uint32, 3)}
		w.Until(t, "all messages", func() bool {
			for s.next() {
			}
			if !in.busy && in.got < s.n {
				in.next(1)
			}
			return in.got == s.n
		})
	}
}

package sm

import (
	"errors"
	"testing"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/btl/btltest"
)

// counting counts payload bytes.
type counting struct{ n int }

func (c *counting) Receive(_ int, _, payload []byte) { c.n += len(payload) }

// TestTurns: ranks that share a core run in turns, one fills the ring and the other empties it. Each turn moves at least half of what the
// ring holds, whatever the size of the fragments: what is read and not yet told of, and what is left over where the data area ends, take
// no more. With less a job on crowded cores, where turns are far apart, would seem to hang.
func TestTurns(t *testing.T) {
	const size = 128 << 10
	for _, n := range []int{100, 4096, 8<<10 + 1, 20_000, 24<<10 + 64, 32<<10 - 32} {
		d := newDuo(t, btltest.Config{}, geometry{slots: 4096, data: size})
		d.connect(t)
		got := &counting{}
		d.Ranks[1].Dispatch.Handlers[tag] = got
		f := btltest.NewFrag(&btltest.Completions{}, tag, 1, 16, n)
		for turn := range 100 {
			before := got.n
			for {
				if _, err := d.ep.Send(f); errors.Is(err, btl.ErrAgain) {
					break
				} else if err != nil {
					t.Fatal(err)
				}
			}
			for d.to.Poll() > 0 {
			}
			if moved := got.n - before; moved < size/2 {
				t.Fatalf("fragments of %d bytes: turn %d moves %d of %d", n, turn, moved, size)
			}
		}
	}
}

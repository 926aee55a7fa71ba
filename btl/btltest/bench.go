package btltest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"testing"
	"unsafe"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/progress"
)

// Benchmark measures latency, message rate and bandwidth between two ranks, each driven by a goroutine of its own. Numbers mean
// something on idle cores only.
func Benchmark(b *testing.B, cfg Config) {
	cfg.Hot = true
	for _, n := range []int{8, 1024} {
		b.Run(fmt.Sprintf("PingPong/%d", n), func(b *testing.B) { benchPingPong(b, cfg, n) })
	}
	b.Run("Rate/8", func(b *testing.B) { benchRate(b, cfg, 8) })
	for _, n := range []int{64 << 10, 256 << 10, 1 << 20, 4 << 20} {
		b.Run(fmt.Sprintf("Bandwidth/%d", n), func(b *testing.B) { benchBandwidth(b, cfg, n) })
	}
}

// player is a rank of a benchmark: it counts what comes and answers from its own goroutine.
type player struct {
	r     *Rank
	ep    btl.Endpoint
	in    btl.InlineSender
	got   int
	want  int
	frags int
	dst   []byte
}

func (p *player) Receive(int, []byte, []byte)            { p.got++ }
func (p *player) Place(_ int, _ []byte, n int) []byte    { return p.dst[:n] }
func (p *player) Placed(_ int, _ []byte, _ int, _ error) { p.got++ }
func (p *player) FragDone(*btl.Frag, error)              { p.frags-- }
func (p *player) Done() bool                             { return p.got >= p.want }
func (p *player) wait(n int)                             { p.want = n; p.r.Engine.WaitLocked(p) }
func (p *player) again() bool                            { p.r.Engine.Poll(); return true }
func (p *player) inline(buf []byte) {
	for !p.in.SendInline(tag, 1, 2, unsafe.Pointer(&buf[0]), len(buf)) {
		p.again()
	}
}

var _ progress.Cond = (*player)(nil)

func (p *player) send(f *btl.Frag) error {
	for {
		done, err := p.ep.Send(f)
		if err == nil {
			if !done {
				p.frags++
			}
			return nil
		}
		if !errors.Is(err, btl.ErrAgain) {
			return err
		}
		p.again()
	}
}

func players(b *testing.B, cfg Config) (a, z *player) {
	b.Helper()
	w := NewWorld(b, cfg, 2)
	var out [2]*player
	for i, r := range w.Ranks {
		out[i] = &player{r: r, ep: r.Endpoints[1-i], dst: make([]byte, r.Module.Limits().MaxSend)}
		out[i].in, _ = out[i].ep.(btl.InlineSender)
		r.Dispatch.Handlers[tag] = out[i]
	}
	// Connect before the clock runs.
	f := NewFrag(out[0], tag, 0, 16, 0)
	w.Until(b, "the connection", func() bool {
		out[0].r.Engine.Lock()
		defer out[0].r.Engine.Unlock()
		done, err := out[0].ep.Send(f)
		if err == nil && !done {
			out[0].frags++
		}
		return err == nil
	})
	w.Until(b, "the first message", func() bool { return out[1].got == 1 })
	out[1].got = 0
	return out[0], out[1]
}

// both runs f on one goroutine and g on another, each with its rank's token.
func both(a, z *player, f, g func()) {
	done := make(chan struct{})
	go func() {
		z.r.Do(g)
		close(done)
	}()
	a.r.Do(f)
	<-done
}

func benchPingPong(b *testing.B, cfg Config, n int) {
	a, z := players(b, cfg)
	if a.in == nil || n > a.in.MaxInline() {
		b.Skip("no inline messages of this size")
	}
	data, back := make([]byte, n), make([]byte, n)
	b.ResetTimer()
	both(a, z, func() {
		for i := range b.N {
			a.inline(data)
			a.wait(i + 1)
		}
	}, func() {
		for i := range b.N {
			z.wait(i + 1)
			z.inline(back)
		}
	})
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/2, "ns/half-trip")
}

func benchRate(b *testing.B, cfg Config, n int) {
	a, z := players(b, cfg)
	if a.in == nil {
		b.Skip("no inline messages")
	}
	data := make([]byte, n)
	b.ResetTimer()
	both(a, z, func() {
		for range b.N {
			a.inline(data)
		}
		a.wait(1)
	}, func() {
		z.wait(b.N)
		z.inline(data)
	})
}

func benchBandwidth(b *testing.B, cfg Config, n int) {
	a, z := players(b, cfg)
	step := int(a.r.Module.Limits().MaxSend) - 32
	src := make([]byte, n)
	frags := make([]*btl.Frag, 0, n/step+1)
	for off := 0; off < n; off += step {
		f := &btl.Frag{Owner: a, Tag: tag, HdrLen: 32, Len: min(step, n-off), Data: unsafe.Pointer(&src[off])}
		binary.LittleEndian.PutUint64(f.Hdr[:], uint64(off))
		frags = append(frags, f)
	}
	b.SetBytes(int64(n))
	b.ResetTimer()
	both(a, z, func() {
		for range b.N {
			for _, f := range frags {
				if err := a.send(f); err != nil {
					b.Error(err)
					return
				}
				for a.frags > 0 && len(frags) == 1 { // the fragment is needed again
					a.again()
				}
			}
			for a.frags > 0 {
				a.again()
			}
		}
		a.wait(1)
	}, func() {
		z.wait(b.N * len(frags))
		if err := z.send(&btl.Frag{Owner: z, Tag: tag, HdrLen: 16}); err != nil {
			b.Error(err)
		}
		for z.frags > 0 {
			z.again()
		}
	})
}

package udp

import (
	"bytes"
	"strings"
	"testing"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/btl/btltest"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/progress"
	"github.com/ompi-go/ompi-go/rte"
)

// collector keeps what is delivered, as frames again; it places large payloads.
type collector struct {
	b       []byte
	placing int
}

func (k *collector) Receive(_ int, hdr, payload []byte) {
	var head [frameSize]byte
	f := frame{kind: frameActive, tag: tag, hdrLen: uint8(len(hdr)), length: uint32(len(payload))}
	f.put(head[:])
	k.b = append(append(append(k.b, head[:]...), hdr...), payload...)
}

func (k *collector) Place(_ int, hdr []byte, n int) []byte {
	k.placing++
	k.Receive(0, hdr, make([]byte, n))
	return k.b[len(k.b)-n:]
}

func (k *collector) Placed(int, []byte, int, error) { k.placing-- }

// newStream is a connection without a network.
func newStream(t testing.TB) (*conn, *collector) {
	e := progress.New(progress.Config{Cores: 1})
	t.Cleanup(func() { _ = e.Close() })
	r := &btltest.Rank{}
	k := &collector{}
	d := &btl.Dispatch{}
	d.Handlers[tag] = k
	m := &module{env: &btl.Env{Engine: e, Dispatch: d, Upcalls: quiet{r}}, engine: e, job: rte.NewHub(2).Job(0)}
	m.source = e.AddPoller(m)
	c := &conn{m: m, ep: &endpoint{m: m, proc: &core.Proc{Rank: 1}}, maxFrame: 1 << 16}
	c.ep.conn, c.ep.live = c, c
	c.flow = *newFlow(c, flowLimits{datagram: 1472, peerSlots: 16}, 16, 16, 1<<20, 1, &m.stats)
	return c, k
}

type quiet struct{ *btltest.Rank }

func (quiet) Say(string, string) {}

// TestStreamViolations: what no peer of ours would send ends the connection, with the reason.
func TestStreamViolations(t *testing.T) {
	for want, b := range map[string]string{
		"cut off after 3 bytes":        "\x01\x40\x00",
		"a frame of kind 7":            "\x07\x00\x00\x00\x00\x00\x00\x00",
		"a frame of kind 2":            "\x02\x01\x00\x00\x00\x00\x00\x00",
		"fields that it does not have": "\x01\x40\x00\x01\x00\x00\x00\x00",
		"a header of 65":               "\x01\x40\x41\x00\x00\x00\x00\x00" + strings.Repeat("x", 70),
		"a payload of 65537":           "\x01\x40\x00\x00\x01\x00\x01\x00",
		"a header of 4 bytes cut off":  "\x01\x40\x04\x00\x00\x00\x00\x00xx",
		"no handler":                   "\x01\x41\x00\x00\x00\x00\x00\x00",
		"after BYE":                    "\x02\x00\x00\x00\x00\x00\x00\x00\x01\x40\x00\x00\x00\x00\x00\x00",
	} {
		c, _ := newStream(t)
		c.m.engine.Lock()
		c.deliver([]byte(b))
		c.m.engine.Unlock()
		if c.ep.err == nil || !c.ep.dead || !strings.Contains(c.ep.err.Error(), want) {
			t.Errorf("%q: %v, expected %q", b, c.ep.err, want)
		}
	}
}

// FuzzStream: what is delivered of a stream that is cut into packets is what the stream says, wherever payloads are cut.
func FuzzStream(f *testing.F) {
	f.Add([]byte("\x01\x40\x02\x00\x03\x00\x00\x00hhppp\x01\x40\x00\x00\x01\x00\x00\x00p"), uint16(0))
	f.Add([]byte("\x01\x40\x02\x00\x03\x00\x00\x00hhp"), uint16(11))
	f.Add(append([]byte("\x01\x40\x00\x00\x00\x20\x00\x00"), make([]byte, 0x2000)...), uint16(100))
	f.Fuzz(func(t *testing.T, b []byte, cut uint16) {
		c, k := newStream(t)
		c.m.engine.Lock()
		defer c.m.engine.Unlock()
		at := min(int(cut), len(b))
		for _, body := range [][]byte{b[:at], b[at:]} {
			if len(body) > 0 && !c.dead {
				c.deliver(body)
			}
		}
		done := len(k.b)
		if k.placing > 0 { // not yet all of it
			done -= len(c.bulk.dst) + frameSize + int(c.bulk.hdrLen)
		}
		if !bytes.HasPrefix(b, k.b[:max(0, done)]) {
			t.Errorf("%x became %x", b, k.b)
		}
		c.ep.release(errClosed)
		if k.placing != 0 {
			t.Error("a place was never given back")
		}
	})
}

package ompi

import (
	"bytes"
	"encoding/hex"
	"testing"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/progress"
)

func TestCouncilGolden(t *testing.T) {
	m := councilMsg{saying: sayTry, flags: flagHave, number: 0x01020304, want: 0x1112131415161718,
		about: matter{scope: scopeGroup, a: 0x2122232425262728, b: 0x3132333435363738, c: 0x4142434445464748}}
	var b [councilSize]byte
	m.put(&b)
	const want = "01020201" + "04030201" + "2827262524232221" + "3837363534333231" + "4847464544434241" + "1817161514131211"
	if got := hex.EncodeToString(b[:]); got != want {
		t.Errorf("bytes %s, want %s", got, want)
	}
	if back, ok := parseCouncil(&b, councilSize); !ok || back != m {
		t.Errorf("parsed as %+v, %v", back, ok)
	}
	for at, v := range map[int]byte{0: 2, 1: 0, 2: 9, 3: 4} {
		bad := b
		bad[at] = v
		if _, ok := parseCouncil(&bad, councilSize); ok {
			t.Errorf("byte %d = %d was accepted", at, v)
		}
	}
	if _, ok := parseCouncil(&b, councilSize-1); ok {
		t.Error("a short message was accepted")
	}
}

func FuzzCouncil(f *testing.F) {
	f.Add(bytes.Repeat([]byte{1}, councilSize))
	f.Add([]byte("\x01\x02\x02\x01"))
	f.Fuzz(func(t *testing.T, in []byte) {
		var b, again [councilSize]byte
		n := copy(b[:], in)
		m, ok := parseCouncil(&b, int64(n))
		if !ok {
			return
		}
		if m.put(&again); again != b {
			t.Errorf("%x became %x", b, again)
		}
	})
}

func TestContextSet(t *testing.T) {
	var s contextSet
	for k := range uint32(5) {
		if !s.take(k) || s.take(k) {
			t.Fatalf("take %d", k)
		}
	}
	s.take(7)
	if s.free(0) != 5 || s.free(6) != 6 || s.free(7) != 8 {
		t.Errorf("free: %d, %d, %d", s.free(0), s.free(6), s.free(7))
	}
	s.give(2)
	if s.free(0) != 2 || s.free(3) != 5 {
		t.Errorf("free: %d, %d", s.free(0), s.free(3))
	}
}

// matched is a receive whose message is on its way: it cannot be cancelled any more.
type matched struct{ started int }

func (m *matched) Start(r *core.Request) error {
	m.started++
	r.Reset()
	r.SetActive(true)
	return nil
}

func (m *matched) Cancel(*core.Request) error { return nil }

// TestCouncilRests: a message that is just being received when the last talk ends is not lost.
func TestCouncilRests(t *testing.T) {
	e := progress.New(progress.Config{Cores: 1, LocalRanks: 1})
	defer e.Close()
	e.Lock()
	defer e.Unlock()
	c := &council{i: &Instance{engine: e, procs: []*core.Proc{{Rank: 0}}}, from: make(map[int]*listener), mail: make(map[sender][]councilMsg)}
	c.source = e.AddPoller(c)
	var op matched
	r := &core.Request{Owner: &op, Engine: e}
	r.Renew(nil, "", 0, core.Buffer{})
	l := &listener{c: c, r: r}
	r.Persistent, r.Hook, c.from[0] = true, l, l
	l.start()
	c.rest()
	l.start() // the next talk begins
	if op.started != 1 {
		t.Errorf("the receive under way was started %d times", op.started)
	}
	m := councilMsg{saying: sayVote, about: matter{scope: scopeComm, a: 1}}
	m.put(&l.buf)
	r.Status.SetBytes(councilSize)
	r.Finish()
	c.receive()
	if got, ok := c.next(m.about, 0); !ok || got != m {
		t.Errorf("the message was lost: %+v, %v", got, ok)
	}
}

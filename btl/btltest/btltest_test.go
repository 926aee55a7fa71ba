package btltest_test

import (
	"errors"
	"testing"
	"unsafe"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/btl/btltest"
	_ "github.com/ompi-go/ompi-go/btl/self"
	"github.com/ompi-go/ompi-go/mca"
)

func self(t *testing.T) btl.Component {
	t.Helper()
	reg, err := mca.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	c, _ := reg.Component("btl", "self")
	return c.(btl.Component)
}

// TestFaulty: whatever a faulty BTL does, the contract allows; so it passes the suite itself.
func TestFaulty(t *testing.T) {
	btltest.Run(t, btltest.Config{Component: btltest.Faulty{Component: self(t), Seed: 1, Again: 0, Hold: 0}, Self: true})
	w := btltest.NewWorld(t, btltest.Config{Component: btltest.Faulty{Component: self(t), Seed: 2, Again: 30, Hold: 50}, Self: true}, 1)
	s, c := &order{}, &btltest.Completions{}
	r := w.Ranks[0]
	r.Dispatch.Handlers[btl.TagPML] = s
	const n = 300
	refused, taken := 0, 0
	for i := range n {
		f := btltest.NewFrag(c, btl.TagPML, uint64(i), 16, i)
		w.Until(t, "room", func() bool {
			var done bool
			var err error
			r.Do(func() { done, err = r.Endpoints[0].Send(f) })
			if errors.Is(err, btl.ErrAgain) {
				refused++
				return false
			}
			if !done {
				taken++
			}
			return err == nil
		})
	}
	w.Until(t, "completions", func() bool { return c.Done == taken && len(s.ids) == n })
	if refused == 0 || !s.overtaken() {
		t.Errorf("%d sends were refused, overtaking: %v", refused, s.overtaken())
	}
}

type order struct{ ids []byte }

func (o *order) Receive(_ int, hdr, _ []byte) { o.ids = append(o.ids, hdr[0]) }

func (o *order) overtaken() bool {
	for i := 1; i < len(o.ids); i++ {
		if o.ids[i] != o.ids[i-1]+1 {
			return true
		}
	}
	return false
}

func TestScript(t *testing.T) {
	s := btltest.NewScript()
	s.Later = true
	w := btltest.NewWorld(t, btltest.Config{Component: s}, 2)
	sink, c := btltest.NewSink(0), &btltest.Completions{}
	w.Ranks[1].Dispatch.Handlers[btl.TagPML] = sink
	ep := w.Ranks[0].Endpoints[1]
	for i := range 3 {
		if done, err := ep.Send(btltest.NewPackedFrag(t, c, btl.TagPML, uint64(i), 16, 100*i, 7)); done || err != nil {
			t.Fatalf("Send: %v, %v", done, err)
		}
	}
	s.Refuse(1)
	if _, err := ep.Send(btltest.NewFrag(c, btl.TagPML, 3, 16, 0)); !errors.Is(err, btl.ErrAgain) {
		t.Errorf("a refused Send: %v", err)
	}
	f := s.Frames()
	s.Deliver(f[2])
	s.Deliver(f[0])
	s.Drop(f[1], errors.New("lost"))
	if sink.N != 2 || sink.Seen[1] != 0 || c.Done != 3 || len(c.Errs) != 1 || len(sink.Errs) != 0 {
		t.Errorf("delivered %v with %v, completed %d with %v", sink.Seen, sink.Errs, c.Done, c.Errs)
	}
	s.Fail(0, 1, true, errors.New("dead"))
	if _, err := ep.Send(btltest.NewFrag(c, btl.TagPML, 4, 16, 0)); err == nil || errors.Is(err, btl.ErrAgain) {
		t.Errorf("Send to a failed endpoint: %v", err)
	}
	if len(w.Ranks[0].Failures()) != 1 || len(s.Log()) != 3 {
		t.Error("the failure was not told, or not all frames logged")
	}
}

func TestScriptGet(t *testing.T) {
	s := btltest.NewScript()
	s.Gets = true
	w := btltest.NewWorld(t, btltest.Config{Component: s}, 2)
	ep, reg := w.Ranks[0].Endpoints[1], w.Ranks[1].Module.(btl.Registrar)
	if _, ok := ep.(btl.InlineSender); !ok {
		t.Error("no inline messages")
	}
	mem := []byte("0123456789")
	h, _ := reg.Register(ptr(mem), int64(len(mem)))
	got := make([]byte, 4)
	if _, err := ep.(btl.Getter).Get(&btl.Transfer{Local: ptr(got), N: 4, Remote: h, Off: 3}); err != nil || string(got) != "3456" {
		t.Errorf("Get: %q, %v", got, err)
	}
	reg.Deregister(h)
	if _, err := ep.(btl.Getter).Get(&btl.Transfer{Local: ptr(got), N: 4, Remote: h, Off: 3}); err == nil {
		t.Error("Get from memory that is not registered any more")
	}
}
func ptr(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }

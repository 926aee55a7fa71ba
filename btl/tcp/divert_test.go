package tcp

import (
	"errors"
	"testing"

	"github.com/ompi-go/ompi-go/btl/btltest"
)

// TestDivert: the memory of a payload whose sender has stopped in the middle is let go of, what comes of it later is thrown away,
// and the next message is not harmed.
func TestDivert(t *testing.T) {
	const n = 16 << 20 // more than the kernel holds
	w, _ := newWorld(t, 2, map[string]string{"btl_tcp_max_send_size": "17000000"}, nil)
	s := &btltest.PlacingSink{Sink: *btltest.NewSink(0), Min: 1000}
	w.Ranks[1].Dispatch.Handlers[tag] = s
	send(t, w, 0, 1, 0, 0)
	w.Until(t, "the connection", func() bool { return s.N == 1 })

	send(t, w, 0, 1, 1, n)
	for s.Placing == 0 {
		w.Ranks[1].Poll()
	}
	for w.Ranks[1].Poll() > 0 {
	}
	if s.Placing != 1 || len(s.Errs) != 0 {
		t.Fatalf("%d payloads on their way, %v", s.Placing, s.Errs)
	}
	gone := errors.New("cancelled")
	w.Ranks[1].Do(func() { moduleOf(w.Ranks[1]).Divert(gone) })
	if s.Placing != 0 || len(s.Errs) != 1 || !errors.Is(s.Errs[0], gone) {
		t.Fatalf("%d payloads on their way, %v", s.Placing, s.Errs)
	}
	s.Errs = nil
	send(t, w, 0, 1, 2, 5000)
	w.Until(t, "the next message", func() bool { return s.Seen[2] == 1 })
	if s.Seen[1] != 0 || len(s.Errs) != 0 {
		t.Errorf("the message that was diverted came %d times; %v", s.Seen[1], s.Errs)
	}
}

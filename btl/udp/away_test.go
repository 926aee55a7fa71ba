package udp

import (
	"testing"
	"time"

	"github.com/ompi-go/ompi-go/btl/btltest"
)

// TestJobStopped: a job that was stopped as a whole goes on when it is let, though its ranks were asking each other at that moment.
func TestJobStopped(t *testing.T) {
	for _, made := range []bool{false, true} {
		w, sinks := newWorld(t, 2, nil, nil)
		r := w.Ranks[0]
		m := moduleOf(r)
		want := 1
		if made {
			connect(t, w, sinks)
			want = 2
		}
		f := btltest.NewFrag(&btltest.Completions{}, tag, uint64(want-1), 16, 100)
		taken := offer(t, r, 1, f)
		for asked := false; !asked; time.Sleep(time.Millisecond) {
			r.Poll() // and not the other
			r.Do(func() {
				if ep := m.eps[1]; made {
					asked = ep.live.probes >= 4
				} else {
					asked = ep.call.rounds > 10
				}
			})
		}
		r.Do(func() { m.base = m.base.Add(-30 * time.Second) })
		for range 20 {
			r.Poll()
			time.Sleep(time.Millisecond)
		}
		w.Until(t, "the message", func() bool {
			if fs := r.Failures(); len(fs) != 0 {
				t.Fatalf("connected %v: %v", made, fs[0].Cause)
			}
			taken = taken || offer(t, r, 1, f)
			return sinks[1].N == want
		})
	}
}

// TestAbandoned: who stands in does not do so for ever where the token is gone for good.
func TestAbandoned(t *testing.T) {
	w, _ := newWorld(t, 2, map[string]string{"btl_udp_timeout": "200ms"}, nil)
	r := w.Ranks[0]
	m := moduleOf(r)
	over := make(chan struct{})
	stop := make(chan struct{})
	r.Do(func() {
		go func() { m.watch.stand(stop); close(over) }()
		r.Engine.Abandon()
		select {
		case <-over:
		case <-time.After(btltest.Patience):
			t.Error("it stands in still")
			close(stop)
		}
	})
}

package tcp

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/btl/btltest"
)

// TestLinksBreak cuts links at random moments under traffic in both directions, all but one: every message must arrive once and
// every fragment be completed without error.
func TestLinksBreak(t *testing.T) {
	for _, sndbuf := range []string{"0", "128k"} {
		resent, resumed := uint64(0), 0
		for seed := range uint64(8) {
			t.Run(fmt.Sprintf("sndbuf=%s/seed=%d", sndbuf, seed), func(t *testing.T) {
				a, b := linksBreak(t, sndbuf, seed)
				resent, resumed = resent+a, resumed+b
			})
		}
		if resent == 0 || resumed == 0 {
			t.Errorf("sndbuf %s: %d messages were sent again, %d placements continued: the test tests nothing", sndbuf, resent, resumed)
		}
	}
}

func linksBreak(t *testing.T, sndbuf string, seed uint64) (resent uint64, resumed int) {
	const links, each = 4, 150
	w, _ := newWorld(t, 2, map[string]string{
		"btl_tcp_links": fmt.Sprint(links), "btl_tcp_sndbuf": sndbuf, "btl_tcp_rcvbuf": sndbuf, "btl_tcp_max_send_size": "200k",
	}, nil)
	rnd := rand.New(rand.NewPCG(seed, 7))
	var sinks [2]*btltest.PlacingSink
	var comps [2]*btltest.Completions
	var next, owed [2]int
	for i, r := range w.Ranks {
		sinks[i] = &btltest.PlacingSink{Sink: *btltest.NewSink(1 - i), Min: 10_000}
		comps[i] = &btltest.Completions{}
		r.Dispatch.Handlers[tag] = sinks[i]
	}
	up := func() (n int) {
		for i, l := range moduleOf(w.Ranks[0]).eps[1].links {
			if ls := moduleOf(w.Ranks[1]).eps[0].links; l.state == linkUp && i < len(ls) && ls[i].state == linkUp {
				n++
			}
		}
		return n
	}
	send(t, w, 0, 1, 0, 0)
	next[0] = 1
	w.Until(t, "all links", func() bool { return up() == links })
	cuts := map[int]bool{}
	lazy := 0 // the rank that is seldom polled, so that the other's sockets fill
	for next[0] < each || next[1] < each || len(cuts) < links-1 {
		i := rnd.IntN(2)
		r := w.Ranks[i]
		switch k := rnd.IntN(200); {
		case k == 0 && len(cuts) < links-1:
			r.Do(func() {
				// A link in the middle of a message is the interesting one.
				ls := moduleOf(r).eps[1-i].links
				l := ls[rnd.IntN(links)]
				for _, o := range ls {
					if o.tx == txFrag {
						l = o
					}
				}
				if rnd.IntN(2) == 0 {
					cut(l)
				} else {
					reset(l)
				}
				cuts[l.index] = true
			})
		case k == 1:
			lazy = rnd.IntN(2)
		case k < 60 && next[i] < each:
			n := []int{0, 10, 3000, 5000, 40_000, 199_000}[rnd.IntN(6)]
			id := uint64(next[i])
			if in := r.Endpoints[1-i].(btl.InlineSender); n < in.MaxInline() && rnd.IntN(2) == 0 {
				if inline(r, in, id, n) {
					next[i]++
				}
				continue
			}
			f := btltest.NewFrag(comps[i], tag, id, 24, n)
			if rnd.IntN(2) == 0 {
				f = btltest.NewPackedFrag(t, comps[i], tag, id, 24, n, 11)
			}
			taken, done := offer(t, r, 1-i, f)
			if taken {
				next[i]++
			}
			if taken && !done {
				owed[i]++
			}
		case i != lazy || k == 199:
			r.Poll()
		}
	}
	w.Until(t, "all messages and completions", func() bool {
		return sinks[0].N >= each && sinks[1].N >= each && comps[0].Done >= owed[0] && comps[1].Done >= owed[1]
	})
	for i, s := range sinks {
		s.Check(t, each)
		if comps[i].Done != owed[i] || len(comps[i].Errs) != 0 || s.Placing != 0 {
			t.Errorf("rank %d: %d of %d completions, errors %v, %d placements open", i, comps[i].Done, owed[i], comps[i].Errs, s.Placing)
		}
		if f := w.Ranks[i].Failures(); len(f) != 0 {
			t.Errorf("rank %d: %v", i, f)
		}
		if n := moduleOf(w.Ranks[i]).stats.Retired; n == 0 {
			t.Errorf("rank %d has retired no link", i)
		}
	}
	w.Until(t, "the last cut to be noticed", func() bool { return up() == 1 })
	w.Until(t, "a word about it", func() bool { return w.Ranks[0].Said()["btl_tcp_retired"] != "" })
	if s := w.Ranks[0].Said()["btl_tcp_retired"]; !strings.Contains(s, "rank 1") {
		t.Errorf("the user is told %q", s)
	}
	for _, r := range w.Ranks {
		resent += moduleOf(r).stats.Resent
		resumed += int(moduleOf(r).stats.Resumed)
	}
	// The last one is the end.
	cutAll(w.Ranks[1])
	w.Until(t, "the failure", func() bool { return len(w.Ranks[0].Failures()) == 1 && len(w.Ranks[1].Failures()) == 1 })
	if f := w.Ranks[0].Failures()[0]; !f.Dead {
		t.Errorf("%+v", f)
	}
	return resent, resumed
}

// inline sends message id as an inline one, with what the suite's sink expects.
func inline(r *btltest.Rank, in btl.InlineSender, id uint64, n int) bool {
	f := btltest.NewFrag(nil, tag, id, 16, n)
	r.Engine.Lock()
	defer r.Engine.Unlock()
	return in.SendInline(tag, id, uint64(n), f.Data, n)
}

// TestDeathWithLinks: when the process dies, all links end, and that is one death, not a series of repairs.
func TestDeathWithLinks(t *testing.T) {
	w, sinks := newWorld(t, 2, map[string]string{"btl_tcp_links": "3"}, nil)
	send(t, w, 0, 1, 0, 10)
	w.Until(t, "the message and the links", func() bool {
		return sinks[1].N == 1 && moduleOf(w.Ranks[0]).stats.Connected == 3 && moduleOf(w.Ranks[1]).stats.Connected == 3
	})
	cutAll(w.Ranks[1])
	w.Until(t, "the failure", func() bool { return len(w.Ranks[0].Failures()) == 1 })
	if f := w.Ranks[0].Failures()[0]; !f.Dead || !strings.Contains(f.Cause.Error(), "without BYE") {
		t.Errorf("%+v", f)
	}
	if s, ok := w.Ranks[0].Said()["btl_tcp_retired"]; ok {
		t.Errorf("the user is told of a repair: %s", s)
	}
}

// TestLinksLesser: the lesser of both ends' btl_tcp_links holds.
func TestLinksLesser(t *testing.T) {
	w, sinks := newWorld(t, 2, map[string]string{"btl_tcp_links": "3"}, nil)
	moduleOf(w.Ranks[1]).opts.Links = 2
	send(t, w, 1, 0, 0, 10)
	w.Until(t, "the message and the links", func() bool {
		return sinks[0].N == 1 && moduleOf(w.Ranks[0]).stats.Connected == 2 && moduleOf(w.Ranks[1]).stats.Connected == 2
	})
	for range 1000 {
		w.Poll()
	}
	if n := moduleOf(w.Ranks[0]).stats.Connected; n != 2 {
		t.Errorf("%d links, want 2", n)
	}
}

func TestLinksUsed(t *testing.T) {
	w, sinks := newWorld(t, 2, map[string]string{"btl_tcp_links": "3"}, nil)
	send(t, w, 0, 1, 0, 10)
	w.Until(t, "the links", func() bool {
		return moduleOf(w.Ranks[0]).stats.Connected == 3 && moduleOf(w.Ranks[1]).stats.Connected == 3
	})
	for i := range 30 {
		send(t, w, 0, 1, uint64(1+i), 100_000)
	}
	w.Until(t, "the messages", func() bool { return sinks[1].N == 31 })
	for _, l := range moduleOf(w.Ranks[0]).eps[1].links {
		if l.sent < 5 {
			t.Errorf("link %d has carried %d of 31 messages", l.index, l.sent)
		}
	}
}

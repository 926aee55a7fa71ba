package ob1

import (
	"encoding/hex"
	"math"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/btl/btltest"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/pml"
)

// TestCostCoversMemory: what a kept message costs is no less than the memory it takes.
func TestCostCoversMemory(t *testing.T) {
	const sizeClasses = 8 // by how much Go rounds up, in parts of a size
	fixed := unsafe.Sizeof(message{}) + unsafe.Sizeof(message{})/sizeClasses + unsafe.Sizeof(queue{})
	if fixed > keepSize {
		t.Errorf("a message and its queue take %d bytes, they cost %d", fixed, keepSize)
	}
	var p payloadPool
	for _, n := range []int{0, 1, 63, 64, 65, 128, 129, 4080, 4096, 4097, 1 << 20} {
		mem, _ := p.copyOf(make([]byte, n))
		if got := costOf(int64(n)); got < keepSize+int64(cap(mem)) || got > keepSize+max(int64(2*n), 64) {
			t.Errorf("%d bytes cost %d and take %d", n, got, cap(mem))
		}
	}
}

func TestCreditGolden(t *testing.T) {
	var f btl.Frag
	putCredit(&f, 0x0403, 0x1122334455667788)
	if got := hex.EncodeToString(f.Header()); got != "0e000000"+"03040000"+"8877665544332211" {
		t.Errorf("CREDIT: %s", got)
	}
	if ctx, g := parseCredit(f.Header()); ctx != 0x0403 || g != 0x1122334455667788 {
		t.Errorf("CREDIT: %d, %d", ctx, g)
	}
	putStarve(&f, 7, 8, 9)
	if got := hex.EncodeToString(f.Header()); got != "0f000000"+"07000000"+"08000000"+"00000000"+"0900000000000000" {
		t.Errorf("STARVE: %s", got)
	}
	if ctx, source, g := parseStarve(f.Header()); ctx != 7 || source != 8 || g != 9 {
		t.Errorf("STARVE: %d, %d, %d", ctx, source, g)
	}
}

// TestFirstGrant: in any job the first windows of all ranks together are small, and each lets a rank announce messages.
func TestFirstGrant(t *testing.T) {
	for _, n := range []int{1, 2, 4, 5, 32, 33, 64, 1000, 100_000} {
		g := firstGrant(n)
		if g < firstMin || g > firstMost || (n <= 32 && int64(n)*g > firstAll) {
			t.Errorf("%d ranks: %d bytes", n, g)
		}
	}
}

func creditOf(ctx uint32, granted int64) []byte {
	return header(func(f *btl.Frag) { putCredit(f, ctx, granted) })
}

func starveOf(ctx, source uint32, granted int64) []byte {
	return header(func(f *btl.Frag) { putStarve(f, ctx, source, granted) })
}

// TestCreditRefused: grants that make no sense change nothing, nor do old ones; a peer that sends what it was not granted is given up.
func TestCreditRefused(t *testing.T) {
	w := newWorld(t, 3, btltest.NewScript(), Options{Depth: 4, Unexpected: 1 << 20}, false)
	r := w.ranks[0]
	r.send(newMemory(t, 8, 1, false), 1, 1, pml.Standard)
	p := r.o.peers[1]
	first := p.granted
	for _, c := range []struct {
		name    string
		peer    int
		frame   int
		hdr     []byte
		refused uint64
	}{
		{"a short CREDIT", 1, typeCredit, make([]byte, creditSize-1), 1},
		{"a negative CREDIT", 1, typeCredit, creditOf(0, -1), 1},
		{"an absurd CREDIT", 1, typeCredit, creditOf(0, math.MaxInt64), 1},
		{"a CREDIT from who was sent nothing", 2, typeCredit, creditOf(0, first+1000), 1},
		{"a CREDIT to itself", 0, typeCredit, creditOf(0, 2*unlimited), 1},
		{"an old CREDIT", 1, typeCredit, creditOf(0, first-1), 0},
		{"a CREDIT that comes twice", 1, typeCredit, creditOf(0, first), 0},
		{"a short STARVE", 1, typeStarve, make([]byte, starveSize-1), 1},
		{"a STARVE in another's name", 2, typeStarve, starveOf(0, 1, 0), 1},
		{"a STARVE from no rank", 1, typeStarve, starveOf(0, 77, 0), 1},
		{"a STARVE from a negative rank", 1, typeStarve, starveOf(40, 1<<31, 0), 1},
		{"a STARVE with a context beyond all", 1, typeStarve, starveOf(1<<16, 1, 0), 1},
		{"a STARVE that knows of more than was granted", 1, typeStarve, starveOf(0, 1, 1<<40), 1},
		{"an old STARVE", 1, typeStarve, starveOf(0, 1, 0), 0},
	} {
		before := r.o.stats.Refused
		r.inject(c.peer, c.frame, c.hdr, nil)
		if got := r.o.stats.Refused - before; got != c.refused || p.granted != first || p.left != first-smallCost || len(r.o.credit.starved) != 0 {
			t.Errorf("%s: refused %d; granted %d, left %d, %d starve", c.name, got, p.granted, p.left, len(r.o.credit.starved))
		}
	}
	r.inject(1, typeCredit, creditOf(anyContext, first+500), nil)
	if p.left != first-smallCost+500 {
		t.Errorf("left %d after a grant", p.left)
	}
	// Rank 2 does not care for credit.
	for i := range 100_000 {
		r.inject(2, typeMatch, matchHeader(typeMatch, 0, uint16(i), 0, 2, 5), nil)
		if len(r.Failures()) > 0 {
			break
		}
	}
	if f := r.Failures(); len(f) != 1 || f[0].Rank != 2 || !f[0].Dead {
		t.Errorf("failures: %v", f)
	}
	if most := int64(1<<20 + wide); r.o.credit.stats.Highest > most {
		t.Errorf("%d bytes were kept of a peer that was granted less than %d", r.o.credit.stats.Highest, most)
	}
}

// TestCreditConserved: whatever is sent, received and delivered in whatever order, credit is neither lost nor made, a receiver
// without need keeps within its budget, and in the end everything has come, in order.
func TestCreditConserved(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const n = 3
		s := btltest.NewScript()
		s.Facts = btl.Limits{Eager: 1200, RndvEager: 40, MaxSend: 500, Latency: 1, Bandwidth: 1, Exclusivity: 1}
		s.Gets = rapid.Bool().Draw(rt, "gets")
		budget := rapid.SampledFrom([]int64{6 << 10, 24 << 10, 96 << 10}).Draw(rt, "budget")
		w := newWorld(t, n, s, Options{Depth: 2, Unexpected: budget}, false)
		first := rapid.SampledFrom([]int64{1024, 2048}).Draw(rt, "first")
		for _, r := range w.ranks {
			r.o.credit.open(first, budget, n)
		}
		type sent struct {
			r        *core.Request
			m        *memory
			from, to int
			id       int
		}
		type taken struct {
			r        *core.Request
			m        *memory
			at, from int
		}
		var out []sent
		var in []taken
		posted := [n][n]int{}
		count := [n][n]int{}
		sizes := []int{0, 8, 60, 100, 500, 1000, 1500, 3000}
		recv := func(at, from int) {
			m := newMemory(t, 3000, -1, false)
			in = append(in, taken{w.ranks[at].recv(m, from, core.AnyTag), m, at, from})
			posted[at][from]++
		}
		for range rapid.IntRange(20, 150).Draw(rt, "steps") {
			a, b := rapid.IntRange(0, n-1).Draw(rt, "a"), rapid.IntRange(0, n-1).Draw(rt, "b")
			switch rapid.IntRange(0, 9).Draw(rt, "what") {
			case 0, 1, 2, 3:
				id := len(out)
				size := sizes[rapid.IntRange(0, len(sizes)-1).Draw(rt, "size")]
				m := newMemory(t, size, id, rapid.Bool().Draw(rt, "vector"))
				mode := rapid.SampledFrom([]pml.Mode{pml.Standard, pml.Standard, pml.Synchronous, pml.Ready}).Draw(rt, "mode")
				out = append(out, sent{w.ranks[a].send(m, b, id, mode), m, a, b, id})
				count[a][b]++
			case 4, 5:
				recv(a, b)
			case 6:
				w.ranks[a].Poll()
			default:
				if f := s.Frames(); len(f) > 0 {
					s.Deliver(f[rapid.IntRange(0, len(f)-1).Draw(rt, "frame")])
				}
			}
			w.checkCredit(rt, budget)
		}
		for a := range n {
			for b := range n {
				for posted[b][a] < count[a][b] {
					recv(b, a)
				}
			}
		}
		for range 20_000 {
			moved := s.DeliverAll()
			for _, r := range w.ranks {
				moved += r.Poll()
				if r.o.credit.on {
					moved++
				}
			}
			w.checkCredit(rt, budget)
			if moved == 0 {
				break
			}
		}
		next := [n][n]int{}
		for _, o := range out {
			if !o.r.Done() || o.r.Status.Err != nil {
				rt.Fatalf("message %d of %d bytes from %d to %d: done %v, %v", o.id, o.m.n, o.from, o.to, o.r.Done(), o.r.Status.Err)
			}
			k := next[o.from][o.to]
			next[o.from][o.to]++
			for _, x := range in { // the k-th receive of this pair
				if x.at != o.to || x.from != o.from {
					continue
				}
				if k--; k < 0 {
					if !x.r.Done() || x.r.Status.Tag != o.id || int(x.r.Status.Bytes()) != o.m.n || !x.m.holds(o.m.n, o.id) || !x.m.intact() {
						rt.Fatalf("message %d from %d to %d: the receive has %+v", o.id, o.from, o.to, x.r.Status)
					}
					break
				}
			}
		}
		for _, r := range w.ranks {
			r.checkBalance(t)
		}
		for a := range n {
			for b := range n {
				f := &w.ranks[b].o.credit.accounts[a]
				if p := w.ranks[a].o.peers[b]; p != nil && a != b && (f.kept != 0 || p.granted != f.granted || p.left != f.window+f.loan-f.due) {
					rt.Fatalf("in the end %d has %d credit at %d, whose account is %+v", a, p.left, b, *f)
				}
			}
		}
	})
}

// checkCredit holds both ends of every pair against each other.
func (w *world) checkCredit(t *rapid.T, budget int64) {
	for b, r := range w.ranks {
		var kept, loans, windows int64
		for a := range w.ranks {
			f := &r.o.credit.accounts[a]
			if a == b {
				continue
			}
			kept += f.kept
			loans += f.loan
			windows += f.window
			if f.kept > f.window+f.loan || f.due < 0 || f.loan < 0 {
				t.Fatalf("%d keeps more of %d than it granted: %+v", b, a, *f)
			}
			p := w.ranks[a].o.peers[b]
			if p == nil {
				continue
			}
			used, matched := p.granted-p.left, f.granted-(f.window+f.loan-f.due)
			if p.left < 0 || p.granted > f.granted || matched < 0 || used < matched+f.kept {
				t.Fatalf("%d to %d: sent for %d with %d left of %d; %d matched, account %+v", a, b, used, p.left, p.granted, matched, *f)
			}
			if len(p.starving) != 0 && p.left >= smallCost {
				t.Fatalf("%d keeps messages for %d with %d credit", a, b, p.left)
			}
		}
		if windows > max(budget, int64(len(w.ranks))*r.o.credit.first) || kept > windows+loans {
			t.Fatalf("%d: windows of %d, %d kept, %d lent, a budget of %d", b, windows, kept, loans, budget)
		}
	}
}

// TestChargedOnce: a message that is prepared again, for another path, is charged for what goes there alone.
func TestChargedOnce(t *testing.T) {
	p := &peer{left: 10_000}
	s := &sendReq{peer: p}
	for _, n := range []int{1000, 0, 4000, 8} {
		if s.charge(n); p.left != 10_000-costOf(int64(n)) || s.cost != costOf(int64(n)) {
			t.Errorf("%d bytes: %d left, cost %d", n, p.left, s.cost)
		}
	}
	if s.charge(8000); !s.affords(8000) || s.affords(9000) {
		t.Error("what a message has paid is not there for its second way")
	}
}

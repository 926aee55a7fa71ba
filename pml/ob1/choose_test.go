package ob1

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/pml"
)

const (
	allCan = canInline | canGet | canPut | canRegister
	kib    = 1 << 10
)

// TestDecide: the policy, case by case.
func TestDecide(t *testing.T) {
	facts := btl.Limits{Eager: 4 * kib, RndvEager: kib}
	with := func(change func(*btl.Limits)) btl.Limits {
		f := facts
		change(&f)
		return f
	}
	piped := with(func(f *btl.Limits) { f.MinPipeline = 64 * kib })
	pinned := with(func(f *btl.Limits) { f.MinPipeline, f.Pinned = 64*kib, true })
	shared := with(func(f *btl.Limits) { f.MinShared = 128 * kib })
	late := with(func(f *btl.Limits) { f.MinGet, f.MinPut = 32*kib, 16*kib })
	contiguous := func(n int64) query { return query{size: n, contiguous: true} }
	for _, c := range []struct {
		name  string
		q     query
		facts btl.Limits
		can   ability
		wish  protocol
		want  protocol
		why   reason
	}{
		{"empty", contiguous(0), facts, allCan, protoAuto, protoInline, suits},
		{"the longest inline", contiguous(64), facts, allCan, protoAuto, protoInline, suits},
		{"longer", contiguous(65), facts, allCan, protoAuto, protoEager, suits},
		{"small with gaps", query{size: 8}, facts, allCan, protoAuto, protoEager, suits},
		{"no inline messages", contiguous(8), facts, allCan &^ canInline, protoAuto, protoEager, suits},
		{"the longest eager", contiguous(4*kib - matchSize), facts, allCan, protoAuto, protoEager, suits},
		{"longer than eager", contiguous(4*kib - matchSize + 1), facts, allCan, protoAuto, protoRget, suits},
		{"synchronous and small", query{8, true, true, false}, facts, allCan, protoAuto, protoRndv, suits},
		{"synchronous and large", query{kib * kib, true, true, false}, facts, allCan, protoAuto, protoRget, suits},
		{"large with gaps", query{size: kib * kib}, facts, allCan, protoAuto, protoRndv, suits},
		{"another architecture", query{kib * kib, true, false, true}, facts, allCan, protoAuto, protoRndv, suits},
		{"no Get", contiguous(kib * kib), facts, canPut | canRegister, protoAuto, protoPut, suits},
		{"no Get, and no names for memory", contiguous(kib * kib), facts, canPut, protoAuto, protoRndv, suits},
		{"Get was refused", contiguous(kib * kib), facts, allCan | getRefused, protoAuto, protoPut, suits},
		{"both were", contiguous(kib * kib), facts, allCan | getRefused | putRefused, protoAuto, protoRndv, suits},
		{"a path is lost", contiguous(kib * kib), facts, allCan | lostPath, protoAuto, protoRndv, suits},
		{"nothing", contiguous(kib * kib), facts, 0, protoAuto, protoRndv, suits},
		{"below both limits", contiguous(16*kib - 1), late, allCan, protoAuto, protoRndv, suits},
		{"below that of Get", contiguous(16 * kib), late, allCan, protoAuto, protoPut, suits},
		{"at that of Get", contiguous(32 * kib), late, allCan, protoAuto, protoRget, suits},
		{"below the pipeline's", contiguous(64*kib - 1), piped, allCan, protoAuto, protoRget, suits},
		{"at the pipeline's", contiguous(64 * kib), piped, allCan, protoAuto, protoPipeline, suits},
		{"pinned", contiguous(64 * kib), pinned, allCan, protoAuto, protoRget, suits},
		{"below sharing", contiguous(128*kib - 1), shared, allCan, protoAuto, protoRget, suits},
		{"shared", contiguous(128 * kib), shared, allCan, protoAuto, protoCoop, suits},

		{"put of few", contiguous(8), late, allCan, protoPut, protoPut, suits},
		{"put of none", contiguous(0), facts, allCan, protoPut, protoEager, suits},
		{"put of none, synchronous", query{0, true, true, false}, facts, allCan, protoPut, protoRndv, suits},
		{"put that cannot be", contiguous(8), facts, canGet, protoPut, protoRndv, unable},
		{"pipeline of few", contiguous(8), pinned, allCan, protoPipeline, protoPipeline, suits},
		{"pipeline with gaps", query{size: 8}, facts, allCan, protoPipeline, protoRndv, hasGaps},
		{"coop of few", contiguous(8), shared, allCan, protoCoop, protoRget, tooShort},
		{"coop with nothing", contiguous(8), shared, 0, protoCoop, protoRndv, unable},
		{"rget of few", contiguous(8), late, allCan, protoRget, protoRget, suits},
		{"inline", contiguous(64), facts, allCan, protoInline, protoInline, suits},
		{"inline of many", contiguous(65), facts, allCan, protoInline, protoEager, tooLong},
		{"inline of more", contiguous(4 * kib), facts, allCan, protoInline, protoRndv, tooLong},
		{"eager of few", contiguous(8), facts, allCan, protoEager, protoEager, suits},
		{"eager of many", contiguous(4 * kib), facts, allCan, protoEager, protoRndv, tooLong},
		{"eager, synchronous", query{8, true, true, false}, facts, allCan, protoEager, protoRndv, needsAnswer},
		{"rndv of few", contiguous(8), facts, allCan, protoRndv, protoRndv, suits},
	} {
		l := limitsFrom(&c.facts, 64, c.can, 0, c.wish)
		if p, why := decide(&c.q, &l); p != c.want || why != c.why {
			t.Errorf("%s: %s (%s), want %s (%s)", c.name, p, why, c.want, c.why)
		}
	}
}

// TestDecideAlways: whatever the facts, what is decided is possible, and a wish is granted if it is.
func TestDecideAlways(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := func(name string) int64 {
			return rapid.SampledFrom([]int64{0, 1, 15, 16, 17, 100, 4000, 1 << 20, 1 << 40}).Draw(t, name)
		}
		facts := btl.Limits{
			Eager: size("eager"), RndvEager: size("head"), MinGet: size("get"), MinPut: size("put"), MinShared: size("shared"), MinPipeline: size("pipeline"),
			Pinned: rapid.Bool().Draw(t, "pinned"),
		}
		q := query{size("n"), rapid.Bool().Draw(t, "contiguous"), rapid.Bool().Draw(t, "sync"), rapid.Bool().Draw(t, "differs")}
		wish := rapid.SampledFrom([]protocol{protoAuto, protoInline, protoEager, protoRndv, protoRget, protoPut, protoPipeline, protoCoop}).Draw(t, "wish")
		l := limitsFrom(&facts, size("inline"), ability(rapid.Uint8Range(0, 127).Draw(t, "can")), size("extra")%32, wish)
		p, why := decide(&q, &l)
		if bar(p, &q, &l).impossible() {
			t.Fatalf("%s: %s", p, bar(p, &q, &l))
		}
		moves := q.size > 0 || wish <= protoRndv
		if wish != protoAuto && moves && (p == wish) == bar(wish, &q, &l).impossible() {
			t.Fatalf("wish %s, decided %s", wish, p)
		}
		if wish != protoAuto && moves && (why == suits) != (p == wish) || wish == protoAuto && (why != suits || bar(p, &q, &l) != suits) {
			t.Fatalf("wish %s, decided %s, because: %s", wish, p, why)
		}
		if p <= protoEager && q.synchronous {
			t.Fatal("a synchronous send would not hear of the match")
		}
	})
}

// TestNames: protocols are found by their names, reasons have texts.
func TestNames(t *testing.T) {
	for p := range protoCount {
		if protocolOf(p.String()) != p || summaries[p] == "" {
			t.Errorf("%d: %q", p, p)
		}
	}
	if protocolOf("auto") != protoAuto || protocolOf("") != protoAuto {
		t.Error("auto")
	}
	for r := range reasonCount {
		if r.String() == "" {
			t.Errorf("reason %d has no text", r)
		}
	}
}

// TestSpans holds spans against a set of bytes.
func TestSpans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s spans
		const size = 40
		var have [size]bool
		for range rapid.IntRange(1, 30).Draw(t, "adds") {
			off := rapid.Int64Range(0, size-1).Draw(t, "off")
			n := rapid.Int64Range(1, size-off).Draw(t, "n")
			free := true
			for i := off; i < off+n; i++ {
				free = free && !have[i]
			}
			if s.add(off, n) != free {
				t.Fatalf("add(%d, %d) says %v; %v", off, n, !free, s.list)
			}
			for i := off; free && i < off+n; i++ {
				have[i] = true
			}
			var got [size]bool
			bytes, last := int64(0), int64(-1)
			for _, r := range s.list {
				if r.off <= last || r.end <= r.off {
					t.Fatalf("%v", s.list)
				}
				last = r.end // touching ones are one
				bytes += r.end - r.off
				for i := r.off; i < r.end; i++ {
					got[i] = true
				}
			}
			if got != have || bytes != s.bytes || s.end() != max(last, 0) {
				t.Fatalf("%v, %d bytes", s.list, s.bytes)
			}
		}
	})
	var s spans
	for i := range int64(maxSpans) {
		if !s.add(2*i, 1) {
			t.Fatal("refused")
		}
	}
	if s.add(2*maxSpans, 1) {
		t.Error("there is no bound")
	}
	if !s.add(1, 1) || !s.add(2*maxSpans, 1) {
		t.Error("what joins ranges makes room")
	}
}

func BenchmarkDecide(b *testing.B) {
	facts := btl.Limits{Eager: 4 * kib}
	l := limitsFrom(&facts, 64, allCan, 0, protoAuto)
	for _, n := range []int64{8, 1000, 1 << 20} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				choose(n, true, false, pml.Standard, &l)
			}
		})
	}
}

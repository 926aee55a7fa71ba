package portals4

import (
	"testing"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mtl"
	"pgregory.net/rapid"
)

// TestSplit holds match bits against MPI's rules of matching.
func TestSplit(t *testing.T) {
	for _, name := range []string{"4/12/16/32", "4/12/24/24"} {
		b, err := parseSplit(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			tags := rapid.OneOf(rapid.SampledFrom([]int{0, 1, b.maxTag(), mtl.PairTags, mtl.PairTags + 1, mtl.PairTags + min(int(b.pair()), 1<<30) - 1}),
				rapid.IntRange(0, b.maxTag()), rapid.IntRange(mtl.PairTags, mtl.PairTags+min(int(b.pair()), 1<<30)-1))
			ranks := rapid.OneOf(rapid.SampledFrom([]int{0, 1, b.maxRank()}), rapid.IntRange(0, b.maxRank()))
			ctxs := rapid.Uint32Range(0, 1<<ctxBits-1)
			ctx, source, tag := ctxs.Draw(t, "ctx"), ranks.Draw(t, "source"), tags.Draw(t, "tag")
			tb, ok := b.tagBits(tag)
			if !ok {
				t.Fatalf("tag %d does not fit", tag)
			}
			proto := rapid.SampledFrom([]uint64{protoShort, protoLong, protoRndv}).Draw(t, "proto")
			bits := b.bits(ctx, source, tb) | proto<<protoShift
			if b.sourceOf(bits) != source || b.tagOf(bits) != tag || protoOf(bits) != proto {
				t.Fatalf("read back %d %d %d", b.sourceOf(bits), b.tagOf(bits), protoOf(bits))
			}
			wantSource, wantTag, wantCtx := source, tag, ctx
			if rapid.Bool().Draw(t, "other source") {
				wantSource = rapid.OneOf(ranks, rapid.Just(core.AnySource)).Draw(t, "wanted source")
			}
			if rapid.Bool().Draw(t, "other tag") {
				wantTag = rapid.OneOf(tags, rapid.Just(core.AnyTag)).Draw(t, "wanted tag")
			}
			if rapid.Bool().Draw(t, "other context") {
				wantCtx = ctxs.Draw(t, "wanted context")
			}
			pattern, ignore, ok := b.pattern(wantCtx, wantSource, wantTag)
			if !ok {
				t.Fatal("no pattern")
			}
			got := (bits^pattern)&^ignore == 0
			want := wantCtx == ctx && (wantSource == core.AnySource || wantSource == source) &&
				(wantTag == tag || wantTag == core.AnyTag && tag < mtl.PairTags)
			if got != want {
				t.Fatalf("ctx %d source %d tag %d against %d %d %d: %v", ctx, source, tag, wantCtx, wantSource, wantTag, got)
			}
			if k := triggerKey(bits); protoOf(k) != protoKey || k&^anyProto != bits&^anyProto {
				t.Fatalf("key %#x of %#x", k, bits)
			}
		}))
		for tag, want := range map[int]bool{-1: false, b.maxTag() + 1: b.maxTag()+1 == mtl.PairTags, mtl.PairTags - 1: b.maxTag() == mtl.PairTags-1, 1<<31 - 1: true} {
			if _, ok := b.tagBits(tag); ok != want {
				t.Errorf("%s: tag %d fits: %v", name, tag, ok)
			}
		}
	}
}

// TestBlocksTake: what overflow entries take of the protocols.
func TestBlocksTake(t *testing.T) {
	const blocks, heads = uint64(protoShort << protoShift), uint64(protoLong << protoShift)
	ignore := ^uint64(anyProto)
	takes := func(bits, entry, ignore uint64) bool { return (bits^entry)&^ignore == 0 }
	for proto, want := range map[uint64][2]bool{protoShort: {true, false}, protoRndv: {true, false}, protoLong: {false, true}, protoKey: {false, false}} {
		bits := proto<<protoShift | 0x123456789
		got := [2]bool{takes(bits, blocks, ignore|(protoShort^protoRndv)<<protoShift), takes(bits, heads, ignore)}
		if got != want {
			t.Errorf("protocol %d: %v, want %v", proto, got, want)
		}
	}
}

// TestHdr: hdr_data of a send.
func TestHdr(t *testing.T) {
	s := &sendReq{id: maxIDs, data: make([]byte, 77), sync: true}
	if h := s.hdr(); h&hdrSync == 0 || lengthOf(h) != 77 || h&(1<<62) != 0 {
		t.Errorf("%#x", h)
	}
	s.sync, s.id = false, 0
	if h := s.hdr(); h != 77 {
		t.Errorf("%#x", h)
	}
}

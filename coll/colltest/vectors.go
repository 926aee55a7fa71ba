package colltest

import (
	"math/rand/v2"

	"github.com/ompi-go/ompi-go/coll/alg"
	"github.com/ompi-go/ompi-go/core"
)

func place() core.Buffer   { return core.InPlaceBuffer() }
func nowhere() core.Buffer { return core.Buffer{} }

// blocks says where a v form has its blocks, and how many elements they span.
type blocks struct {
	counts, displs []int // displs nil: packed
	span           int64
}

// at is where block i begins.
func (b *blocks) at(i int) int64 {
	if b.displs != nil {
		return int64(b.displs[i])
	}
	sum := 0
	for _, n := range b.counts[:i] {
		sum += n
	}
	return int64(sum)
}

// layOut puts blocks of the given counts into memory: one behind the other, or in any order with holes between.
func layOut(counts []int, packed bool, rnd *rand.Rand) blocks {
	b := blocks{counts: counts}
	if packed {
		for _, n := range counts {
			b.span += int64(n)
		}
		return b
	}
	b.displs = make([]int, len(counts))
	for _, i := range rnd.Perm(len(counts)) {
		b.span += int64(rnd.IntN(3))
		b.displs[i] = int(b.span)
		b.span += int64(counts[i])
	}
	return b
}

// vectors tries the v forms with random counts up to the given one.
func (r *rankTest) vectors(ty *typePair, most int64) {
	for _, packed := range []bool{true, false} {
		for _, inPlace := range []bool{false, true} {
			for _, root := range r.roots(most) {
				r.gatherv(ty, most, root, packed, inPlace)
				r.scatterv(ty, most, root, packed, inPlace)
			}
			r.allgatherv(ty, most, packed, inPlace)
			r.alltoallv(ty, most, packed, inPlace)
		}
	}
}

// counts are as many random counts as there are ranks, the same on all of them.
func (r *rankTest) counts(most int64, key int) ([]int, *rand.Rand) {
	rnd := rand.New(rand.NewPCG(uint64(key), uint64(r.n)))
	counts := make([]int, r.n)
	for i := range counts {
		if rnd.IntN(4) > 0 { // a good part is empty
			counts[i] = rnd.IntN(int(most) + 1)
		}
	}
	return counts, rnd
}

func (r *rankTest) gatherv(ty *typePair, most int64, root int, packed, inPlace bool) {
	if r.skips(alg.Gatherv) {
		return
	}
	key := r.next()
	counts, rnd := r.counts(most, key)
	b := layOut(counts, packed, rnd)
	mine := int64(counts[r.rank])
	send := newMemory(ty.send, mine)
	send.fill(0, mine, ty.data(mine, key, r.rank, root))
	from, to := send.buffer(), nowhere()
	recv := newMemory(ty.recv, b.span)
	var cs, ds []int
	if r.rank == root {
		to, cs, ds = recv.buffer(), b.counts, b.displs
		for i, n := range counts {
			data := ty.data(int64(n), key, i, root)
			recv.expect(b.at(i), int64(n), data)
			if i == root && inPlace {
				from = place()
				recv.fill(b.at(i), int64(n), data)
			}
		}
	}
	err := r.tbl.Gatherv.Gatherv(from, to, cs, ds, root)
	r.done(firstError(err, recv.check(), send.check()), "gatherv of %v at %v of %s to %d, in place %v", counts, b.displs, ty.name, root, inPlace)
}

func (r *rankTest) scatterv(ty *typePair, most int64, root int, packed, inPlace bool) {
	if r.skips(alg.Scatterv) {
		return
	}
	key := r.next()
	counts, rnd := r.counts(most, key)
	b := layOut(counts, packed, rnd)
	mine := int64(counts[r.rank])
	send, recv := newMemory(ty.send, b.span), newMemory(ty.recv, mine)
	from, to := nowhere(), recv.buffer()
	var cs, ds []int
	if r.rank == root {
		from, cs, ds = send.buffer(), b.counts, b.displs
		for i, n := range counts {
			send.fill(b.at(i), int64(n), ty.data(int64(n), key, root, i))
		}
	}
	if r.rank == root && inPlace {
		to = place()
	} else {
		recv.expect(0, mine, ty.data(mine, key, root, r.rank))
	}
	err := r.tbl.Scatterv.Scatterv(from, cs, ds, to, root)
	r.done(firstError(err, recv.check(), send.check()), "scatterv of %v at %v of %s from %d, in place %v", counts, b.displs, ty.name, root, inPlace)
}

func (r *rankTest) allgatherv(ty *typePair, most int64, packed, inPlace bool) {
	if r.skips(alg.Allgatherv) {
		return
	}
	key := r.next()
	counts, rnd := r.counts(most, key)
	b := layOut(counts, packed, rnd)
	mine := int64(counts[r.rank])
	own := ty.data(mine, key, r.rank, all)
	send, recv := newMemory(ty.send, mine), newMemory(ty.recv, b.span)
	send.fill(0, mine, own)
	from := send.buffer()
	if inPlace {
		from = place()
		recv.fill(b.at(r.rank), mine, own)
	}
	for i, n := range counts {
		recv.expect(b.at(i), int64(n), ty.data(int64(n), key, i, all))
	}
	err := r.tbl.Allgatherv.Allgatherv(from, recv.buffer(), b.counts, b.displs)
	r.done(firstError(err, recv.check(), send.check()), "allgatherv of %v at %v of %s, in place %v", counts, b.displs, ty.name, inPlace)
}

func (r *rankTest) alltoallv(ty *typePair, most int64, packed, inPlace bool) {
	if r.skips(alg.Alltoallv) {
		return
	}
	key := r.next()
	// between is how much from sends to to; in place any two send each other the same.
	between := func(from, to int) int {
		if inPlace && from > to {
			from, to = to, from
		}
		rnd := rand.New(rand.NewPCG(uint64(key), uint64(from*r.n+to)))
		return max(0, rnd.IntN(int(most)+2)-1)
	}
	out, in := make([]int, r.n), make([]int, r.n)
	for i := range r.n {
		out[i], in[i] = between(r.rank, i), between(i, r.rank)
	}
	rnd := rand.New(rand.NewPCG(uint64(key), uint64(r.rank)))
	sb, rb := layOut(out, packed, rnd), layOut(in, packed, rnd)
	send, recv := newMemory(ty.send, sb.span), newMemory(ty.recv, rb.span)
	from := send.buffer()
	for i, n := range out {
		data := ty.data(int64(n), key, r.rank, i)
		if inPlace {
			recv.fill(rb.at(i), int64(n), data)
		} else {
			send.fill(sb.at(i), int64(n), data)
		}
	}
	for i, n := range in {
		recv.expect(rb.at(i), int64(n), ty.data(int64(n), key, i, r.rank))
	}
	cs, ds := sb.counts, sb.displs
	if inPlace {
		from, cs, ds = place(), nil, nil
	}
	err := r.tbl.Alltoallv.Alltoallv(from, cs, ds, recv.buffer(), rb.counts, rb.displs)
	r.done(firstError(err, recv.check(), send.check()), "alltoallv of %v to %v of %s, in place %v", out, in, ty.name, inPlace)
}

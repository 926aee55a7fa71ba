package differ

import (
	"bytes"
	"math/rand/v2"
	"slices"
)

// Random types of a given signature. Byte displacements are multiples of the alignment, so that the rounding of extents, of which
// libraries have their own idea for other ones, does not matter.

type shaper struct{ *rand.Rand }

func (g shaper) coin(of int) bool { return g.IntN(of) == 0 }

// between is a number in [lo, hi].
func (g shaper) between(lo, hi int) int { return lo + g.IntN(hi-lo+1) }

// signature is a sequence of kinds; half of them are all of one.
func (g shaper) signature() []byte {
	const kinds = "ildb"
	sig := make([]byte, g.between(1, 6))
	for i := range sig {
		sig[i] = kinds[g.IntN(len(kinds))]
		if i > 0 && len(sig)%2 == 0 {
			sig[i] = sig[0]
		}
	}
	return sig
}

// of is a type with signature sig that can be received into, and on whose bounds libraries agree.
func (g shaper) of(sig []byte) *shape {
	for {
		if s := g.draw(sig, g.between(1, 4)); s.receivable() && !s.odd {
			return s
		}
	}
}

// draw nests at most depth constructors, then as many as it needs.
func (g shaper) draw(sig []byte, depth int) *shape {
	if len(sig) == 1 && (depth <= 0 || g.coin(3)) {
		return basic(sig[0])
	}
	if depth > 0 && g.coin(6) {
		return g.wrap(g.draw(sig, depth-1))
	}
	times := period(sig)
	if depth <= 0 && times == len(sig) {
		return g.repeat(basic(sig[0]), times)
	}
	if depth <= 0 || len(sig) > 1 && g.coin(3) || len(sig) > 1 && times == 1 {
		return g.cut(sig, depth-1)
	}
	divisors := []int{1}
	for d := 2; d <= times; d++ {
		if times%d == 0 {
			divisors = append(divisors, d, d)
		}
	}
	n := divisors[g.IntN(len(divisors))]
	return g.repeat(g.draw(sig[:len(sig)/n], depth-1), n)
}

// period is how many times sig repeats its shortest beginning.
func period(sig []byte) int {
	for n := 1; n < len(sig); n++ {
		if len(sig)%n == 0 && bytes.Equal(sig, bytes.Repeat(sig[:n], len(sig)/n)) {
			return len(sig) / n
		}
	}
	return 1
}

// wrap changes what a type is without changing its signature.
func (g shaper) wrap(t *shape) *shape {
	if g.coin(3) {
		s := *t
		s.text = words("dup", t.text)
		return &s
	}
	a := t.align()
	lo, hi := t.trueBounds()
	lb := lo/a*a + int64(g.between(-2, 1))*a
	ext := (hi-lo+a-1)/a*a + int64(g.between(0, 3))*a
	if g.coin(3) { // interleaved
		ext = int64(g.between(1, 4)) * a
	}
	return compose(words("res", lb, ext, t.text), piece{t, 1, 0}).withBounds(lb, ext)
}

// cut makes a struct of parts of the signature.
func (g shaper) cut(sig []byte, depth int) *shape {
	var lens []int
	var types []*shape
	for rest := sig; len(rest) > 0; {
		n := min(len(rest), g.between(1, 3))
		if len(rest) == len(sig) && len(sig) > 1 {
			n = min(n, len(sig)-1)
		}
		part := rest[:n]
		rest = rest[n:]
		k := 1
		if p := period(part); p > 1 && g.coin(2) {
			k = p
		}
		lens, types = append(lens, k), append(types, g.draw(part[:n/k], depth))
	}
	if g.coin(8) { // nothing of something is nothing
		lens, types = append(lens, 0), append(types, basic('d'))
	}
	displs := make([]int64, len(types))
	at := int64(g.between(-2, 2)) * 8
	for _, i := range g.order(len(types)) {
		lo, hi := types[i].trueBounds()
		ext := types[i].extent()
		if lens[i] == 0 {
			displs[i] = 64
			continue
		}
		displs[i] = (at-lo+7)&^7 + int64(g.between(0, 1))*8
		at = displs[i] + int64(lens[i]-1)*max(ext, 0) + hi
	}
	var pieces []piece
	var texts string
	for i, t := range types {
		pieces = append(pieces, piece{t, lens[i], displs[i]})
		texts = words(texts, t.text)
	}
	return compose(words("str", len(types), lens, displs, texts), pieces...)
}

// order is a permutation, often the natural one.
func (g shaper) order(n int) []int {
	if g.coin(2) {
		return g.Perm(n)
	}
	o := make([]int, n)
	for i := range o {
		o[i] = i
	}
	return o
}

// repeat makes n of t.
func (g shaper) repeat(t *shape, n int) *shape {
	ext := t.extent()
	bl := 1
	for d := 2; d <= n; d++ {
		if n%d == 0 && g.coin(2) {
			bl = d
		}
	}
	count := n / bl
	switch g.IntN(10) {
	case 0:
		return compose(words("cont", n, t.text), piece{t, n, 0})
	case 1, 2:
		stride := bl + g.between(0, 2)
		if g.coin(4) {
			stride = -stride
		}
		bytes, text := int64(stride)*ext, words("vec", count, bl, stride, t.text)
		if g.coin(2) {
			bytes += int64(g.between(0, 1)) * 8 * int64(sign(stride))
			text = words("hvec", count, bl, bytes, t.text)
		}
		s := compose(text, row(t, count, bl, func(i int) int64 { return int64(i) * bytes })...)
		s.odd = s.odd || bytes == -int64(bl)*ext // Open MPI takes the lower bound of blocks that touch downwards for 0
		return s
	case 3, 4:
		return g.scattered(t, n)
	case 5, 6:
		displs := make([]int, count)
		at := g.between(-2, 2)
		for _, i := range g.order(count) {
			displs[i] = at
			at += bl + g.between(0, 2)
		}
		if g.coin(2) {
			return compose(words("ib", count, bl, displs, t.text), row(t, count, bl, func(i int) int64 { return int64(displs[i]) * ext })...)
		}
		far := make([]int64, count)
		for i, d := range displs {
			far[i] = int64(d) * ((ext + 7) &^ 7)
		}
		return compose(words("hib", count, bl, far, t.text), row(t, count, bl, func(i int) int64 { return far[i] })...)
	case 7, 8:
		return g.subarray(t, count, bl)
	}
	if s := g.darray(t, n); s != nil {
		return s
	}
	return g.scattered(t, n)
}

func sign(n int) int {
	if n < 0 {
		return -1
	}
	return 1
}

func row(t *shape, count, bl int, at func(i int) int64) (ps []piece) {
	for i := range count {
		ps = append(ps, piece{t, bl, at(i)})
	}
	return ps
}

// scattered is n elements in blocks of different lengths, empty ones among them.
func (g shaper) scattered(t *shape, n int) *shape {
	var lens []int
	for rest := n; rest > 0; {
		l := g.between(0, min(rest, 3))
		lens, rest = append(lens, l), rest-l
	}
	displs := make([]int, len(lens))
	at := g.between(-2, 2)
	for _, i := range g.order(len(lens)) {
		displs[i] = at
		at += lens[i] + g.between(0, 2)
	}
	ext := t.extent()
	text := words("idx", len(lens), lens, displs, t.text)
	if g.coin(2) {
		far := make([]int64, len(lens))
		for i, d := range displs {
			far[i] = int64(d) * ext
		}
		text = words("hidx", len(lens), lens, far, t.text)
	}
	var pieces []piece
	for i, l := range lens {
		pieces = append(pieces, piece{t, l, int64(displs[i]) * ext})
	}
	return compose(text, pieces...)
}

// subarray is a corner of an array; n and m are two of its sides.
func (g shaper) subarray(t *shape, n, m int) *shape {
	subs := []int{n, m}
	if g.coin(3) {
		subs = slices.Insert(subs, g.IntN(3), 1)
	}
	sizes, starts := make([]int, len(subs)), make([]int, len(subs))
	whole := 1
	for i, s := range subs {
		starts[i] = g.between(0, 2)
		sizes[i] = starts[i] + s + g.between(0, 1)
		whole *= sizes[i]
	}
	order := g.IntN(2)
	var chosen [][]int
	for i, s := range subs {
		var axis []int
		for k := range s {
			axis = append(axis, starts[i]+k)
		}
		chosen = append(chosen, axis)
	}
	s := compose(words("sub", len(subs), sizes, subs, starts, order, t.text), grid(t, sizes, chosen, order)...)
	return s.withBounds(0, int64(whole)*t.extent())
}

// grid is the chosen indices of an array; order 0: the last dimension is the fastest.
func grid(t *shape, sizes []int, chosen [][]int, order int) []piece {
	dims := make([]int, len(sizes)) // slowest first
	for i := range dims {
		dims[i] = i
	}
	if order == 1 {
		slices.Reverse(dims)
	}
	at := []int64{0}
	for _, d := range dims {
		var next []int64
		for _, a := range at {
			for _, k := range chosen[d] {
				next = append(next, a*int64(sizes[d])+int64(k))
			}
		}
		at = next
	}
	var pieces []piece
	for _, a := range at {
		pieces = append(pieces, piece{t, 1, a * t.extent()})
	}
	return pieces
}

// darray looks for a process of a distribution that owns n elements.
func (g shaper) darray(t *shape, n int) *shape {
	for range 20 {
		dims := g.between(1, 3)
		sizes, dists, args, procs := make([]int, dims), make([]int, dims), make([]int, dims), make([]int, dims)
		size := 1
		for i := range dims {
			sizes[i], dists[i], args[i], procs[i] = g.between(1, 7), g.IntN(3), -1, g.between(1, 3)
			if dists[i] == 2 {
				procs[i] = 1
			}
			least := 1
			if dists[i] == 0 {
				least = (sizes[i] + procs[i] - 1) / procs[i]
			}
			if dists[i] != 2 && g.coin(2) {
				args[i] = least + g.IntN(2)
			}
			size *= procs[i]
		}
		rank, order := g.IntN(size), g.IntN(2)
		chosen, own, r := make([][]int, dims), 1, rank
		for i := dims - 1; i >= 0; i-- {
			me := r % procs[i]
			r /= procs[i]
			b := args[i]
			if b < 0 {
				b = 1
				if dists[i] == 0 {
					b = (sizes[i] + procs[i] - 1) / procs[i]
				}
			}
			for k := range sizes[i] {
				if dists[i] == 2 || k/b%procs[i] == me {
					chosen[i] = append(chosen[i], k)
				}
			}
			own *= len(chosen[i])
		}
		if own != n {
			continue
		}
		whole := int64(1)
		for _, s := range sizes {
			whole *= int64(s)
		}
		text := words("dar", size, rank, dims, sizes, dists, args, procs, order, t.text)
		return compose(text, grid(t, sizes, chosen, order)...).withBounds(0, whole*t.extent())
	}
	return nil
}

package differ

import (
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/ompi"
)

// reach is how many elements the blocks of a v form reach to.
func reach(counts, displs []int) int {
	most := 0
	for i, n := range counts {
		if n > 0 {
			most = max(most, displs[i]+n)
		}
	}
	return most
}

// lay puts blocks one after the other with gap between them, the last first when rev.
func lay(counts []int, gap int, rev bool) []int {
	displs, at := make([]int, len(counts)), 0
	for k := range counts {
		i := k
		if rev {
			i = len(counts) - 1 - k
		}
		displs[i] = at
		at += counts[i] + gap
	}
	return displs
}

func scaled(v []int, f int) []int {
	w := make([]int, len(v))
	for i, n := range v {
		w[i] = n * f
	}
	return w
}

// side is a buffer of elements of t, entered for its checksum, or the caller's memory in place of it.
func (x *player) side(j *job, inplace bool, t *datatype.Type, count, salt int) ompi.Buffer {
	if inplace {
		return ompi.InPlace()
	}
	return j.own(x.area(t, count, salt), 0).of(t, count)
}

func (x *player) movement(c *ompi.Comm, j *job, mode int, name string) error {
	size, rank := c.Size(), c.Rank()
	inplace, root := x.flag(), x.number()%size
	var ty [2]*datatype.Type
	var f [2]int
	for i := range ty {
		ty[i], f[i] = x.typ(), x.number()
	}
	a, b, fa, fb := ty[0], ty[1], f[0], f[1]
	switch name {
	case "bcast":
		mask, count := x.number(), x.number()
		buf := x.side(j, false, ty[mask>>rank&1], count, 1)
		return j.call(mode, func() error { return c.Bcast(buf, root) },
			func() ompi.Request { return c.Ibcast(buf, root) }, func() ompi.Request { return c.BcastInit(buf, root) })
	case "gather":
		count := x.number()
		inplace = inplace && rank == root
		r := x.side(j, false, b, count*size*fb, 2)
		s := x.side(j, inplace, a, count*fa, 1)
		return j.call(mode, func() error { return c.Gather(s, r, root) },
			func() ompi.Request { return c.Igather(s, r, root) }, func() ompi.Request { return c.GatherInit(s, r, root) })
	case "allgather":
		count := x.number()
		r := x.side(j, false, b, count*size*fb, 2)
		s := x.side(j, inplace, a, count*fa, 1)
		return j.call(mode, func() error { return c.Allgather(s, r) },
			func() ompi.Request { return c.Iallgather(s, r) }, func() ompi.Request { return c.AllgatherInit(s, r) })
	case "scatter":
		count := x.number()
		inplace = inplace && rank == root
		r := x.side(j, inplace, b, count*fb, 2)
		s := x.side(j, false, a, count*size*fa, 1)
		return j.call(mode, func() error { return c.Scatter(s, r, root) },
			func() ompi.Request { return c.Iscatter(s, r, root) }, func() ompi.Request { return c.ScatterInit(s, r, root) })
	case "alltoall":
		count := x.number()
		r := x.side(j, false, b, count*size*fb, 2)
		s := x.side(j, inplace, a, count*size*fa, 1)
		return j.call(mode, func() error { return c.Alltoall(s, r) },
			func() ompi.Request { return c.Ialltoall(s, r) }, func() ompi.Request { return c.AlltoallInit(s, r) })
	case "gatherv", "allgatherv", "scatterv":
		return x.vForms(c, j, mode, name, inplace, root, ty, f)
	case "alltoallv":
		gap, rev, n := x.number(), x.flag(), x.number()
		m := x.numbers(n * n)
		sc, rc := scaled(m[rank*n:][:size], fa), make([]int, size)
		for i := range rc {
			rc[i] = m[i*n+rank] * fb
		}
		sd, rd := lay(sc, gap, rev), lay(rc, gap, !rev)
		r := x.side(j, false, b, reach(rc, rd), 2)
		s := x.side(j, inplace, a, reach(sc, sd), 1)
		return j.call(mode, func() error { return c.Alltoallv(s, sc, sd, r, rc, rd) },
			func() ompi.Request { return c.Ialltoallv(s, sc, sd, r, rc, rd) }, func() ompi.Request { return c.AlltoallvInit(s, sc, sd, r, rc, rd) })
	}
	return x.alltoallw(c, j, mode, inplace, ty, f)
}

func (x *player) vForms(c *ompi.Comm, j *job, mode int, name string, inplace bool, root int, ty [2]*datatype.Type, f [2]int) error {
	size, rank := c.Size(), c.Rank()
	a, b, fa, fb := ty[0], ty[1], f[0], f[1]
	gap, rev := x.number(), x.flag()
	m := x.numbers(x.number())
	spread := name == "scatterv"
	counts := scaled(m[:size], fb)
	if spread {
		counts = scaled(m[:size], fa)
	}
	displs := lay(counts, gap, rev)
	if name != "allgatherv" && rank != root {
		inplace = false
	}
	whole := reach(counts, displs)
	if spread {
		r := x.side(j, inplace, b, m[rank]*fb, 2)
		s := x.side(j, false, a, whole, 1)
		return j.call(mode, func() error { return c.Scatterv(s, counts, displs, r, root) },
			func() ompi.Request { return c.Iscatterv(s, counts, displs, r, root) }, func() ompi.Request { return c.ScattervInit(s, counts, displs, r, root) })
	}
	r := x.side(j, false, b, whole, 2)
	s := x.side(j, inplace, a, m[rank]*fa, 1)
	if name == "gatherv" {
		return j.call(mode, func() error { return c.Gatherv(s, r, counts, displs, root) },
			func() ompi.Request { return c.Igatherv(s, r, counts, displs, root) }, func() ompi.Request { return c.GathervInit(s, r, counts, displs, root) })
	}
	return j.call(mode, func() error { return c.Allgatherv(s, r, counts, displs) },
		func() ompi.Request { return c.Iallgatherv(s, r, counts, displs) }, func() ompi.Request { return c.AllgathervInit(s, r, counts, displs) })
}

// alltoallw: messages use A and B in turn, each block lies 16 bytes behind what the one before touches.
func (x *player) alltoallw(c *ompi.Comm, j *job, mode int, inplace bool, ty [2]*datatype.Type, f [2]int) error {
	size, rank := c.Size(), c.Rank()
	n := x.number()
	m := x.numbers(n * n)
	var bufs [2][]ompi.Buffer
	for side := range 2 {
		types, counts, displs := make([]*datatype.Type, size), make([]int, size), make([]int, size)
		at := 0
		for p := range size {
			which := (rank + p) % 2
			count := m[rank*n+p]
			if side == 1 {
				which, count = 0, m[p*n+rank]
				if (rank*2+p)%3 == 0 {
					which = 1
				}
			}
			if inplace {
				which = 1
			}
			types[p], counts[p] = ty[which], count*f[which]
			_, extent := types[p].Extent()
			first, span := types[p].TrueExtent()
			at += int(max(-first, 0))
			at = (at + 15) / 16 * 16
			displs[p] = at
			if counts[p] > 0 {
				at += (counts[p]-1)*int(extent) + int(max(first+span, 0))
			}
			at += 16
		}
		mem := j.own(x.area(datatype.Uint8, at, side+1), 0)
		for p := range size {
			bufs[side] = append(bufs[side], mem.block(displs[p], types[p], counts[p]))
		}
	}
	s, r := bufs[0], bufs[1]
	if inplace {
		s = []ompi.Buffer{ompi.InPlace()}
	}
	return j.call(mode, func() error { return c.Alltoallw(s, r) },
		func() ompi.Request { return c.Ialltoallw(s, r) }, func() ompi.Request { return c.AlltoallwInit(s, r) })
}

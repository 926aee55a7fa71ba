package differ

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/ompi"
)

func (x *player) collective(c *ompi.Comm, slot int, name string) (bool, error) {
	reduces := slices.Contains([]string{"reduce", "allreduce", "scan", "exscan", "rs", "rsb", "rlocal"}, name)
	moves := slices.Contains([]string{"bcast", "gather", "allgather", "scatter", "alltoall", "gatherv", "allgatherv", "scatterv", "alltoallv", "alltoallw"}, name)
	nears := slices.Contains(neighbourhoods, name)
	crosses := slices.Contains(acrosses, name)
	if !reduces && !moves && !nears && !crosses && name != "barrier" {
		return false, nil
	}
	mode := x.number()
	if mode != 3 {
		if err := x.finishAll(); err != nil {
			return true, err
		}
	}
	j := &job{step: x.step}
	var err error
	switch {
	case reduces:
		err = x.reduction(c, j, mode, name)
	case crosses:
		err = x.across(c, j, slot, mode, name)
	case nears:
		err = x.neighbourhood(c, j, mode, name)
	case moves:
		err = x.movement(c, j, mode, name)
	default:
		err = j.call(mode, c.Barrier, c.Ibarrier, c.BarrierInit)
	}
	if err == nil {
		err = x.failure
	}
	if err != nil {
		return true, err
	}
	if mode == 3 {
		x.later = append(x.later, j)
		return true, nil
	}
	return true, x.finish(j)
}

// multiply is the product of 2x2 matrices: associative, not commutative.
func multiply(in, inout [][4]uint32) {
	for i, b := range inout {
		a := in[i]
		inout[i] = [4]uint32{a[0]*b[0] + a[1]*b[2], a[0]*b[1] + a[1]*b[3], a[2]*b[0] + a[3]*b[2], a[2]*b[1] + a[3]*b[3]}
	}
}

func numberType(kind byte) (*datatype.Type, error) {
	switch kind {
	case 'i':
		return datatype.Int32, nil
	case 'l':
		return datatype.Int64, nil
	case 'b':
		return datatype.Uint8, nil
	case 'd':
		return datatype.Float64, nil
	case 'I':
		return datatype.For[ompi.Loc[int32]]()
	case 'D':
		return datatype.For[ompi.Loc[float64]]()
	case 'L':
		return datatype.For[ompi.Loc[int64]]()
	}
	return datatype.Contiguous(4, datatype.Uint32)
}

func (x *player) op(name string) *ompi.Op {
	ops := map[string]*ompi.Op{"sum": ompi.Sum, "prod": ompi.Prod, "max": ompi.Max, "min": ompi.Min, "band": ompi.BAnd, "bor": ompi.BOr,
		"bxor": ompi.BXor, "land": ompi.LAnd, "lor": ompi.LOr, "lxor": ompi.LXor, "maxloc": ompi.MaxLoc, "minloc": ompi.MinLoc}
	if op := ops[name]; op != nil {
		return op
	}
	return x.matrix
}

func (x *player) numbersArea(t *datatype.Type, kind byte, count, salt int) area {
	a := x.area(t, count, salt)
	m := a.mem[a.base:]
	le := binary.LittleEndian
	for i := range count {
		h := noise(x.step*977 + uint32(i)*64 + uint32(x.world.Rank())*8 + uint32(salt))
		v, index := int(h%7)-3, h>>8&15
		switch kind {
		case 'i':
			le.PutUint32(m[4*i:], uint32(v))
		case 'l':
			le.PutUint64(m[8*i:], uint64(v))
		case 'b':
			m[i] = byte(v)
		case 'd':
			le.PutUint64(m[8*i:], math.Float64bits(float64(v)/2))
		case 'I':
			le.PutUint32(m[8*i:], uint32(v))
			le.PutUint32(m[8*i+4:], index)
		case 'D':
			le.PutUint64(m[16*i:], math.Float64bits(float64(v)/2))
			le.PutUint32(m[16*i+8:], index)
		case 'L':
			le.PutUint64(m[16*i:], uint64(v))
			le.PutUint32(m[16*i+8:], index)
		}
	}
	return a
}

func (x *player) reduction(c *ompi.Comm, j *job, mode int, name string) error {
	inplace, root := x.flag(), x.number()%c.Size()
	kind := x.word()[0]
	op := x.op(x.word())
	counts := x.numbers(x.number())
	count := counts[0]
	t, err := numberType(kind)
	if err != nil {
		return err
	}
	input, result := count, count
	switch name {
	case "rs":
		counts = counts[:c.Size()]
		input, result = sum(counts), counts[c.Rank()]
	case "rsb":
		input = count * c.Size()
	case "reduce":
		inplace = inplace && c.Rank() == root
	}
	room := result
	if inplace {
		room = input
	}
	r := j.own(x.numbersArea(t, kind, room, 2), kind).of(t, room)
	s := ompi.InPlace()
	_, extent := t.Extent()
	if inplace {
		if name == "rs" || name == "rsb" {
			j.skip[0] = [2]int{result * int(extent), input * int(extent)}
		}
	} else {
		s = j.own(x.numbersArea(t, kind, input, 1), kind).of(t, input)
	}
	if name == "exscan" && c.Rank() == 0 {
		j.skip[0] = [2]int{0, result * int(extent)}
	}
	switch name {
	case "reduce":
		return j.call(mode, func() error { return c.Reduce(s, r, op, root) },
			func() ompi.Request { return c.Ireduce(s, r, op, root) }, func() ompi.Request { return c.ReduceInit(s, r, op, root) })
	case "allreduce":
		return j.call(mode, func() error { return c.Allreduce(s, r, op) },
			func() ompi.Request { return c.Iallreduce(s, r, op) }, func() ompi.Request { return c.AllreduceInit(s, r, op) })
	case "scan":
		return j.call(mode, func() error { return c.Scan(s, r, op) },
			func() ompi.Request { return c.Iscan(s, r, op) }, func() ompi.Request { return c.ScanInit(s, r, op) })
	case "exscan":
		return j.call(mode, func() error { return c.Exscan(s, r, op) },
			func() ompi.Request { return c.Iexscan(s, r, op) }, func() ompi.Request { return c.ExscanInit(s, r, op) })
	case "rsb":
		return j.call(mode, func() error { return c.ReduceScatterBlock(s, r, op) },
			func() ompi.Request { return c.IreduceScatterBlock(s, r, op) }, func() ompi.Request { return c.ReduceScatterBlockInit(s, r, op) })
	case "rs":
		return j.call(mode, func() error { return c.ReduceScatter(s, r, counts, op) },
			func() ompi.Request { return c.IreduceScatter(s, r, counts, op) }, func() ompi.Request { return c.ReduceScatterInit(s, r, counts, op) })
	}
	return ompi.ReduceLocal(s, r, op)
}

func sum(v []int) int {
	n := 0
	for _, k := range v {
		n += k
	}
	return n
}

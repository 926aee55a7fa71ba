package patterns

import "github.com/ompi-go/ompi-go/datatype"

// property is one array of a set of points: numbers of 4 or 8 bytes, some a point.
type property struct{ elem, each int }

func (p property) typ() *datatype.Type {
	switch {
	case p.elem == 8:
		return datatype.Float64
	case p.each == 1:
		return datatype.Int32
	}
	return datatype.Float32
}

// picked is the layout of the same points out of several arrays, a struct of indexed blocks.
func picked(name string, index []int, among int, properties []property) Layout {
	l := Layout{Name: name}
	var at []int
	for _, p := range properties {
		at = append(at, l.Span)
		l.parts = append(l.parts, part{at: l.Span, elem: p.elem, index: times(index, p.each), block: p.each})
		l.Span += p.elem * p.each * among
	}
	l.build = func(m *maker) *datatype.Type {
		var types []*datatype.Type
		for _, p := range properties {
			types = append(types, m.ok(datatype.IndexedBlock(p.each, times(index, p.each), p.typ())))
		}
		return m.once(at, types)
	}
	return l
}

// lammps: particles that leave for a neighbour. atomic has position, tag, type and mask of each; full has charge and molecule, too.
func lammps() []Layout {
	position, number, charge := property{8, 3}, property{4, 1}, property{8, 1}
	var all []Layout
	for _, n := range []int{64, 512, 2048, 8192} {
		index := scattered(n)
		all = append(all,
			picked("LAMMPS_atomic", index, 8*n, []property{position, number, number, number}),
			picked("LAMMPS_full", index, 8*n, []property{position, number, number, number, charge, number}))
	}
	return all
}

// specfem: what neighbours in a mesh of the earth add up. oc, one float at points of the outer core in no order; cm, three floats at
// points of crust and mantle and, fewer, of the inner core; mt, a column out of a matrix of points, three floats each.
func specfem() []Layout {
	var all []Layout
	for _, n := range []int{256, 1024, 4096, 16384} {
		index := shuffle(scattered(n))
		all = append(all, Layout{
			Name: "SPECFEM3D_oc", Span: 4 * 8 * n, parts: []part{{elem: 4, index: index, block: 1}},
			build: func(m *maker) *datatype.Type { return m.ok(datatype.IndexedBlock(1, index, datatype.Float32)) },
		}, crust(n), column(n, 16))
	}
	return all
}

func crust(n int) Layout {
	mantle, core := times(scattered(n), 3), times(scattered(n/4), 3)
	second := 4 * 3 * 8 * n
	return Layout{
		Name: "SPECFEM3D_cm", Span: second + 4*3*8*(n/4),
		parts: []part{{elem: 4, index: mantle, block: 3}, {at: second, elem: 4, index: core, block: 3}},
		build: func(m *maker) *datatype.Type {
			return m.once([]int{0, second}, []*datatype.Type{threes(m, mantle), threes(m, core)})
		},
	}
}

// threes is written with lengths, as the code does, though all are equal.
func threes(m *maker, index []int) *datatype.Type {
	lengths := make([]int, len(index))
	for i := range lengths {
		lengths[i] = 3
	}
	return m.ok(datatype.Indexed(lengths, index, datatype.Float32))
}

func column(rows, columns int) Layout {
	return Layout{
		Name: "SPECFEM3D_mt", Span: 4 * 3 * rows * columns, parts: []part{{elem: 4, loops: [3]loop{{rows, 3 * columns}}, block: 3}},
		build: func(m *maker) *datatype.Type { return m.ok(datatype.Vector(rows, 3, 3*columns, datatype.Float32)) },
	}
}

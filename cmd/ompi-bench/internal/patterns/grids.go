package patterns

import "github.com/ompi-go/ompi-go/datatype"

// nasLU: five doubles at every point of an n by n plane with a rim. A row of it lies in one piece (x), a column in n pieces (y). The
// sizes are those of the NAS classes S, W, A, B, C and D.
func nasLU() []Layout {
	var all []Layout
	for _, n := range []int{12, 33, 64, 102, 162, 408} {
		row := 5 * (n + 2)
		span, first := 8*row*(n+2), 8*(row+5)
		all = append(all, Layout{
			Name: "NAS_LU_x", Span: span, base: first, parts: []part{{elem: 8, block: 5 * n}},
			build: func(m *maker) *datatype.Type { return m.ok(datatype.Contiguous(5*n, datatype.Float64)) },
		}, Layout{
			Name: "NAS_LU_y", Span: span, base: first, parts: []part{{elem: 8, loops: [3]loop{{n, row}}, block: 5}},
			build: func(m *maker) *datatype.Type { return m.ok(datatype.Vector(n, 5, row, datatype.Float64)) },
		})
	}
	return all
}

// nasMG: the faces of a cube of n doubles a side, with a rim of one. The x face is single numbers, a vector of vectors; the others
// are rows.
func nasMG() []Layout {
	var all []Layout
	for _, n := range []int{16, 32, 64, 128} {
		row := n + 2
		plane := row * row
		span, first := 8*plane*row, 8*(plane+row+1)
		all = append(all, Layout{
			Name: "NAS_MG_x", Span: span, base: first, parts: []part{{elem: 8, loops: [3]loop{{n, plane}, {n, row}}, block: 1}},
			build: func(m *maker) *datatype.Type {
				column := m.ok(datatype.Vector(n, 1, row, datatype.Float64))
				return m.ok(datatype.HVector(n, 1, int64(8*plane), column))
			},
		}, Layout{
			Name: "NAS_MG_y", Span: span, base: first, parts: []part{{elem: 8, loops: [3]loop{{n, plane}}, block: n}},
			build: func(m *maker) *datatype.Type { return m.ok(datatype.Vector(n, n, plane, datatype.Float64)) },
		}, Layout{
			Name: "NAS_MG_z", Span: span, base: first, parts: []part{{elem: 8, loops: [3]loop{{n, row}}, block: n}},
			build: func(m *maker) *datatype.Type { return m.ok(datatype.Vector(n, n, row, datatype.Float64)) },
		})
	}
	return all
}

// milc: the lowest z face of a four-dimensional lattice x*y*z*t of colour vectors, three complex numbers each. Even sites lie before
// odd ones.
func milc() []Layout {
	const vector = 6 // floats of a site
	var all []Layout
	for _, d := range [][4]int{{8, 8, 8, 8}, {16, 16, 8, 8}, {16, 16, 16, 16}, {32, 32, 16, 16}} {
		z, t := d[2], d[3]
		face := d[0] / 2 * d[1] // sites of one parity, z and t
		half := face * z * t
		all = append(all, Layout{
			Name: "MILC_su3_zd", Span: 2 * half * vector * 4,
			parts: []part{{elem: 4, loops: [3]loop{{2, half * vector}, {t, face * z * vector}}, block: face * vector}},
			build: func(m *maker) *datatype.Type {
				site := m.ok(datatype.Contiguous(vector, datatype.Float32))
				parity := m.ok(datatype.Vector(t, face, face*z, site))
				return m.ok(datatype.HVector(2, 1, int64(half*vector*4), parity))
			},
		})
	}
	return all
}

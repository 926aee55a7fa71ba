package patterns

import "github.com/ompi-go/ompi-go/datatype"

// rim is the width of a halo in the weather model.
const rim = 3

// field is an array of single-precision numbers [m][y][z][x], and the box of it that is sent.
type field struct {
	at          int // its first byte
	full, start [4]int
	box         [4]int
}

// weather lists four fields of two, three of three and two of four dimensions on nx*ny columns of nz levels, one after the other, and
// the bytes they fill. west is the halo in x direction, else that in y direction is sent.
func weather(nx, ny, nz int, west bool) (fields []field, span int) {
	add := func(count, species, levels int) {
		for range count {
			f := field{at: span, full: [4]int{species, ny + 2*rim, levels, nx + 2*rim}, start: [4]int{0, rim, 0, rim}}
			if west {
				f.box = [4]int{species, ny, levels, rim}
			} else {
				f.box = [4]int{species, rim, levels, nx}
			}
			fields = append(fields, f)
			span += 4 * f.full[0] * f.full[1] * f.full[2] * f.full[3]
		}
	}
	add(4, 1, 1)
	add(3, 1, nz)
	add(2, 4, nz)
	return fields, span
}

// strides are the distances in numbers from one index to the next, of all dimensions but the last.
func (f field) strides() (m, y, z int) {
	z = f.full[3]
	y = z * f.full[2]
	return y * f.full[1], y, z
}

// first is the byte at which the box begins.
func (f field) first() int {
	m, y, z := f.strides()
	return f.at + 4*(f.start[0]*m+f.start[1]*y+f.start[2]*z+f.start[3])
}

func (f field) part() part {
	m, y, z := f.strides()
	return part{at: f.first(), elem: 4, loops: [3]loop{{f.box[0], m}, {f.box[1], y}, {f.box[2], z}}, block: f.box[3]}
}

// wrf: the halo of a weather model, one struct over all fields. The forms sa have subarrays, the forms vec nested vectors.
func wrf() []Layout {
	var all []Layout
	for _, d := range [][3]int{{8, 8, 10}, {16, 16, 20}, {32, 32, 28}, {64, 64, 35}} {
		for _, face := range []string{"x", "y"} {
			fields, span := weather(d[0], d[1], d[2], face == "x")
			var parts []part
			for _, f := range fields {
				parts = append(parts, f.part())
			}
			all = append(all,
				Layout{Name: "WRF_" + face + "_sa", Span: span, parts: parts, build: func(m *maker) *datatype.Type { return subarrays(m, fields) }},
				Layout{Name: "WRF_" + face + "_vec", Span: span, parts: parts, build: func(m *maker) *datatype.Type { return vectors(m, fields) }})
		}
	}
	return all
}

func subarrays(m *maker, fields []field) *datatype.Type {
	var at []int
	var types []*datatype.Type
	for _, f := range fields {
		lo := 0 // dimensions of one index are left out, as the model's arrays do not have them
		for f.full[lo] == 1 {
			lo++
		}
		full, box, start := f.full[lo:], f.box[lo:], f.start[lo:]
		if f.full[2] == 1 {
			full, box, start = []int{full[0], full[2]}, []int{box[0], box[2]}, []int{start[0], start[2]}
		}
		at = append(at, f.at)
		types = append(types, m.ok(datatype.Subarray(full, box, start, datatype.OrderC, datatype.Float32)))
	}
	return m.once(at, types)
}

func vectors(m *maker, fields []field) *datatype.Type {
	var at []int
	var types []*datatype.Type
	for _, f := range fields {
		species, y, z := f.strides()
		var t *datatype.Type
		if f.full[2] == 1 {
			t = m.ok(datatype.Vector(f.box[1], f.box[3], y, datatype.Float32))
		} else {
			t = m.ok(datatype.Vector(f.box[2], f.box[3], z, datatype.Float32))
			t = m.ok(datatype.HVector(f.box[1], 1, int64(4*y), t))
		}
		if f.box[0] > 1 {
			t = m.ok(datatype.HVector(f.box[0], 1, int64(4*species), t))
		}
		at = append(at, f.first())
		types = append(types, t)
	}
	return m.once(at, types)
}

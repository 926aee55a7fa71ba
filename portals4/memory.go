package portals4

// memory is what an entry or a memory descriptor covers: one piece, or those of an iovec one behind the other.
type memory struct {
	base []byte
	iov  [][]byte
	size uint64
	// origin is the offset of base's first byte: its address, of memory that is part of a Space. size counts from 0.
	origin uint64
}

func newMemory(start []byte, iov [][]byte) memory {
	m := memory{base: start, size: uint64(len(start))}
	if iov != nil {
		m.iov = append([][]byte(nil), iov...)
		m.base, m.size = nil, 0
		for _, p := range iov {
			m.size += uint64(len(p))
		}
	}
	return m
}

// part gives n bytes at off, which lie inside, if they are in one piece; the second result tells whether they are.
func (m *memory) part(off, n uint64) ([]byte, bool) {
	if m.iov == nil {
		off -= m.origin
		return m.base[off : off+n : off+n], true
	}
	if n == 0 {
		return nil, true
	}
	for _, p := range m.iov {
		if off < uint64(len(p)) {
			if n > uint64(len(p))-off {
				return nil, false
			}
			return p[off : off+n : off+n], true
		}
		off -= uint64(len(p))
	}
	return nil, false
}

// at gives the piece that holds off, from there on, at most n bytes.
func (m *memory) at(off, n uint64) []byte {
	if m.iov == nil {
		off -= m.origin
		return m.base[off : off+n]
	}
	for _, p := range m.iov {
		if off < uint64(len(p)) {
			return p[off:min(off+n, uint64(len(p)))]
		}
		off -= uint64(len(p))
	}
	return nil
}

// put copies from to offset off, get the other way. The range lies inside.
func (m *memory) put(off uint64, from []byte) {
	if m.iov == nil {
		copy(m.base[off-m.origin:], from)
		return
	}
	for len(from) > 0 {
		n := copy(m.at(off, uint64(len(from))), from)
		from, off = from[n:], off+uint64(n)
	}
}

func (m *memory) get(off uint64, to []byte) {
	if m.iov == nil {
		copy(to, m.base[off-m.origin:])
		return
	}
	for len(to) > 0 {
		n := copy(to, m.at(off, uint64(len(to))))
		to, off = to[n:], off+uint64(n)
	}
}

// inside reports whether [off, off+n) lies in the memory.
func (m *memory) inside(off, n uint64) bool { return off <= m.size && n <= m.size-off }

package datatype

// streams are the types of packed data of elements with one width, by its logarithm.
var streams = [4]*Type{Byte, stream(Int16), stream(Int32), stream(Int64)}

func stream(of *Type) *Type {
	s := &Type{layout: Byte.layout, combiner: CombinerDup, types: []*Type{Byte}, of: of}
	s.SetName("packed data")
	s.program()
	return s
}

// Stream is the type of a byte of items of t that are packed one behind the other. It is as [Byte], but for conversion: a message of
// it still is made of elements of t, from its beginning on. Packed data that is kept or forwarded is sent with it, so that
// receivers of another architecture, and of any type of the same signature, get what was packed.
func (t *Type) Stream() *Type {
	if t.of != nil {
		return t
	}
	if t.uniform != KindNone || t.elems == 0 {
		switch unit(t.uniform) {
		case 2:
			return streams[1]
		case 4:
			return streams[2]
		case 8:
			return streams[3]
		}
		return Byte
	}
	if s := t.stream.Load(); s != nil {
		return s
	}
	t.stream.CompareAndSwap(nil, stream(t))
	return t.stream.Load()
}

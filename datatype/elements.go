package datatype

// ElementCount tells how many predefined elements the first bytes of a packed stream of items of t complete, and whether they
// end inside one (MPI_Get_elements). bytes is not negative. A type without data has 0, partial if there are any bytes.
func (t *Type) ElementCount(bytes int64) (elements int64, partial bool) {
	if t.size == 0 {
		return 0, bytes > 0
	}
	if t.uniform != KindNone {
		k := int64(t.uniform.Size())
		return bytes / k, bytes%k != 0
	}
	elements, bytes = bytes/t.size*t.elems, bytes%t.size
	for b := t.typedBody(); bytes > 0; {
		var o *op
		for i := range b.ops {
			o = &b.ops[i]
			if bytes < o.off+o.packed() {
				break
			}
			elements += o.elems(o.count)
		}
		bytes -= o.off
		if o.body == nil {
			k := int64(o.kind.Size())
			return elements + bytes/k, bytes%k != 0
		}
		elements += o.elems(bytes / o.size)
		bytes %= o.size
		b = o.body
	}
	return elements, false
}

// ElementBytes is the inverse: the packed size in bytes of the first n elements of a stream of items of t
// (MPI_Status_set_elements). It is 0 for a type without data.
func (t *Type) ElementBytes(n int64) int64 {
	if t.elems == 0 {
		return 0
	}
	if t.uniform != KindNone {
		return n * int64(t.uniform.Size())
	}
	bytes := n / t.elems * t.size
	n %= t.elems
	for b := t.typedBody(); n > 0; {
		for i := range b.ops {
			o := &b.ops[i]
			if all := o.elems(o.count); n >= all {
				n -= all
				bytes += o.packed()
				continue
			}
			if o.body == nil {
				return bytes + n*int64(o.kind.Size())
			}
			each := o.body.elems
			bytes += n / each * o.size
			n %= each
			b = o.body
			break
		}
	}
	return bytes
}

// elems is the number of elements in n blocks or iterations of a typed op.
func (o *op) elems(n int64) int64 {
	if o.body != nil {
		return n * o.body.elems
	}
	return n * o.size / int64(o.kind.Size())
}

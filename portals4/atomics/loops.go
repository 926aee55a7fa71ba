package atomics

import "unsafe"

// arrays are target and operand as slices of numbers; not ok: one of them is not aligned for that.
func arrays[T number](target, operand []byte) (t, o []T, ok bool) {
	n := unsafe.Alignof(*new(T))
	if len(target) == 0 || !aligned(&target[0], n) || !aligned(&operand[0], n) {
		return nil, nil, false
	}
	count := len(target) / int(unsafe.Sizeof(*new(T)))
	return unsafe.Slice((*T)(unsafe.Pointer(&target[0])), count), unsafe.Slice((*T)(unsafe.Pointer(&operand[0])), count), true
}

func integerAlone[T integer](op uint8, target, operand []byte) {
	if t, o, ok := arrays[T](target, operand); ok {
		integerLoop(op, t, o)
	} else {
		each(op, target, operand, nil, integerStep[T])
	}
}

func orderedAlone[T ordered](op uint8, target, operand []byte) {
	if t, o, ok := arrays[T](target, operand); ok {
		orderedLoop(op, t, o)
	} else {
		each(op, target, operand, nil, orderedStep[T])
	}
}

func numberAlone[T number](op uint8, target, operand []byte) {
	if t, o, ok := arrays[T](target, operand); ok {
		numberLoop(op, t, o)
	} else {
		each(op, target, operand, nil, numberStep[T])
	}
}

// The loops over whole arrays. Each operation has its own, so that nothing is decided an element.

func numberLoop[T number](op uint8, t, o []T) {
	o = o[:len(t)]
	switch op {
	case Sum:
		for i, x := range o {
			t[i] += x
		}
	case Prod:
		for i, x := range o {
			t[i] *= x
		}
	default:
		panic("atomics: an operation that is not defined on the type")
	}
}

func orderedLoop[T ordered](op uint8, t, o []T) {
	o = o[:len(t)]
	switch op {
	case Sum:
		i := 0
		for ; i+4 <= len(t); i += 4 { // by fours: the loop's own work is as much as the sum's
			a, b := t[i:i+4:i+4], o[i:i+4:i+4]
			a[0], a[1], a[2], a[3] = a[0]+b[0], a[1]+b[1], a[2]+b[2], a[3]+b[3]
		}
		for ; i < len(t); i++ {
			t[i] += o[i]
		}
	case Prod:
		for i, x := range o {
			t[i] *= x
		}
	case Min:
		for i, x := range o {
			if x < t[i] {
				t[i] = x
			}
		}
	case Max:
		for i, x := range o {
			if x > t[i] {
				t[i] = x
			}
		}
	default:
		panic("atomics: an operation that is not defined on the type")
	}
}

func integerLoop[T integer](op uint8, t, o []T) {
	o = o[:len(t)]
	switch op {
	case Lor:
		for i, x := range o {
			t[i] = truth[T](t[i] != 0 || x != 0)
		}
	case Land:
		for i, x := range o {
			t[i] = truth[T](t[i] != 0 && x != 0)
		}
	case Lxor:
		for i, x := range o {
			t[i] = truth[T]((t[i] != 0) != (x != 0))
		}
	case Bor:
		for i, x := range o {
			t[i] |= x
		}
	case Band:
		for i, x := range o {
			t[i] &= x
		}
	case Bxor:
		for i, x := range o {
			t[i] ^= x
		}
	default:
		orderedLoop(op, t, o)
	}
}

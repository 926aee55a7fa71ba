package datatype

import (
	"reflect"
	"sync"
)

// goTypes remembers what For derived, by Go type. It is a cache of values that never change, not state.
var goTypes sync.Map // reflect.Type to *Type

// The types of int and uint, which are as wide as the machine's.
var (
	goInt  = ofKind(kindOf(reflect.TypeFor[int]()))
	goUint = ofKind(kindOf(reflect.TypeFor[uint]()))
)

// For derives the type of T: of class MPI_ERR_TYPE, naming the field, for anything that holds pointers. Named types count as
// their kind, int, uint and uintptr as 64-bit (32-bit where Go's are), arrays as contiguous items, blank fields and padding as
// holes (Unpack leaves them untouched). The type of a struct is named as the Go type and has its size as extent; all callers
// get the same one.
func For[T any]() (*Type, error) {
	switch any((*T)(nil)).(type) {
	case *float64:
		return Float64, nil
	case *float32:
		return Float32, nil
	case *byte:
		return Uint8, nil
	case *int:
		return goInt, nil
	case *int8:
		return Int8, nil
	case *int16:
		return Int16, nil
	case *int32:
		return Int32, nil
	case *int64:
		return Int64, nil
	case *uint:
		return goUint, nil
	case *uint16:
		return Uint16, nil
	case *uint32:
		return Uint32, nil
	case *uint64:
		return Uint64, nil
	case *complex64:
		return Complex64, nil
	case *complex128:
		return Complex128, nil
	case *bool:
		return Bool, nil
	}
	t := reflect.TypeFor[T]()
	if v, ok := goTypes.Load(t); ok {
		return v.(*Type), nil
	}
	return forGoType(t)
}

// forGoType derives and remembers the type of t.
func forGoType(t reflect.Type) (*Type, error) {
	if path, bad := pointerIn(t, ""); bad != nil {
		if path == "" {
			return nil, errType("%s holds pointers: %s cannot be sent; send a slice of its elements or a copy without pointers",
				t, article(bad.Kind()))
		}
		return nil, errType("%s holds pointers: field %s (%s) cannot be sent; use fixed-size fields or send the data itself",
			t, path, bad)
	}
	made, err := derive(t)
	if err != nil {
		return nil, err
	}
	v, _ := goTypes.LoadOrStore(t, made)
	return v.(*Type), nil
}

// article is "a map", "an interface".
func article(k reflect.Kind) string {
	switch k {
	case reflect.Interface:
		return "an interface"
	case reflect.Pointer, reflect.UnsafePointer:
		return "a pointer"
	case reflect.Func:
		return "a function"
	case reflect.Chan:
		return "a channel"
	}
	return "a " + k.String()
}

// pointerIn finds the first pointer inside t: the path of its field and its Go type, nil when there is none. Blank fields
// count, too, because a transport that moves whole structs moves them as well. Arrays without elements hold nothing.
func pointerIn(t reflect.Type, path string) (string, reflect.Type) {
	switch t.Kind() {
	case reflect.Array:
		elem := t
		for elem.Kind() == reflect.Array {
			if elem.Len() == 0 {
				return "", nil
			}
			elem = elem.Elem()
		}
		if elem.Kind() == reflect.Struct {
			if path != "" {
				path += "[]"
			}
			return pointerIn(elem, path)
		}
		if kindOf(elem) == KindNone {
			return path, t
		}
		return "", nil
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			name := f.Name
			if path != "" {
				name = path + "." + name
			}
			if p, bad := pointerIn(f.Type, name); bad != nil {
				return p, bad
			}
		}
		return "", nil
	}
	if kindOf(t) == KindNone {
		return path, t
	}
	return "", nil
}

// kindOf is the predefined element a basic Go type is in memory.
func kindOf(t reflect.Type) Kind {
	switch t.Kind() {
	case reflect.Bool:
		return KindBool
	case reflect.Int8:
		return KindInt8
	case reflect.Int16:
		return KindInt16
	case reflect.Int32:
		return KindInt32
	case reflect.Int64:
		return KindInt64
	case reflect.Uint8:
		return KindUint8
	case reflect.Uint16:
		return KindUint16
	case reflect.Uint32:
		return KindUint32
	case reflect.Uint64:
		return KindUint64
	case reflect.Float32:
		return KindFloat32
	case reflect.Float64:
		return KindFloat64
	case reflect.Complex64:
		return KindComplex64
	case reflect.Complex128:
		return KindComplex128
	case reflect.Int:
		if t.Bits() == 32 {
			return KindInt32
		}
		return KindInt64
	case reflect.Uint, reflect.Uintptr:
		if t.Bits() == 32 {
			return KindUint32
		}
		return KindUint64
	}
	return KindNone
}

func ofKind(k Kind) *Type {
	for _, t := range [...]*Type{Int8, Int16, Int32, Int64, Uint8, Uint16, Uint32, Uint64, Float32, Float64, Complex64, Complex128,
		Byte, Bool} {
		if t.kind == k {
			return t
		}
	}
	return nil
}

// derive builds the type of a Go type known to hold no pointers, committed.
func derive(t reflect.Type) (*Type, error) {
	var made *Type
	var err error
	switch t.Kind() {
	case reflect.Array:
		elem := Byte // of an array without elements anything will do, and its element may hold pointers
		if t.Len() > 0 {
			elem, err = derive(t.Elem())
		}
		if err != nil {
			return nil, err
		}
		if made, err = Contiguous(t.Len(), elem); err != nil {
			return nil, err
		}
		made.goArray = true
	case reflect.Struct:
		if made, err = deriveStruct(t); err != nil {
			return nil, err
		}
	default:
		return ofKind(kindOf(t)), nil
	}
	made.SetName(t.String())
	made.program()
	return made, nil
}

// deriveStruct lists the named fields of t at their offsets. The result has exactly Go's size as extent, whatever blank fields
// or trailing padding do to the natural one.
func deriveStruct(t reflect.Type) (*Type, error) {
	var lens []int
	var disps []int64
	var types []*Type
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Name == "_" {
			continue
		}
		ft, err := derive(f.Type)
		if err != nil {
			return nil, err
		}
		lens, disps, types = append(lens, 1), append(disps, int64(f.Offset)), append(types, ft)
	}
	s, err := Struct(lens, disps, types)
	if err != nil {
		return nil, err
	}
	if s.lb == 0 && s.extent() == int64(t.Size()) {
		return s, nil
	}
	return Resized(s, 0, int64(t.Size()))
}

package ompi

import (
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/internal/attr"
)

// Attributed is what attributes can be hung on (MPI-3.1 §6.7): *Comm, *Win and *datatype.Type.
type Attributed interface{ attributed }

// attributed is implemented in two packages, so its method has a name that others can see, but a result that they cannot name.
type attributed interface{ Attributes() *attr.Set }

var (
	_ Attributed = (*Comm)(nil)
	_ Attributed = (*Win)(nil)
	_ Attributed = (*datatype.Type)(nil)
)

// Attributes is where c's attributes are kept; a Keyval gets at them.
func (c *Comm) Attributes() *attr.Set { return &c.attrs }

// Keyval is a typed key for attributes: values of T that a program, or a library of its own, hangs on communicators, datatypes and
// windows. A Keyval may be used from any goroutine, on objects of any instance; it needs no freeing.
type Keyval[T any] struct {
	key   attr.Key
	fixed func(*Win) T // of a predefined attribute, which windows have
}

// NewKeyval makes a key. copy gives the value for a duplicate of the object, or false for none (nil: never any); delete is told of
// a value that goes away, at Free, Delete or replacement (nil: nothing to tell). What they give as error is wrapped in the error of
// the call that runs them, so errors.Is reaches it. They run on the goroutine of that call and may use the object, but not free it.
func NewKeyval[T any](copy func(T) (T, bool, error), delete func(T) error) *Keyval[T] {
	k := new(Keyval[T])
	if copy != nil {
		k.key.Copy = func(v any) (any, bool, error) {
			out, ok, err := copy(v.(attribute[T]).v)
			return attribute[T]{out}, ok, err
		}
	}
	if delete != nil {
		k.key.Delete = func(v any) error { return delete(v.(attribute[T]).v) }
	}
	return k
}

// attribute holds a value whose type may be an interface.
type attribute[T any] struct{ v T }

// Set sets the attribute. A value that was there is deleted first, and with its callback's error stays.
func (k *Keyval[T]) Set(on Attributed, v T) error {
	if err := k.check("set_attr", on); err != nil {
		return err
	}
	if k.fixed != nil {
		return attrFailed(on, "set_attr", errFixed())
	}
	if err := on.Attributes().Put(&k.key, attribute[T]{v}); err != nil {
		return attrFailed(on, "set_attr", callbackError("", "delete", err))
	}
	return nil
}

// Get gives the attribute, false when it is not set.
func (k *Keyval[T]) Get(on Attributed) (T, bool) {
	var none T
	if k.check("get_attr", on) != nil {
		return none, false
	}
	if k.fixed != nil {
		if w, ok := on.(*Win); ok {
			return k.fixed(w), true
		}
		return none, false
	}
	v, ok := on.Attributes().Get(&k.key)
	if !ok {
		return none, false
	}
	return v.(attribute[T]).v, true
}

// Delete takes the attribute away. With its callback's error it stays; when it is not set, the error is ErrKeyval.
func (k *Keyval[T]) Delete(on Attributed) error {
	if err := k.check("delete_attr", on); err != nil {
		return err
	}
	if k.fixed != nil {
		return attrFailed(on, "delete_attr", errFixed())
	}
	switch had, err := on.Attributes().Remove(&k.key); {
	case err != nil:
		return attrFailed(on, "delete_attr", callbackError("", "delete", err))
	case !had:
		return attrFailed(on, "delete_attr", core.NewError(ErrKeyval, "the attribute is not set"))
	}
	return nil
}

func (k *Keyval[T]) check(call string, on Attributed) error {
	switch x := on.(type) {
	case nil:
		return &core.Error{Class: ErrArg, Op: call, Peer: Undefined, Index: -1, Err: core.NewError(ErrArg, "the object is nil").Err}
	case *Comm:
		if err := x.usable("Comm_" + call); err != nil {
			return err
		}
	case *Win:
		if err := x.usable("Win_" + call); err != nil {
			return err
		}
	case *datatype.Type:
		if x == nil {
			return &core.Error{Class: ErrType, Op: "Type_" + call, Peer: Undefined, Index: -1, Err: core.NewError(ErrType, "the datatype is nil").Err}
		}
	}
	if k == nil {
		return attrFailed(on, call, core.NewError(ErrKeyval, "the key is nil"))
	}
	return nil
}

// attrFailed completes an error of a call on an object with attributes.
func attrFailed(on Attributed, call string, err error) error {
	switch x := on.(type) {
	case *Comm:
		return x.fail("Comm_"+call, err)
	case *Win:
		return x.c.fail("Win_"+call, err)
	}
	var none *Comm
	return none.explain("Type_"+call, err)
}

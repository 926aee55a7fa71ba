package coll

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mca"
)

// ErrUnavailable is what Open of a component returns, wrapped with the reason, when it cannot work in this instance. It is left
// out quietly, unless the user asked for it by name.
var ErrUnavailable = errors.New("coll: not available")

// Open opens the components that the selection list "coll" allows, in the order of their names. It is called once an instance.
func Open(reg *mca.Registry, params *mca.Params, env *Env) ([]Factory, error) {
	sel := params.Selection("coll")
	asked := sel.Names()
	var out []Factory
	for _, c := range reg.Components("coll") {
		if !sel.Allows(c.Name()) {
			continue
		}
		mine, ok := c.(Component)
		if !ok {
			return nil, fmt.Errorf("coll: component %s is a %T, which is no coll.Component", c.Name(), c)
		}
		f, err := mine.Open(env)
		switch {
		case err == nil:
			out = append(out, f)
		case errors.Is(err, ErrUnavailable) && !slices.Contains(asked, c.Name()):
		default:
			return nil, fmt.Errorf("coll: opening component %s: %w", c.Name(), err)
		}
	}
	return out, nil
}

// candidate is a factory that can serve a communicator.
type candidate struct {
	f        Factory
	priority int
}

// Select makes the table of c: each operation comes from the factory of the highest priority whose module has it; of equal
// priorities, from the first in the list. Modules are enabled from the lowest priority up, each with the table made of those
// below it. A factory whose Enable gives neither module nor error has declined, on all members alike.
//
// All members of c call Select at the same point. An operation that nobody offers is an error, since some member would be left
// waiting in it. On an error all modules are closed again.
func Select(factories []Factory, c *core.Comm) (*Table, error) {
	var list []candidate
	for _, f := range factories {
		if p, ok := f.Query(c); ok {
			list = append(list, candidate{f, p})
		}
	}
	// Ascending, and among equals the first one last, so that it overlays the others.
	slices.Reverse(list)
	slices.SortStableFunc(list, func(a, b candidate) int { return a.priority - b.priority })

	t := new(Table)
	for _, cand := range list {
		below := *t // what the module keeps must not change under it
		below.modules = nil
		m, err := cand.f.Enable(c, &below)
		if err != nil {
			return nil, errors.Join(err, t.Close())
		}
		if m == nil {
			continue
		}
		t.overlay(m)
		t.modules = append(t.modules, m)
	}
	if missing := t.missing(); missing != nil {
		err := core.NewError(core.ErrUnsupportedOperation, "no collective component offers %s on %s; check parameter coll (component basic has all)",
			strings.Join(missing, ", "), Title(c))
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// Title is what messages call a communicator: its name, or for one without the number that its members agreed on.
func Title(c *core.Comm) string {
	if name := c.Name(); name != "" {
		return name
	}
	return fmt.Sprintf("communicator %d", c.Context())
}

// slots are the operations of t, as pointers to its interface fields with their names. What an operation is called in Table is
// said nowhere else, so a new field needs no other line.
func (t *Table) slots(visit func(name string, slot reflect.Value)) {
	v := reflect.ValueOf(t).Elem()
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.IsExported() {
			visit(f.Name, v.Field(i))
		}
	}
}

// overlay takes from m all operations that it implements.
func (t *Table) overlay(m Module) {
	mv := reflect.ValueOf(m)
	t.slots(func(_ string, slot reflect.Value) {
		if mv.Type().Implements(slot.Type()) {
			slot.Set(mv)
		}
	})
}

func (t *Table) missing() []string {
	var names []string
	t.slots(func(name string, slot reflect.Value) {
		if slot.IsNil() && name != "Start" && name != "Plan" { // not needed for any blocking operation
			names = append(names, name)
		}
	})
	return names
}

// Close closes the modules, the highest first. Nobody may be inside an operation.
func (t *Table) Close() error {
	var errs []error
	for _, m := range slices.Backward(t.modules) {
		errs = append(errs, m.Close())
	}
	t.modules = nil
	return errors.Join(errs...)
}

package osc

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mca"
)

// Opened is a component that works in an instance.
type Opened struct {
	Name    string
	Factory Factory
}

// Open opens the components that the selection list "osc" allows, in the order of their names. It is called once an instance, by all ranks.
func Open(reg *mca.Registry, params *mca.Params, env *Env) ([]Opened, error) {
	sel := params.Selection("osc")
	asked := sel.Names()
	var out []Opened
	for _, c := range reg.Components("osc") {
		if !sel.Allows(c.Name()) {
			continue
		}
		mine, ok := c.(Component)
		if !ok {
			return nil, fmt.Errorf("osc: component %s is a %T, which is no osc.Component", c.Name(), c)
		}
		f, err := mine.Open(env)
		switch {
		case err == nil:
			out = append(out, Opened{c.Name(), f})
		case errors.Is(err, ErrUnavailable) && !slices.Contains(asked, c.Name()):
		default:
			return nil, fmt.Errorf("osc: opening component %s: %w", c.Name(), err)
		}
	}
	return out, nil
}

// Undoer is a module that can go although other members have none: Enable has failed there, and another component gets the window. Undo is called
// without the token, in place of Free, and does not communicate. The module's memory is Win's to release, as after Free.
type Undoer interface {
	Undo() error
}

// candidate is a component that would serve a window.
type candidate struct {
	Opened
	priority int
}

// choose gives the candidates for w, the best first, and why the others decline.
func choose(list []Opened, w *Win) (fit []candidate, reasons []string) {
	for _, o := range list {
		p, err := o.Factory.Query(w)
		if err != nil {
			reasons = append(reasons, o.Name+": "+err.Error())
			continue
		}
		fit = append(fit, candidate{o, p})
	}
	slices.SortStableFunc(fit, func(a, b candidate) int { return cmp.Compare(b.priority, a.priority) })
	return fit, reasons
}

// enable makes the module of w: the best candidate's whose Enable works at every member. All members do the same.
func (w *Win) enable(list []Opened, say func(key, message string)) error {
	fit, reasons := choose(list, w)
	var cause error
	for n, c := range fit {
		m, err := c.Factory.Enable(w)
		if err == nil && m == nil {
			err = errors.New("it gave no module")
		}
		failed := int64(0)
		if err != nil {
			failed = 1
		}
		all := []int64{failed}
		if e := w.Coll.Allreduce.Allreduce(core.InPlaceBuffer(), int64s(all), core.Sum); e != nil {
			return errors.Join(e, w.undo(m))
		}
		if all[0] == 0 {
			w.module, w.component = m, c.Name
			return nil
		}
		if err == nil {
			cause = errors.Join(cause, w.undo(m))
			err = fmt.Errorf("failed at %d other members", all[0])
		} else {
			cause = errors.Join(cause, err)
		}
		reasons = append(reasons, c.Name+": "+err.Error())
		if n+1 < len(fit) && say != nil {
			w.Engine.Lock()
			say("osc-"+c.Name, fmt.Sprintf("osc %s could not make a window, using %s instead: %v", c.Name, fit[n+1].Name, err))
			w.Engine.Unlock()
		}
	}
	return w.refused(reasons, cause)
}

// undo lets go of a module that does not get the window, and of the memory that it made. The program's memory stays, for the next one.
func (w *Win) undo(m Module) error {
	var errs []error
	if u, ok := m.(Undoer); ok && m != nil {
		errs = append(errs, u.Undo())
	}
	if w.Flavor != Create {
		errs = append(errs, w.dropMemory())
	}
	return errors.Join(errs...)
}

// refused is the error of a window that no component makes.
func (w *Win) refused(reasons []string, cause error) error {
	class := core.ErrUnsupportedOperation
	switch {
	case cause != nil && core.ClassOf(cause) != core.ErrOther:
		class = core.ClassOf(cause)
	case w.Flavor == Shared && !w.OneHost:
		class = core.ErrRMAShared
	}
	if len(reasons) == 0 {
		reasons = []string{"none is open; see the parameter osc"}
	}
	return core.NewError(class, "no one-sided component makes this window: %s", strings.Join(reasons, "; "))
}

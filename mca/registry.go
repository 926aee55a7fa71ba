package mca

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Registry is a snapshot of the frameworks and components that are registered,
// with an instance's own extra components. It does not change once built and
// is safe for concurrent use.
type Registry struct {
	frameworks []Framework // sorted by name
	components map[string][]Component
	structs    []*optionStruct // in the order of listings
	params     []*param        // in the order of listings
	byName     map[string]*param
}

// param is one parameter: a field of an option struct, or a selection list.
type param struct {
	name      string
	framework string
	component string        // BaseName for the framework's own
	opt       *option       // nil for a selection list
	owner     *optionStruct // nil for a selection list
}

// optionStruct is one registered option struct with its parameters.
type optionStruct struct {
	framework string
	component string // BaseName for the framework's own
	typ       reflect.Type
	fresh     func() any
	params    []*param
}

// NewRegistry returns what packages have registered so far plus extra, the
// components of one instance alone ([github.com/ompi-go/ompi-go/ompi.WithComponent]).
// It fails when an extra component has a name that is taken, when a component
// belongs to a framework nobody registered, and when an option struct is
// declared wrongly; all such problems are reported together.
func NewRegistry(extra ...Component) (*Registry, error) {
	frameworks, components := builtin.snapshot()
	return BuildRegistry(frameworks, append(components, extra...))
}

// BuildRegistry is NewRegistry over given frameworks and components instead of
// the registered ones, so that tests need not touch what the program registered.
func BuildRegistry(frameworks []Framework, components []Component) (*Registry, error) {
	r := &Registry{
		frameworks: slices.Clone(frameworks),
		components: make(map[string][]Component),
		byName:     make(map[string]*param),
	}
	slices.SortFunc(r.frameworks, func(a, b Framework) int { return strings.Compare(a.Name, b.Name) })
	var errs []error
	for i, f := range r.frameworks {
		if err := checkFramework(f); err != nil {
			errs = append(errs, err)
		} else if i > 0 && r.frameworks[i-1].Name == f.Name {
			errs = append(errs, fmt.Errorf("framework %s is registered twice", f.Name))
		}
	}
	for _, c := range components {
		if err := r.addComponent(c); err != nil {
			errs = append(errs, err)
		}
	}
	for _, list := range r.components {
		slices.SortFunc(list, func(a, b Component) int { return strings.Compare(a.Name(), b.Name()) })
	}
	for _, f := range r.frameworks {
		errs = append(errs, r.declare(f)...)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return r, nil
}

func (r *Registry) addComponent(c Component) error {
	if err := checkComponent(c); err != nil {
		return err
	}
	f, ok := r.Framework(c.Framework())
	switch {
	case !ok:
		return fmt.Errorf("component %s/%s: no framework %s is registered; import the framework's package",
			c.Framework(), c.Name(), c.Framework())
	case f.Flat:
		return fmt.Errorf("component %s/%s: %s is a group of parameters, it has no components", f.Name, c.Name(), f.Name)
	}
	if _, ok := r.Component(f.Name, c.Name()); ok {
		return fmt.Errorf("component %s/%s is registered twice", f.Name, c.Name())
	}
	r.components[f.Name] = append(r.components[f.Name], c)
	return nil
}

// declare enters the parameters of a framework and of its components.
func (r *Registry) declare(f Framework) []error {
	var errs []error
	if !f.Flat {
		if err := r.addParam(&param{name: f.Name, framework: f.Name, component: BaseName}); err != nil {
			errs = append(errs, err)
		}
	}
	if f.Options != nil {
		prefix := f.Name + "_" + BaseName + "_"
		if f.Flat {
			prefix = f.Name + "_"
		}
		errs = append(errs, r.declareStruct(f.Name, BaseName, prefix, f.Options)...)
	}
	for _, c := range r.components[f.Name] {
		errs = append(errs, r.declareStruct(f.Name, c.Name(), f.Name+"_"+c.Name()+"_", c.Options)...)
	}
	return errs
}

func (r *Registry) declareStruct(framework, component, prefix string, fresh func() any) []error {
	v := fresh()
	if v == nil {
		return nil
	}
	where := framework + "/" + component
	options, err := describe(v)
	if err != nil {
		return []error{fmt.Errorf("options of %s: %w", where, err)}
	}
	s := &optionStruct{framework: framework, component: component, typ: reflect.TypeOf(v), fresh: fresh}
	r.structs = append(r.structs, s)
	var errs []error
	for i := range options {
		p := &param{name: prefix + options[i].field, framework: framework, component: component, opt: &options[i], owner: s}
		s.params = append(s.params, p)
		if err := r.addParam(p); err != nil {
			errs = append(errs, fmt.Errorf("options of %s: %w", where, err))
		}
	}
	return errs
}

func (r *Registry) addParam(p *param) error {
	if have := r.byName[p.name]; have != nil {
		return fmt.Errorf("parameter %s is already declared by %s/%s", p.name, have.framework, have.component)
	}
	r.byName[p.name] = p
	r.params = append(r.params, p)
	return nil
}

// Frameworks returns the frameworks sorted by name.
func (r *Registry) Frameworks() []Framework { return slices.Clone(r.frameworks) }

// Framework returns the framework of that name.
func (r *Registry) Framework(name string) (Framework, bool) {
	for _, f := range r.frameworks {
		if f.Name == name {
			return f, true
		}
	}
	return Framework{}, false
}

// Components returns the components of a framework sorted by name, nil when
// there are none.
func (r *Registry) Components(framework string) []Component {
	return slices.Clone(r.components[framework])
}

// Component returns one component of a framework.
func (r *Registry) Component(framework, name string) (Component, bool) {
	for _, c := range r.components[framework] {
		if c.Name() == name {
			return c, true
		}
	}
	return nil, false
}

func (r *Registry) componentNames(framework string) []string {
	var names []string
	for _, c := range r.components[framework] {
		names = append(names, c.Name())
	}
	return names
}

// options finds a registered option struct; component "" is BaseName.
func (r *Registry) options(framework, component string) *optionStruct {
	if component == "" {
		component = BaseName
	}
	for _, s := range r.structs {
		if s.framework == framework && s.component == component {
			return s
		}
	}
	return nil
}

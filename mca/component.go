package mca

import (
	"fmt"
	"regexp"
	"slices"
	"sync"
)

// BaseName is the component part of a framework's own parameters
// (btl_base_verbose). No component may be called so.
const BaseName = "base"

// Component is what a framework's component registers from its init. The
// framework asserts the value to its own, larger interface.
type Component interface {
	// Framework is the name of the framework, such as "btl".
	Framework() string
	// Name is the name of the component inside its framework, such as "sm".
	Name() string
	// Options returns a pointer to a fresh option struct whose tagged fields
	// are the parameters of the component, or nil when it has none.
	Options() any
}

// Framework describes a framework to users and to [Load].
type Framework struct {
	// Name is the name of the framework, such as "btl".
	Name string
	// Help says in a few words what its components do.
	Help string
	// Many is true when all usable components are used together (btl), false
	// when the best one is (pml, mtl, osc).
	Many bool
	// Flat marks a group of general parameters rather than a framework: it has
	// no components and no selection list, and its parameters are called
	// <name>_<field>, as in mpi_yield_when_idle.
	Flat bool
	// Options returns a pointer to a fresh option struct with the framework's
	// own parameters, <name>_base_<field>. It may be nil.
	Options func() any
}

// Framework names have no underscore, so the framework a parameter belongs to
// can be read off its name.
var (
	frameworkName = regexp.MustCompile(`^[a-z][a-z0-9]*$`)
	componentName = regexp.MustCompile(`^[a-z0-9][a-z0-9_]*$`)
	fieldName     = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
)

// registrar collects what packages announce from init.
type registrar struct {
	mu         sync.Mutex
	frameworks []Framework
	components []Component
}

// builtin is the only mutable state of the package.
var builtin registrar

// Register announces a component. It is called from the init of the
// component's package and panics when the name is unfit or taken: two packages
// claiming one name is a mistake of the program, not of its user.
func Register(c Component) { builtin.addComponent(c) }

// RegisterFramework announces a framework. It is called from the init of the
// framework's package and panics when the name is unfit or taken.
func RegisterFramework(f Framework) { builtin.addFramework(f) }

func (r *registrar) addComponent(c Component) {
	if err := checkComponent(c); err != nil {
		panic("mca: Register: " + err.Error())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, have := range r.components {
		if have.Framework() == c.Framework() && have.Name() == c.Name() {
			panic(fmt.Sprintf("mca: Register: component %s/%s is registered twice", c.Framework(), c.Name()))
		}
	}
	r.components = append(r.components, c)
}

func (r *registrar) addFramework(f Framework) {
	if err := checkFramework(f); err != nil {
		panic("mca: RegisterFramework: " + err.Error())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, have := range r.frameworks {
		if have.Name == f.Name {
			panic(fmt.Sprintf("mca: RegisterFramework: framework %s is registered twice", f.Name))
		}
	}
	r.frameworks = append(r.frameworks, f)
}

// snapshot returns copies, so that later registrations do not reach a Registry
// already built.
func (r *registrar) snapshot() ([]Framework, []Component) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.frameworks), slices.Clone(r.components)
}

func checkFramework(f Framework) error {
	if !frameworkName.MatchString(f.Name) {
		return fmt.Errorf("framework name %q: want lower-case letters and digits, starting with a letter", f.Name)
	}
	return nil
}

func checkComponent(c Component) error {
	switch {
	case c == nil:
		return fmt.Errorf("nil component")
	case !frameworkName.MatchString(c.Framework()):
		return fmt.Errorf("component %q: framework name %q: want lower-case letters and digits, starting with a letter",
			c.Name(), c.Framework())
	case !componentName.MatchString(c.Name()):
		return fmt.Errorf("component name %q of framework %s: want lower-case letters, digits and underscores",
			c.Name(), c.Framework())
	case c.Name() == BaseName:
		return fmt.Errorf("component of framework %s is called %q, which stands for the framework itself", c.Framework(), BaseName)
	}
	return nil
}

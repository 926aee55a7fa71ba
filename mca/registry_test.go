package mca

import (
	"slices"
	"strings"
	"testing"
)

func TestRegistryLists(t *testing.T) {
	r := fakeRegistry(t)
	var names []string
	for _, f := range r.Frameworks() {
		names = append(names, f.Name)
	}
	if want := []string{"btl", "mpi", "pml", "progress"}; !slices.Equal(names, want) {
		t.Errorf("frameworks %v, want %v", names, want)
	}
	if got, want := r.componentNames("btl"), []string{"self", "sm", "tcp"}; !slices.Equal(got, want) {
		t.Errorf("components %v, want %v", got, want)
	}
	if r.Components("nothing") != nil {
		t.Error("an unknown framework has components")
	}
	if c, ok := r.Component("btl", "sm"); !ok || c.Name() != "sm" {
		t.Errorf("Component = %v, %v", c, ok)
	}
	// What a caller does to a returned slice stays with the caller.
	r.Components("btl")[0] = nil
	r.Frameworks()[0].Name = "x"
	if r.Components("btl")[0] == nil || r.Frameworks()[0].Name != "btl" {
		t.Error("the registry shares its slices")
	}
}

func TestNewRegistryAddsExtras(t *testing.T) {
	r, err := NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := r.Framework("nobody"); ok {
		t.Fatal("framework nobody exists")
	}
	_, err = NewRegistry(fake{"nobody", "x", nil})
	wantError(t, err, "component nobody/x", "no framework nobody", "import")
}

func TestRegistrarPanics(t *testing.T) {
	var r registrar
	r.addFramework(Framework{Name: "btl"})
	r.addComponent(fake{"btl", "sm", nil})
	r.addComponent(fake{"pml", "sm", nil}) // the same name elsewhere
	for name, call := range map[string]func(){
		"framework btl is registered twice":    func() { r.addFramework(Framework{Name: "btl"}) },
		"component btl/sm is registered twice": func() { r.addComponent(fake{"btl", "sm", nil}) },
		`framework name "b_l"`:                 func() { r.addFramework(Framework{Name: "b_l"}) },
		`framework name ""`:                    func() { r.addComponent(fake{"", "sm", nil}) },
		`component name "s-m"`:                 func() { r.addComponent(fake{"btl", "s-m", nil}) },
		`is called "base"`:                     func() { r.addComponent(fake{"btl", "base", nil}) },
		"nil component":                        func() { r.addComponent(nil) },
	} {
		func() {
			defer func() {
				if msg, _ := recover().(string); !strings.Contains(msg, name) {
					t.Errorf("panic %q, want one with %q", msg, name)
				}
			}()
			call()
		}()
	}
}

func TestSnapshotIsStable(t *testing.T) {
	var r registrar
	r.addFramework(Framework{Name: "btl"})
	frameworks, components := r.snapshot()
	r.addFramework(Framework{Name: "pml"})
	r.addComponent(fake{"btl", "sm", nil})
	if len(frameworks) != 1 || len(components) != 0 {
		t.Error("a snapshot grew")
	}
}

func TestBuildRegistryRefuses(t *testing.T) {
	type dup struct {
		A int `mca:"x" help:"h"`
		B int `mca:"x" help:"h"`
	}
	type unexported struct {
		a int `mca:"x" help:"h"` //lint:ignore U1000 its being unexported is the point
	}
	type inner struct {
		A int `mca:"x" help:"h"`
	}
	type Pointed struct {
		A int `mca:"x" help:"h"`
	}
	type byPointer struct{ *Pointed }
	options := func(v any) []Component {
		return []Component{fake{"btl", "sm", func() any { return v }}}
	}
	for name, test := range map[string]struct {
		components []Component
		want       []string
	}{
		"twice":       {[]Component{fake{"btl", "sm", nil}, fake{"btl", "sm", nil}}, []string{"btl/sm", "twice"}},
		"flat":        {[]Component{fake{"mpi", "x", nil}}, []string{"mpi/x", "no components"}},
		"not pointer": {options(inner{}), []string{"btl/sm", "pointer to a struct"}},
		"nil pointer": {options((*inner)(nil)), []string{"pointer to a struct"}},
		"same tag":    {options(&dup{}), []string{"A and B", `"x"`}},
		"unexported":  {options(&unexported{}), []string{"field a", "not exported"}},
		"by pointer":  {options(&byPointer{}), []string{"embedded by pointer"}},
		"no help": {options(&struct {
			A int `mca:"x"`
		}{}), []string{"field A", "help"}},
		"stray tag": {options(&struct {
			A int `help:"x"`
		}{}), []string{"field A", "help tag but no mca tag"}},
		"bad name": {options(&struct {
			A int `mca:"X" help:"h"`
		}{}), []string{`"X"`}},
		"bad type": {options(&struct {
			A []int `mca:"x" help:"h"`
		}{}), []string{"[]int"}},
		"bad default": {options(&struct {
			A int `mca:"x" default:"12abc" help:"h"`
		}{}), []string{`default "12abc"`, "not an integer"}},
		"default below min": {options(&struct {
			A int `mca:"x" default:"0" min:"1" help:"h"`
		}{}), []string{"too small", "at least 1"}},
		"default not in enum": {options(&struct {
			A string `mca:"x" default:"c" enum:"a|b" help:"h"`
		}{}), []string{`"c" is not a known value`}},
		"level": {options(&struct {
			A int `mca:"x" level:"10" help:"h"`
		}{}), []string{"level", "1 to 9"}},
		"settable": {options(&struct {
			A int `mca:"x" settable:"maybe" help:"h"`
		}{}), []string{"settable"}},
		"enum of int": {options(&struct {
			A int `mca:"x" enum:"a|b" help:"h"`
		}{}), []string{"enum"}},
		"empty enum": {options(&struct {
			A string `mca:"x" enum:"a||b" help:"h"`
		}{}), []string{"enum", "distinct"}},
		"min of string": {options(&struct {
			A string `mca:"x" min:"1" help:"h"`
		}{}), []string{"string cannot have a min"}},
		"bad max": {options(&struct {
			A int `mca:"x" max:"many" help:"h"`
		}{}), []string{`max tag "many"`}},
		"name clash": {[]Component{
			fake{"btl", "a", func() any {
				return &struct {
					A int `mca:"b_c" help:"h"`
				}{}
			}},
			fake{"btl", "a_b", func() any {
				return &struct {
					A int `mca:"c" help:"h"`
				}{}
			}},
		}, []string{"btl_a_b_c", "already declared by btl/a"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := BuildRegistry(fakeFrameworks(), test.components)
			wantError(t, err, test.want...)
		})
	}
	_, err := BuildRegistry([]Framework{{Name: "a"}, {Name: "a"}, {Name: "B"}}, nil)
	wantError(t, err, "framework a is registered twice", `framework name "B"`)
}

// wantError checks that err says each of the parts.
func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q lacks %q", err, part)
		}
	}
}

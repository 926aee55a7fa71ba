package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ompi-go/ompi-go/mca"
)

const usage = `Usage: ompi_info [OPTION]...
Shows the frameworks, components and parameters of this build of ompi-go,
and the value and data source each parameter has here.

  -a, --all                      show everything (parameters up to level 9)
      --param FRAMEWORK COMPONENT
                                 show the parameters of a component, "base" for
                                 the framework's own, "all" for every one;
                                 may be given several times
      --level N                  show parameters up to level N, 1 to 9
                                 (default 1; 9 with --all)
      --parsable, --parseable    one fact a line, fields separated by colons
      --mca NAME VALUE           set a parameter first, as mpirun would
      --explain pml COMPONENT --size N --peer KIND
                                 tell how that component would send a message of
                                 N bytes (suffixes k, m, g) to a peer of that
                                 kind: self, process (another goroutine of this
                                 process), host (another process of this host)
                                 or remote, and why
  -V, --version                  show the version
  -h, --help                     show this text

Levels: 1-3 for users, 4-6 for tuning, 7-9 for developers; in each the first is
basic, the second detailed, the third everything.

What is wrong in a parameter file or the environment is reported, and left out
of what is shown. Exit status:
1 when there is one or a name is unknown, 2 for a wrong command line.
`

// request is what the command line asks for.
type request struct {
	all, parsable, help, version bool
	level                        int // 0 when not given
	targets                      []target
	settings                     []mca.Setting
	explain                      explanation
}

// target is one --param.
type target struct{ framework, component string }

const everything = "all"

// option is a flag with its values.
type option struct {
	names  []string
	values string // what is missing when there are too few
	count  int
	apply  func(*request, []string) error
}

func options() []option {
	return []option{
		{names: []string{"--all", "-a"}, apply: func(r *request, _ []string) error { r.all = true; return nil }},
		{names: []string{"--param"}, values: "a framework and a component", count: 2, apply: func(r *request, v []string) error {
			r.targets = append(r.targets, target{v[0], v[1]})
			return nil
		}},
		{names: []string{"--level"}, values: "a number", count: 1, apply: func(r *request, v []string) (err error) {
			if r.level, err = strconv.Atoi(v[0]); err != nil || r.level < 1 || r.level > 9 {
				return fmt.Errorf("--level %s: want a number from 1 to 9", v[0])
			}
			return nil
		}},
		{names: []string{"--parsable", "--parseable"}, apply: func(r *request, _ []string) error { r.parsable = true; return nil }},
		{names: []string{"--mca", "-mca"}, values: "a name and a value", count: 2, apply: func(r *request, v []string) error {
			r.settings = append(r.settings, mca.CommandLine(v[0], v[1]))
			return nil
		}},
		{names: []string{"--explain"}, values: "pml and a component", count: 2, apply: func(r *request, v []string) error {
			r.explain.target = &target{v[0], v[1]}
			return nil
		}},
		{names: []string{"--size"}, values: "a number of bytes", count: 1, apply: func(r *request, v []string) (err error) {
			if r.explain.size, err = mca.ParseSize(v[0]); err != nil {
				return fmt.Errorf("--size %s: %w; want a number of bytes, such as 4096, 64k or 1m", v[0], err)
			}
			r.explain.sized = true
			return nil
		}},
		{names: []string{"--peer"}, values: "self, process, host or remote", count: 1, apply: func(r *request, v []string) error {
			for _, l := range kinds {
				if l.String() == v[0] {
					r.explain.peer, r.explain.peered = l, true
					return nil
				}
			}
			return fmt.Errorf("--peer %s: want self, process, host or remote", v[0])
		}},
		{names: []string{"--version", "-V"}, apply: func(r *request, _ []string) error { r.version = true; return nil }},
		{names: []string{"--help", "-h"}, apply: func(r *request, _ []string) error { r.help = true; return nil }},
	}
}

func parseArgs(args []string) (request, error) {
	var r request
	table := make(map[string]option)
	var names []string
	for _, o := range options() {
		for _, name := range o.names {
			table[name] = o
			names = append(names, name)
		}
	}
	for len(args) > 0 {
		flag := args[0]
		o, ok := table[flag]
		if !ok {
			return r, unknownArgument(flag, names)
		}
		if len(args) <= o.count {
			return r, fmt.Errorf("%s needs %s", flag, o.values)
		}
		for _, value := range args[1 : 1+o.count] {
			if _, isOption := table[value]; isOption { // else --level would be a component, and its number too much
				return r, fmt.Errorf("%s needs %s, and %s is an option", flag, o.values, value)
			}
		}
		if err := o.apply(&r, args[1:1+o.count]); err != nil {
			return r, err
		}
		args = args[1+o.count:]
	}
	return r, r.explain.complete()
}

func unknownArgument(arg string, names []string) error {
	if !strings.HasPrefix(arg, "-") {
		return fmt.Errorf("unexpected argument %q", arg)
	}
	return fmt.Errorf("unknown option %q%s", arg, perhaps(mca.Nearest(arg, names)))
}

func perhaps(near []string) string {
	if len(near) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(near, " or ") + "?"
}

// header reports whether version and all components are shown: not when only
// some parameters are asked for.
func (r request) header() bool { return r.all || len(r.targets) == 0 }

func (r request) maxLevel() int {
	switch {
	case r.level > 0:
		return r.level
	case r.all:
		return 9
	}
	return 1
}

// wants reports whether the parameters of a component are asked for.
func (r request) wants(framework, component string) bool {
	if r.all {
		return true
	}
	for _, t := range r.targets {
		if (t.framework == everything || t.framework == framework) && (t.component == everything || t.component == component) {
			return true
		}
	}
	return false
}

// check reports a framework or component that does not exist. "all" of either
// exists always; in all frameworks together a component must be somewhere.
func (t target) check(reg *mca.Registry) error {
	var frameworks, components []string
	found := false
	for _, f := range reg.Frameworks() {
		frameworks = append(frameworks, f.Name)
		if t.framework != everything && t.framework != f.Name {
			continue
		}
		found = true
		for _, c := range reg.Components(f.Name) {
			components = append(components, c.Name())
		}
	}
	if !found {
		return fmt.Errorf("there is no framework %q%s (the frameworks are %s)",
			t.framework, perhaps(mca.Nearest(t.framework, frameworks)), strings.Join(frameworks, ", "))
	}
	components = append(components, mca.BaseName)
	for _, name := range append(components, everything) {
		if t.component == name {
			return nil
		}
	}
	return fmt.Errorf("framework %s has no component %q%s (the components are %s)",
		t.framework, t.component, perhaps(mca.Nearest(t.component, components)), strings.Join(components, ", "))
}

package mca

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// sharedPrefixes begin names of other MPI libraries' general parameters. Where
// we have a group of the same name, a name we do not know in it may well be
// theirs, so files and the environment may hold it.
var sharedPrefixes = []string{"mca", "mpi", "ompi", "opal", "orte", "oshmem", "pmix", "prte", "rte"}

// frameworkOf returns the framework a parameter's name claims to belong to.
func (r *Registry) frameworkOf(name string) (Framework, bool) {
	prefix, _, _ := strings.Cut(name, "_")
	return r.Framework(prefix)
}

// foreign reports whether an unknown name may be meant for another MPI library.
func (r *Registry) foreign(name string) bool {
	f, ok := r.frameworkOf(name)
	if ok && !f.Flat {
		return r.openMPI(f.Name, strings.TrimPrefix(strings.TrimPrefix(name, f.Name), "_"))
	}
	return !ok || slices.Contains(sharedPrefixes, f.Name)
}

// unknown says what about a parameter's name is unknown, with near names.
func (r *Registry) unknown(name string) error {
	if name == "" {
		return errors.New("unknown parameter: the name is empty")
	}
	f, ok := r.frameworkOf(name)
	if !ok {
		prefix, _, _ := strings.Cut(name, "_")
		return fmt.Errorf("unknown parameter %q: there is no framework %q%s", name, prefix, didYouMean(nearest(name, r.names(nil))))
	}
	rest := strings.TrimPrefix(strings.TrimPrefix(name, f.Name), "_")
	near := didYouMean(r.nearestIn(f.Name, rest))
	if f.Flat {
		return fmt.Errorf("unknown parameter %q: %s has no parameter %q%s", name, f.Name, rest, near)
	}
	if field, ok := strings.CutPrefix(rest, BaseName+"_"); ok {
		return fmt.Errorf("unknown parameter %q: framework %s itself has no parameter %q%s", name, f.Name, field, near)
	}
	known := r.componentNames(f.Name)
	owner := ""
	for _, c := range known {
		if (rest == c || strings.HasPrefix(rest, c+"_")) && len(c) > len(owner) {
			owner = c
		}
	}
	if owner == "" {
		return fmt.Errorf("unknown parameter %q: framework %s has no component of that name (%s)%s",
			name, f.Name, components(f.Name, known), near)
	}
	field := strings.TrimPrefix(strings.TrimPrefix(rest, owner), "_")
	return fmt.Errorf("unknown parameter %q: component %s of framework %s has no parameter %q%s", name, owner, f.Name, field, near)
}

// nearestIn compares without the framework's name, which all candidates share
// and which would make strangers look alike.
func (r *Registry) nearestIn(framework, rest string) []string {
	prefix := framework + "_"
	var candidates []string
	for _, name := range r.names(func(p *param) bool { return p.framework == framework && p.opt != nil }) {
		candidates = append(candidates, strings.TrimPrefix(name, prefix))
	}
	near := nearest(rest, candidates)
	for i := range near {
		near[i] = prefix + near[i]
	}
	return near
}

// names returns the names of the parameters that keep accepts, all when it is nil.
func (r *Registry) names(keep func(*param) bool) []string {
	var names []string
	for _, p := range r.params {
		if keep == nil || keep(p) {
			names = append(names, p.name)
		}
	}
	return names
}

package mca

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Selection is the value of a framework's selection list. The zero value
// allows every component.
type Selection struct {
	names   []string
	exclude bool
}

// Allows reports whether the component may be used.
func (s Selection) Allows(component string) bool {
	if len(s.names) == 0 {
		return true
	}
	return slices.Contains(s.names, component) != s.exclude
}

// Names returns the components asked for by name, in the user's order, or nil
// when the list excludes or is empty. A component asked for by name that cannot
// be used deserves an error; one that merely was not excluded does not.
func (s Selection) Names() []string {
	if s.exclude {
		return nil
	}
	return slices.Clone(s.names)
}

// String returns the selection as the user writes it, "" for no restriction.
func (s Selection) String() string {
	list := strings.Join(s.names, ",")
	if s.exclude {
		return "^" + list
	}
	return list
}

const selectionForm = `expected a comma-separated list of components to use ("a,b"), or of components not to use ("^a,b")`

// parseSelection reads "a,b" or "^a,b"; "" is no restriction, as in Open MPI.
func parseSelection(text string) (Selection, error) {
	var s Selection
	list := strings.TrimSpace(text)
	if list == "" {
		return s, nil
	}
	list, s.exclude = strings.CutPrefix(list, "^")
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		switch {
		case name == "":
			return Selection{}, errors.New("it has an empty name; " + selectionForm)
		case strings.Contains(name, "^"):
			return Selection{}, errors.New("only one ^ is allowed, at the start, where it negates the whole list; " + selectionForm)
		case slices.Contains(s.names, name):
			return Selection{}, fmt.Errorf("it names %s twice; %s", name, selectionForm)
		}
		s.names = append(s.names, name)
	}
	return s, nil
}

// checkSelection reads the selection list of a framework and checks that every
// component it names exists, also those it excludes.
func (r *Registry) checkSelection(framework, text string) (Selection, error) {
	s, err := parseSelection(text)
	if err != nil {
		return s, err
	}
	known := r.componentNames(framework)
	var errs []string
	for _, name := range s.names {
		if slices.Contains(known, name) {
			continue
		}
		near := nearest(name, known)
		if heir := successor(framework, name); slices.Contains(known, heir) {
			near = []string{heir}
		}
		errs = append(errs, fmt.Sprintf("framework %s has no component %q%s", framework, name, didYouMean(near)))
	}
	if errs == nil {
		return s, nil
	}
	return Selection{}, fmt.Errorf("%s (%s)", strings.Join(errs, "; "), components(framework, known))
}

// components tells the user what there is to choose from.
func components(framework string, known []string) string {
	if len(known) == 0 {
		return framework + " has no components"
	}
	return "the components of " + framework + " are " + strings.Join(known, ", ")
}

// ParseSelection reads a parameter that is a list to use ("a,b") or not to use ("^a,b") out of known names, as the selection lists of
// frameworks are. The error names the nearest known one.
func ParseSelection(text string, known []string) (Selection, error) {
	s, err := parseSelection(text)
	if err != nil {
		return s, err
	}
	for _, name := range s.names {
		if !slices.Contains(known, name) {
			return Selection{}, fmt.Errorf("it names %q%s (there are %s)", name, didYouMean(nearest(name, known)), strings.Join(known, ", "))
		}
	}
	return s, nil
}

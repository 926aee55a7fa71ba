// Package metrics is how a layer shows its counters. The counters are plain integers of an engine, written with its token held;
// a layer that has some is a Source, which reads them out when asked. Collector asks the sources of one instance under the token
// and hands a snapshot to the Prometheus library, so that no message ever pays for being counted beyond an addition.
//
// Every layer may describe counters with this package; it knows none of them. Package ompi makes the Collector.
package metrics

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Desc describes a counter: a number that begins at 0 and only grows. Descs are declared once, as package variables that nobody
// changes. Several sources may give the same one, declared alike; series with equal labels are added up.
type Desc struct {
	Name   string   // ompi_<layer>_<what>_total, where <what> ends with the unit unless it counts things
	Help   string   // one sentence: what is counted, and when
	Labels []string // names of the labels, in the order in which values are emitted
}

// Emit takes the value of a counter; values of the labels come in the order of d.Labels.
type Emit func(d *Desc, value uint64, labels ...string)

// Source is a layer with counters.
type Source interface {
	// Describe lists every counter that Metrics may emit. It needs no token and always gives the same.
	Describe() []*Desc
	// Metrics reads the counters out, with the token held: it must be brief and must not block.
	Metrics(emit Emit)
}

// RankLabel is the label that tells the ranks of a job apart. Sources do not give it: it is the same for all of an instance.
const RankLabel = "rank"

var (
	nameForm  = regexp.MustCompile(`^ompi(_[a-z0-9]+)+_total$`)
	labelForm = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
)

// check reports what is wrong with a declaration.
func (d *Desc) check() error {
	if !nameForm.MatchString(d.Name) {
		return fmt.Errorf("metrics: counter %q is not named ompi_<layer>_<what>_total", d.Name)
	}
	if d.Help == "" {
		return fmt.Errorf("metrics: counter %s has no help text", d.Name)
	}
	for i, l := range d.Labels {
		if !labelForm.MatchString(l) || l == RankLabel || slices.Contains(d.Labels[:i], l) {
			return fmt.Errorf("metrics: counter %s: label %q is malformed, reserved or there twice", d.Name, l)
		}
	}
	return nil
}

func (d *Desc) equal(e *Desc) bool {
	return d.Name == e.Name && d.Help == e.Help && slices.Equal(d.Labels, e.Labels)
}

// Describe lists the counters of all sources by name, each once. The error tells which declaration is wrong, or differs from
// another of its name.
func Describe(sources ...Source) ([]*Desc, error) {
	var all []*Desc
	byName := make(map[string]*Desc)
	for _, s := range sources {
		for _, d := range s.Describe() {
			if err := d.check(); err != nil {
				return nil, err
			}
			have := byName[d.Name]
			if have == nil {
				byName[d.Name] = d
				all = append(all, d)
			} else if !have.equal(d) {
				return nil, fmt.Errorf("metrics: counter %s is declared twice, differently: %q %v and %q %v", d.Name, have.Help, have.Labels, d.Help, d.Labels)
			}
		}
	}
	slices.SortFunc(all, func(a, b *Desc) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// Package rules is the decision table of collective operations: which algorithm serves which operation, for how many ranks and bytes. It
// reads and writes the table's text form:
//
//	# a comment
//	version 1
//
//	bcast
//	    ranks 1
//	        bytes 0    binomial
//	        bytes 64k  scatter_allgather|scatter_allgather_ring
//	    ranks 9
//	        bytes 0    binomial
//	        bytes 512k pipeline segment 64k
//
//	allreduce commutative
//	    ...
//	allreduce noncommutative
//	    ...
//
// The first line that is no comment names the version of the form. A section holds one operation, for reductions two: one for operators
// that commute, one for those that do not and so need an algorithm that keeps operands in order. A line `ranks` holds from its number of
// ranks up to the next one in the section, a line `bytes` from its size up to the next one; the first of each begin at 1 and 0, so that
// nothing is left out. What is counted is alg.Args.Bytes; sizes may end in k, m, g. Algorithms are named as in alg.List; of several, the
// first that can serve the number of ranks is taken, and the last must serve any. A segment is the size of the pieces in which pipelines
// send. Every operation must have its sections, unless `include default` after the version takes those that are missing from the table
// that is built in. Indentation has no meaning.
//
// Component tuned chooses by such a table, ompi-bench writes one. Nobody else calls this package.
package rules

import (
	"fmt"
	"strings"

	"github.com/ompi-go/ompi-go/coll/alg"
)

// Version is the version of the text form.
const Version = 1

// Table is a whole decision table. It does not change once made.
type Table struct {
	// Of reductions the second is for operators that do not commute; other operations have the first only.
	sections [alg.Kinds][2][]Ranks
}

// Ranks are the rules from a number of ranks on.
type Ranks struct {
	From  int
	Rules []Rule // from 0 bytes on, ascending
}

// Rule is what serves from a size on.
type Rule struct {
	From       int64
	Algorithms []*alg.Algorithm // in the order of preference; the last serves any number of ranks
	Segment    int64            // 0: the algorithm's own
}

// Choices are the rules for one number of ranks.
type Choices struct {
	size  int
	rules [alg.Kinds][2][]Rule
}

// For gives the rules for communicators of size ranks.
func (t *Table) For(size int) Choices {
	c := Choices{size: size}
	for k := range t.sections {
		for o, section := range t.sections[k] {
			for i := range section {
				if section[i].From <= size {
					c.rules[k][o] = section[i].Rules
				}
			}
		}
	}
	return c
}

// Choose gives the algorithm for a, and sets the segment. The table is complete, so there is one.
func (c *Choices) Choose(a *alg.Args, bytes int64) *alg.Algorithm {
	order := 0
	if a.Op != nil && !a.Op.Commutative() {
		order = 1
	}
	rules := c.rules[a.Kind][order]
	i := len(rules) - 1
	for i > 0 && rules[i].From > bytes {
		i--
	}
	r := &rules[i]
	a.Segment = r.Segment
	for _, g := range r.Algorithms {
		if g.Fits == nil || g.Fits(c.size) {
			return g
		}
	}
	panic("coll/rules: a rule without an algorithm that serves any number of ranks") // Parse and Set refuse it
}

// orders are the sections that an operation has.
func orders(k alg.Kind) []string {
	if k.Reduces() {
		return []string{" commutative", " noncommutative"}
	}
	return []string{""}
}

// Set replaces a section. It says what is wrong with the new one.
func (t *Table) Set(k alg.Kind, commutative bool, section []Ranks) error {
	order := 0
	if k.Reduces() && !commutative {
		order = 1
	}
	from := 0
	for i, rs := range section {
		if i == 0 && rs.From != 1 || i > 0 && rs.From <= from {
			return fmt.Errorf("rules for %s: numbers of ranks must ascend from 1", k)
		}
		from = rs.From
		if err := check(k, order, rs.Rules); err != nil {
			return err
		}
	}
	if len(section) == 0 {
		return fmt.Errorf("rules for %s: there are none", k)
	}
	t.sections[k][order] = section
	return nil
}

func check(k alg.Kind, order int, rules []Rule) error {
	if len(rules) == 0 || rules[0].From != 0 {
		return fmt.Errorf("rules for %s must begin at 0 bytes", k)
	}
	for i, r := range rules {
		if i > 0 && r.From <= rules[i-1].From {
			return fmt.Errorf("rules for %s: sizes must ascend", k)
		}
		if r.Segment < 0 {
			return fmt.Errorf("rules for %s: a segment of %d bytes", k, r.Segment)
		}
		for _, g := range r.Algorithms {
			if err := fits(k, order, g); err != nil {
				return err
			}
		}
		if err := last(r.Algorithms); err != nil {
			return fmt.Errorf("rules for %s: %w", k, err)
		}
	}
	return nil
}

// fits says why an algorithm cannot be in a section.
func fits(k alg.Kind, order int, g *alg.Algorithm) error {
	switch {
	case g.Kind != k:
		return fmt.Errorf("%s is an algorithm of %s, not of %s", g.Name, g.Kind, k)
	case order == 1 && !g.Ordered:
		return fmt.Errorf("%s %s does not keep operands in order; those that do are %s", k, g.Name, names(k, true))
	}
	return nil
}

// last says why a list of algorithms does not serve every number of ranks.
func last(list []*alg.Algorithm) error {
	if len(list) == 0 {
		return fmt.Errorf("a rule names no algorithm")
	}
	if g := list[len(list)-1]; g.Fits != nil {
		return fmt.Errorf("%s cannot serve every number of ranks (%s); name another after it, as in %s|%s", g.Name, g.Help, g.Name, alg.List(g.Kind)[0].Name)
	}
	return nil
}

// names lists the algorithms of an operation.
func names(k alg.Kind, ordered bool) string {
	var list []string
	for _, g := range alg.List(k) {
		if g.Ordered || !ordered {
			list = append(list, g.Name)
		}
	}
	return strings.Join(list, ", ")
}

package rules

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/ompi-go/ompi-go/coll/alg"
)

// Parse reads a table. name is the file's, for errors, which tell the line of each thing that is wrong. base is what `include default`
// stands for; nil where there is nothing to include.
func Parse(name, text string, base *Table) (*Table, error) {
	p := parser{name: name, base: base, order: -1}
	for i, line := range strings.Split(text, "\n") {
		p.line = i + 1
		line, _, _ = strings.Cut(line, "#")
		if words := strings.Fields(line); len(words) > 0 {
			p.take(words)
		}
		if p.stop {
			return nil, errors.Join(p.errs...)
		}
	}
	p.finish()
	if len(p.errs) > 0 {
		return nil, errors.Join(p.errs...)
	}
	return &p.table, nil
}

// parser goes through the lines.
type parser struct {
	name    string
	line    int
	base    *Table
	table   Table
	errs    []error
	stop    bool // the rest makes no sense
	version bool
	include bool

	// The present section; order is -1 where there is none, or one of an operation that nobody knows.
	kind   alg.Kind
	order  int
	opened int // line of the present line `ranks`; 0: none
	skip   bool
	lines  [alg.Kinds][2]int // where each section begins
}

const maxErrors = 20

func (p *parser) fail(format string, args ...any) {
	p.errs = append(p.errs, fmt.Errorf("%s:%d: %s", p.name, p.line, fmt.Sprintf(format, args...)))
	if len(p.errs) == maxErrors {
		p.errs = append(p.errs, fmt.Errorf("%s: there are more errors", p.name))
		p.stop = true
	}
}

func (p *parser) take(words []string) {
	switch {
	case !p.version:
		p.takeVersion(words)
	case words[0] == "version":
		p.fail("the version is said once, in the first line")
	case words[0] == "include":
		p.takeInclude(words)
	case words[0] == "ranks":
		p.takeRanks(words)
	case words[0] == "bytes":
		p.takeBytes(words)
	default:
		p.takeSection(words)
	}
}

func (p *parser) takeVersion(words []string) {
	p.version = true
	if len(words) != 2 || words[0] != "version" {
		p.fail("want `version %d` in the first line, got %q", Version, strings.Join(words, " "))
		p.stop = true
	} else if words[1] != strconv.Itoa(Version) {
		p.fail("version %s is not known; this library reads version %d", words[1], Version)
		p.stop = true
	}
}

func (p *parser) takeInclude(words []string) {
	switch {
	case len(words) != 2 || words[1] != "default":
		p.fail("want `include default`, got %q", strings.Join(words, " "))
	case p.base == nil:
		p.fail("nothing can be included here")
	default:
		p.include = true
	}
}

func (p *parser) takeSection(words []string) {
	p.endRanks()
	p.opened, p.skip, p.order = 0, false, -1
	k, ok := alg.KindNamed(words[0])
	if !ok {
		p.fail("unknown operation %q; operations are %s", words[0], kindNames())
		p.skip = true
		return
	}
	order := 0
	want := "alone"
	rest := strings.Join(words[1:], " ")
	good := rest == ""
	if k.Reduces() {
		want = "followed by commutative or noncommutative"
		good = rest == "commutative" || rest == "noncommutative"
		if rest == "noncommutative" {
			order = 1
		}
	}
	if !good {
		p.fail("want %s %s, got %q", k, want, strings.Join(words, " "))
		p.skip = true
		return
	}
	if at := p.lines[k][order]; at != 0 {
		p.fail("this section is there already, in line %d", at)
		p.skip = true
		return
	}
	p.kind, p.order = k, order
	p.lines[k][order] = p.line
}

// section is the present section, nil where lines cannot be taken.
func (p *parser) section(what string) *[]Ranks {
	if p.order < 0 {
		if !p.skip {
			p.fail("%s before the name of an operation", what)
		}
		return nil
	}
	return &p.table.sections[p.kind][p.order]
}

func (p *parser) takeRanks(words []string) {
	p.endRanks()
	p.opened = 0
	s := p.section("ranks")
	if s == nil {
		return
	}
	p.opened = p.line
	n, err := number(words, 2)
	switch {
	case err != nil:
		p.fail("ranks: %v", err)
	case len(*s) == 0 && n != 1:
		p.fail("%s: the first line `ranks` must say 1, or fewer ranks than %d would have no rule", p.kind, n)
	case len(*s) > 0 && n <= int64((*s)[len(*s)-1].From):
		p.fail("%s: ranks %d after ranks %d; they must ascend", p.kind, n, (*s)[len(*s)-1].From)
	case n > math.MaxInt32:
		p.fail("ranks %d: there cannot be so many", n)
	}
	*s = append(*s, Ranks{From: int(min(n, math.MaxInt32))})
}

// endRanks checks that the last line `ranks` has rules.
func (p *parser) endRanks() {
	if p.opened == 0 || p.order < 0 {
		return
	}
	s := p.table.sections[p.kind][p.order]
	if len(s[len(s)-1].Rules) == 0 {
		line := p.line
		p.line = p.opened
		p.fail("no line `bytes` follows")
		p.line = line
	}
}

func (p *parser) takeBytes(words []string) {
	s := p.section("bytes")
	if s == nil {
		return
	}
	if p.opened == 0 {
		p.fail("bytes before any line `ranks`")
		return
	}
	if len(words) != 3 && (len(words) != 5 || words[3] != "segment") {
		p.fail("want `bytes SIZE ALGORITHM [segment SIZE]`, got %q", strings.Join(words, " "))
		return
	}
	rules := &(*s)[len(*s)-1].Rules
	n, err := number(words, len(words))
	switch {
	case err != nil:
		p.fail("bytes: %v", err)
	case len(*rules) == 0 && n != 0:
		p.fail("%s: the first line `bytes` must say 0, or sizes below %d would have no rule", p.kind, n)
	case len(*rules) > 0 && n <= (*rules)[len(*rules)-1].From:
		p.fail("%s: bytes %d after bytes %d; they must ascend", p.kind, n, (*rules)[len(*rules)-1].From)
	}
	r := Rule{From: n}
	for name := range strings.SplitSeq(words[2], "|") {
		g := alg.Named(p.kind, name)
		if g == nil {
			p.fail("%s has no algorithm %q; it has %s", p.kind, name, names(p.kind, p.order == 1))
			continue
		}
		if err := fits(p.kind, p.order, g); err != nil {
			p.fail("%v", err)
		}
		r.Algorithms = append(r.Algorithms, g)
	}
	if len(r.Algorithms) > 0 {
		if err := last(r.Algorithms); err != nil {
			p.fail("%v", err)
		}
	}
	if len(words) == 5 {
		if r.Segment, err = number(words[3:], 2); err != nil {
			p.fail("segment: %v", err)
		} else if r.Segment == 0 {
			p.fail("a segment of 0 bytes; leave it out for the algorithm's own")
		} else if !slices.ContainsFunc(r.Algorithms, func(g *alg.Algorithm) bool { return g.Segmented }) {
			p.fail("%s does not send in segments", words[2])
		}
	}
	*rules = append(*rules, r)
}

func (p *parser) finish() {
	p.endRanks()
	if !p.version {
		p.line = 1
		p.fail("the file is empty; want `version %d` in the first line", Version)
		return
	}
	var missing []string
	for k := range alg.Kinds {
		for order, which := range orders(k) {
			s := &p.table.sections[k][order]
			switch {
			case p.lines[k][order] != 0 && len(*s) == 0:
				p.line = p.lines[k][order]
				p.fail("%s%s: no line `ranks` follows", k, which)
			case p.lines[k][order] != 0:
			case p.include:
				*s = p.base.sections[k][order]
			default:
				missing = append(missing, k.String()+which)
			}
		}
	}
	if missing != nil && len(p.errs) == 0 {
		hint := ""
		if p.base != nil {
			hint = "; `include default` takes them from the built-in table"
		}
		p.errs = append(p.errs, fmt.Errorf("%s: no rules for %s%s", p.name, strings.Join(missing, ", "), hint))
	}
}

// number is the second of so many words: a whole number that may end in k, m or g.
func number(words []string, want int) (int64, error) {
	if len(words) != want {
		return 0, fmt.Errorf("want one number, got %q", strings.Join(words[1:], " "))
	}
	text := words[1]
	digits, shift := text, 0
	switch text[len(text)-1] {
	case 'k', 'K':
		shift = 10
	case 'm', 'M':
		shift = 20
	case 'g', 'G':
		shift = 30
	}
	if shift > 0 {
		digits = text[:len(text)-1]
	}
	n, err := strconv.ParseUint(digits, 10, 63)
	if err != nil || n > math.MaxInt64>>shift {
		return 0, fmt.Errorf("%q is no number of the form 123, 4k, 5m or 6g", text)
	}
	return int64(n << shift), nil
}

func kindNames() string {
	var list []string
	for k := range alg.Kinds {
		list = append(list, k.String())
	}
	return strings.Join(list, ", ")
}

// String is the table in the form that Parse reads. What it does not have is included.
func (t *Table) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "version %d\n", Version)
	if !t.complete() {
		b.WriteString("include default\n")
	}
	for k := range alg.Kinds {
		for order, which := range orders(k) {
			if len(t.sections[k][order]) == 0 {
				continue
			}
			fmt.Fprintf(&b, "\n%s%s\n", k, which)
			for _, rs := range t.sections[k][order] {
				fmt.Fprintf(&b, "    ranks %d\n", rs.From)
				for _, r := range rs.Rules {
					b.WriteString("        bytes ")
					fmt.Fprintf(&b, "%-5s", size(r.From))
					for i, g := range r.Algorithms {
						b.WriteByte(" |"[min(i, 1)])
						b.WriteString(g.Name)
					}
					if r.Segment > 0 {
						b.WriteString(" segment " + size(r.Segment))
					}
					b.WriteByte('\n')
				}
			}
		}
	}
	return b.String()
}

func (t *Table) complete() bool {
	for k := range alg.Kinds {
		for order := range orders(k) {
			if len(t.sections[k][order]) == 0 {
				return false
			}
		}
	}
	return true
}

// size writes a number with the largest suffix that leaves it whole.
func size(n int64) string {
	suffix := ""
	for _, s := range []string{"k", "m", "g"} {
		if n == 0 || n%1024 != 0 {
			break
		}
		n, suffix = n/1024, s
	}
	return strconv.FormatInt(n, 10) + suffix
}

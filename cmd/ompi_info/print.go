package main

import (
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/ompi-go/ompi-go/mca"
)

// printer is one notation of the listing.
type printer interface {
	fact(fact)
	component(mca.Component)
	group(framework, component string) // before the first parameter of each
	param(mca.Info)
	more(n int) // n parameters were left out
}

// pretty prints for people, laid out as Open MPI's ompi_info does: a right
// aligned label, then the text.
type pretty struct{ w io.Writer }

const labelWidth = 24

func (p *pretty) line(label, text string) {
	if label != "" {
		label += ":"
	}
	fmt.Fprintf(p.w, "%*s %s\n", labelWidth+1, label, text)
}

func (p *pretty) fact(f fact) { p.line(f.label, f.value) }

func (p *pretty) component(c mca.Component) {
	p.line("MCA "+c.Framework(), c.Name()+" ("+packageOf(c)+")")
}

func (p *pretty) group(framework, component string) {
	p.line("MCA "+framework+" "+component, strings.Repeat("-", 51))
}

func (p *pretty) param(i mca.Info) {
	text := fmt.Sprintf("parameter %q (current value: %q, data source: %s, level: %s, type: %s",
		i.Name, i.Value, i.Source.Source(), levelName(i.Level), i.Type)
	if i.Unit != "" {
		text += ", unit: " + i.Unit
	}
	if i.Settable {
		text += ", settable at run time"
	}
	if i.Deprecated != "" {
		text += ", deprecated"
	}
	p.line("MCA "+i.Framework+" "+i.Component, text+")")
	p.line("", i.Help)
	if valid := validValues(i); valid != "" {
		p.line("", "Valid values: "+valid)
	}
	if i.Deprecated != "" {
		p.line("", "Deprecated: "+i.Deprecated)
	}
}

func (p *pretty) more(n int) {
	s := "s"
	if n == 1 {
		s = ""
	}
	fmt.Fprintf(p.w, "# %d more parameter%s at --level 9\n", n, s)
}

// levelName is the name of a level as MPI_T gives it (MPI 4.1, 15.3.1):
// "4 tuner/basic".
func levelName(level int) string {
	who := [...]string{"user", "tuner", "dev"}[(level-1)/3]
	what := [...]string{"basic", "detail", "all"}[(level-1)%3]
	return fmt.Sprintf("%d %s/%s", level, who, what)
}

func validValues(i mca.Info) string {
	switch {
	case i.Type == "bool":
		return "true, false, yes, no, on, off, 1, 0"
	case i.Enum != nil && i.Type == "list":
		return "comma-separated list of " + strings.Join(i.Enum, ", ")
	case i.Enum != nil:
		return strings.Join(i.Enum, ", ")
	case i.Min != "" && i.Max != "":
		return i.Min + " to " + i.Max
	case i.Min != "":
		return "at least " + i.Min
	case i.Max != "":
		return "at most " + i.Max
	}
	return ""
}

// packageOf tells where a component comes from; outside components show here.
func packageOf(c mca.Component) string {
	t := reflect.TypeOf(c)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.PkgPath()
}

// parsable prints for programs: one fact a line, the keys and their order as
// in Open MPI (value, source, status, level, help, enumerator, deprecated,
// type), so that scripts written for its ompi_info go on working.
type parsable struct{ w io.Writer }

func (p *parsable) fact(f fact) { fmt.Fprintf(p.w, "%s:%s\n", f.key, quoted(f.value)) }

func (p *parsable) component(c mca.Component) {
	fmt.Fprintf(p.w, "mca:%s:%s:package:%s\n", c.Framework(), c.Name(), quoted(packageOf(c)))
}

func (p *parsable) group(string, string) {}

func (p *parsable) more(int) {} // programs know what they ask for

func (p *parsable) param(i mca.Info) {
	key := func(name, value string) {
		fmt.Fprintf(p.w, "mca:%s:%s:param:%s:%s:%s\n", i.Framework, i.Component, i.Name, name, value)
	}
	key("value", quoted(i.Value))
	key("source", oneLine(i.Source.Source()))
	status := "read-only"
	if i.Settable {
		status = "writeable"
	}
	key("status", status)
	key("level", fmt.Sprint(i.Level))
	key("help", oneLine(i.Help))
	names := i.Enum
	if i.Type == "bool" {
		names = []string{"false", "true"}
	}
	for n, name := range names {
		key("enumerator", fmt.Sprintf("value:%d:%s", n, name))
	}
	deprecated := "no"
	if i.Deprecated != "" {
		deprecated = "yes"
	}
	key("deprecated", deprecated)
	key("type", i.Type)
	if i.Unit != "" {
		key("unit", i.Unit)
	}
}

// quoted encloses a value that has a colon, so that it stays one field.
func quoted(value string) string {
	value = oneLine(value)
	if strings.Contains(value, ":") {
		return `"` + value + `"`
	}
	return value
}

// oneLine keeps a value that has line breaks from posing as further facts.
func oneLine(s string) string {
	return strings.NewReplacer("\r", `\r`, "\n", `\n`).Replace(s)
}

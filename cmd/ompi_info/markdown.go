package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/ompi-go/ompi-go/mca"
)

const markdownIntro = `# Parameters

Every parameter of this library with its default. Set one with
` + "`mpirun --mca NAME VALUE`" + `, a line ` + "`NAME = VALUE`" + ` in a ` + "`--tune`" + ` file, an environment
variable ` + "`OMPI_MCA_NAME`" + `, or a line ` + "`NAME = VALUE`" + ` in ` + "`$HOME/.ompi-go/mca-params.conf`" + ` or
` + "`/etc/ompi-go/mca-params.conf`" + `; the first of these that sets it counts, and
` + "`ompi.WithParam`" + ` in the program comes before them all. ` + "`ompi_info --all`" + ` shows the
values in force and where each comes from.

Integers take the suffixes k, m and g (powers of 1024) and the prefix 0x;
durations need a unit (500us, 10ms, 2s). Levels 1-3 are for users, 4-6 for
tuning, 7-9 for developers. A program may change those marked as settable while it
runs (` + "`Instance.Cvars`" + `): they concern one rank alone.
`

// WriteMarkdown writes the reference of all parameters. Only declarations go
// into it, no values in force, so it is the same wherever it is made.
func WriteMarkdown(w io.Writer, reg *mca.Registry, params *mca.Params) error {
	var b strings.Builder
	b.WriteString(markdownIntro)
	infos := params.Infos()
	for _, f := range reg.Frameworks() {
		fmt.Fprintf(&b, "\n## %s\n", f.Name)
		if f.Help != "" {
			fmt.Fprintf(&b, "\n%s\n", escape(f.Help))
		}
		if !f.Flat {
			fmt.Fprintf(&b, "\n%s\n", componentSentence(f, reg.Components(f.Name)))
		}
		group := ""
		for _, i := range infos {
			if i.Framework != f.Name {
				continue
			}
			if i.Component != group {
				group = i.Component
				if group != mca.BaseName {
					fmt.Fprintf(&b, "\n### %s/%s\n", f.Name, group)
				}
				b.WriteString("\n| name | default | type | level | meaning |\n|---|---|---|---|---|\n")
			}
			writeRow(&b, i)
		}
	}
	writeOpenMPI(&b, reg)
	_, err := io.WriteString(w, strings.TrimRight(b.String(), "\n")+"\n")
	return err
}

// writeOpenMPI says what becomes of a site's settings for Open MPI.
func writeOpenMPI(b *strings.Builder, reg *mca.Registry) {
	b.WriteString(`
## Settings made for Open MPI

Parameter files and ` + "`OMPI_MCA_*`" + ` variables may hold what was set for Open MPI. Said once a
job and otherwise ignored are parameters

- of frameworks that this library does not have;
- ` + "`FRAMEWORK_base_*`" + `, and ` + "`FRAMEWORK_COMPONENT_verbose`" + `;
- of components of Open MPI that this library does not have (see below);
- that Open MPI has for components which are here, too, such as ` + "`btl_tcp_flags`" + `.

In a list of components the former name ` + "`vader`" + ` means ` + "`sm`" + `, and what only Open MPI has is
left out, as long as something is left; both are said once. Everything else that is unknown is an error that names its
source. What is given on the command line, in a ` + "`--tune`" + ` file or in the program must be exact.

`)
	for _, f := range reg.Frameworks() {
		var only []string
		for _, name := range mca.OpenMPIComponents(f.Name) {
			if _, ok := reg.Component(f.Name, name); !ok {
				only = append(only, "`"+name+"`")
			}
		}
		if only != nil {
			fmt.Fprintf(b, "Only Open MPI's components of %s: %s.\n\n", f.Name, strings.Join(only, ", "))
		}
	}
}

func componentSentence(f mca.Framework, components []mca.Component) string {
	if len(components) == 0 {
		return "No components."
	}
	var names []string
	for _, c := range components {
		names = append(names, "`"+c.Name()+"`")
	}
	how := "the usable one of highest priority is used"
	if f.Many {
		how = "all usable ones are used together"
	}
	return "Components: " + strings.Join(names, ", ") + "; " + how + "."
}

func writeRow(b *strings.Builder, i mca.Info) {
	name := "`" + i.Name + "`"
	meaning := escape(i.Help)
	if valid := validValues(i); valid != "" && i.Type != "bool" {
		meaning += " (" + escape(valid) + ")"
	}
	if i.Settable {
		meaning += " *Settable at run time.*"
	}
	if i.Deprecated != "" {
		meaning += " **Deprecated:** " + escape(i.Deprecated)
	}
	def := ""
	if i.Default != "" {
		def = "`" + i.Default + "`"
	}
	kind := i.Type
	if i.Unit != "" {
		kind += ", " + i.Unit
	}
	fmt.Fprintf(b, "| %s | %s | %s | %d | %s |\n", name, strings.ReplaceAll(def, "|", `\|`), escape(kind), i.Level, meaning)
}

// escape keeps text from being taken for table cells, emphasis or HTML.
func escape(s string) string {
	return strings.NewReplacer("|", `\|`, "*", `\*`, "_", `\_`, "<", "&lt;", "\n", " ").Replace(s)
}

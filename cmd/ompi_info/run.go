package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/ompi-go/ompi-go/mca"
)

// Exit statuses.
const (
	exitOK    = 0
	exitError = 1 // a parameter, framework or component is wrong
	exitUsage = 2 // the command line is wrong
)

// run is main with its surroundings passed in. What it prints on errs begins
// with the name of the command.
func run(args []string, registry func(...mca.Component) (*mca.Registry, error), in mca.Input, out, errs io.Writer) int {
	complain := func(err error) {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			fmt.Fprintf(errs, "ompi_info: %s\n", line)
		}
	}
	req, err := parseArgs(args)
	if err != nil {
		complain(err)
		fmt.Fprintln(errs, "Type 'ompi_info --help' for usage.")
		return exitUsage
	}
	w := bufio.NewWriter(out)
	status := exitOK
	switch {
	case req.help:
		w.WriteString(usage)
	case req.version:
		fmt.Fprintf(w, "ompi-go %s\n", version())
	default:
		if err := show(w, req, registry, in, errs); err != nil {
			complain(err)
			status = exitError
		}
	}
	if err := w.Flush(); err != nil {
		complain(fmt.Errorf("writing the listing: %w", err))
		status = exitError
	}
	return status
}

// show prints what was asked for and returns what is wrong: a parameter, or what was asked for; then it prints nothing.
func show(w io.Writer, req request, registry func(...mca.Component) (*mca.Registry, error), in mca.Input, errs io.Writer) error {
	reg, err := registry()
	if err != nil {
		return err
	}
	if err := req.explain.check(reg); err != nil {
		return err
	}
	for _, t := range req.targets {
		if err := t.check(reg); err != nil {
			return err
		}
	}
	// What was typed must be right.
	if _, err := mca.Load(reg, mca.Input{Settings: req.settings}); err != nil {
		return err
	}
	in.Settings = append(in.Settings, req.settings...)
	in.Warn = func(msg string) { fmt.Fprintf(errs, "ompi_info: warning: %s\n", msg) }
	// With something wrong in a file or the environment the listing is wanted more than ever: it shows what is right. The error is told
	// all the same.
	params, wrong := mca.LoadGood(reg, in)
	if req.explain.target != nil {
		return errors.Join(req.explain.show(w, reg, params, req.parsable), wrong)
	}
	var p printer = &pretty{w}
	if req.parsable {
		p = &parsable{w}
	}
	if req.header() {
		for _, f := range facts() {
			p.fact(f)
		}
	}
	list(p, req, reg, params)
	return wrong
}

// list prints the components asked for, then the parameters asked for.
func list(p printer, req request, reg *mca.Registry, params *mca.Params) {
	for _, f := range reg.Frameworks() {
		for _, c := range reg.Components(f.Name) {
			if req.header() || req.wants(f.Name, c.Name()) {
				p.component(c)
			}
		}
	}
	last := ""
	more := 0
	for _, i := range params.Infos() {
		if !req.wants(i.Framework, i.Component) {
			continue
		}
		if i.Level > req.maxLevel() {
			more++
			continue
		}
		if group := i.Framework + " " + i.Component; group != last {
			p.group(i.Framework, i.Component)
			last = group
		}
		p.param(i)
	}
	if more > 0 && !req.all {
		p.more(more)
	}
}

// fact is a line of the header.
type fact struct {
	label string // for people
	key   string // for programs
	value string
}

func facts() []fact {
	return []fact{
		{"Package", "package", "ompi-go"},
		{"ompi-go", "ompi-go:version:full", version()},
		{"Go", "compiler:go:version", runtime.Version()},
		{"Architecture", "config:arch", runtime.GOOS + "/" + runtime.GOARCH},
	}
}

// version is the version of the module this program was built from, as the Go
// tool recorded it.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

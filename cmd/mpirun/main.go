package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
)

// Exit statuses of mpirun's own.
const (
	exitUsage         = 2
	exitTimeout       = 124
	exitNotExecutable = 126
	exitNotFound      = 127
)

func main() { os.Exit(run(os.Args[1:])) }

// run is the whole program; it returns the exit status.
func run(args []string) int {
	opt, err := parseArgs(args)
	if err != nil {
		say("%v", err)
		fmt.Fprintln(os.Stderr, "usage: mpirun [OPTION]... PROGRAM [ARGS...]; see mpirun --help")
		return exitUsage
	}
	switch {
	case opt.help:
		io.WriteString(os.Stdout, usage())
		return 0
	case opt.version:
		fmt.Println("mpirun (ompi-go)", version())
		return 0
	}
	for _, note := range opt.notes {
		say("%s", note)
	}
	status, err := launch(opt)
	if err != nil {
		say("%v", err)
		if e, ok := errors.AsType[*statusError](err); ok {
			return e.status
		}
		return 1
	}
	return status
}

// statusError is an error that decides the exit status.
type statusError struct {
	status int
	err    error
}

func (e *statusError) Error() string { return e.err.Error() }
func (e *statusError) Unwrap() error { return e.err }

// say prints one message, in one write so that it is not torn by the ranks' output.
func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "mpirun: "+format+"\n", args...)
}

func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

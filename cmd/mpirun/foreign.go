package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// foreignFlag is an option of another MPI library's launcher.
type foreignFlag struct {
	names []string
	args  int
	// needless says why the option is accepted and does nothing. It returns false for values that ask for something which does matter.
	needless func(values []string) (why string, ok bool)
	instead  string // what to do instead, where the option is refused
}

func always(why string) func([]string) (string, bool) {
	return func([]string) (string, bool) { return why, true }
}

// foreignFlags are the options that people who come from Open MPI or MPICH try first.
func foreignFlags() []foreignFlag {
	const one = "all ranks run on this machine; across machines use MPICH's mpiexec.hydra or Slurm's srun, see docs/launchers.md"
	return []foreignFlag{
		{names: []string{"--oversubscribe", "-oversubscribe"}, needless: always("there may be more ranks than cores")},
		{names: []string{"--allow-run-as-root", "-allow-run-as-root"}, needless: always("root may run jobs")},
		{names: []string{"--host", "-host", "-H", "--hosts", "-hosts"}, args: 1, needless: hereOnly, instead: one},
		{names: []string{"--hostfile", "-hostfile", "--machinefile", "-machinefile", "-f"}, args: 1, instead: one},
		{names: []string{"--map-by", "-map-by", "--rank-by", "-N", "-npernode", "--npernode", "-ppn"}, args: 1, instead: one},
		{names: []string{"-c", "--n"}, args: 1, instead: "the number of ranks is -n N"},
		{names: []string{"-v", "-V", "--verbose"}, instead: "the version is --version, what can be set is shown by ompi_info"},
		{names: []string{"-env", "-genv"}, args: 2, instead: "a variable is set by -x NAME=VALUE"},
		{names: []string{"-wdir", "--wdir", "-wd", "--wd"}, args: 1, instead: "ranks run in the directory in which mpirun was called"},
		{names: []string{"-bind-to", "-binding"}, args: 1, instead: "binding is --bind-to core"},
	}
}

// hereOnly takes lists of hosts that are this one.
func hereOnly(values []string) (string, bool) {
	own, err := os.Hostname()
	for host := range strings.SplitSeq(values[0], ",") {
		name, _, _ := strings.Cut(host, ":")
		if name != "localhost" && name != "127.0.0.1" && (err != nil || name != own) {
			return "", false
		}
	}
	return "ranks run on this machine", true
}

// takeForeign looks at an option that is not ours, and the words behind it. It returns the option's number of words if it does
// nothing, with a note that says so, and an error if it is refused or unknown here, too.
func takeForeign(table []flagSpec, word string, rest []string) (skip int, note string, err error) {
	name, value, glued := strings.Cut(word, "=")
	for _, f := range foreignFlags() {
		if !slices.Contains(f.names, name) {
			continue
		}
		values := rest[:min(f.args, len(rest))]
		if glued {
			values = []string{value}
		}
		if f.needless != nil && len(values) == f.args {
			if why, ok := f.needless(values); ok {
				if !glued {
					skip = f.args
				}
				return skip, fmt.Sprintf("%s is not needed: %s", name, why), nil
			}
		}
		if f.instead != "" {
			return 0, "", usagef("unknown option %s: %s", word, f.instead)
		}
	}
	return 0, "", unknownFlag(table, word)
}

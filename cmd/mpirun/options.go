package main

import (
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ompi-go/ompi-go/mca"
)

// options is a command line understood.
type options struct {
	ranks       int  // 0: as many as there are usable cores
	bindCore    bool // one core a rank
	tag         bool // prefix output with the rank
	survive     bool // --on-failure continue
	help        bool
	version     bool
	timeout     time.Duration // 0: none
	metrics     string        // listening address, "" for none
	settings    []mca.Setting // of --mca and --tune
	tuneEnv     []string      // -x arguments in tune files
	env         []string      // -x arguments
	program     string
	programArgs []string
	notes       []string // about options that do nothing
}

// flagSpec is one line of the option table: how an option is called, what follows it, and what it does.
type flagSpec struct {
	names []string
	args  []string // names of the words that follow
	help  string
	set   func(o *options, v []string) error
}

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// flagTable returns the options in the order in which the help shows them.
func flagTable() []flagSpec {
	return []flagSpec{
		{[]string{"-n", "-np", "--np"}, []string{"N"}, "number of ranks (default: the usable cores)", func(o *options, v []string) error {
			n, err := strconv.Atoi(v[0])
			if err != nil || n < 1 || n > 1<<20 {
				return fmt.Errorf("%q is not a number of ranks, which is 1 or more", v[0])
			}
			o.ranks = n
			return nil
		}},
		{[]string{"--mca", "-mca"}, []string{"NAME", "VALUE"}, "set a parameter (may be repeated)", func(o *options, v []string) error {
			if v[0] == "" {
				return errors.New("the parameter has no name")
			}
			o.settings = append(o.settings, mca.CommandLine(v[0], v[1]))
			return nil
		}},
		{[]string{"--tune"}, []string{"FILE"}, "read parameters and variables from FILE (may be repeated)", func(o *options, v []string) error {
			settings, env, err := mca.ReadTuneFile(v[0])
			o.settings = append(o.settings, settings...)
			o.tuneEnv = append(o.tuneEnv, env...)
			return err
		}},
		{[]string{"-x"}, []string{"NAME[=VALUE]"}, "set or hand on an environment variable (may be repeated)", func(o *options, v []string) error {
			if name, _, _ := strings.Cut(v[0], "="); !envName.MatchString(name) {
				return fmt.Errorf("%q is not the name of an environment variable", name)
			}
			o.env = append(o.env, v[0])
			return nil
		}},
		{[]string{"--bind-to"}, []string{"none|core"}, "bind each rank to one core, or not (default: none)", func(o *options, v []string) error {
			return choose(&o.bindCore, v[0], "none", "core")
		}},
		{[]string{"--tag-output"}, nil, "begin each line of output with [rank]", func(o *options, _ []string) error {
			o.tag = true
			return nil
		}},
		{[]string{"--timeout"}, []string{"SEC"}, "end the job after SEC seconds, with exit status 124", func(o *options, v []string) error {
			sec, err := strconv.ParseFloat(v[0], 64)
			if err != nil || math.IsNaN(sec) || sec <= 0 || sec > 1e9 {
				return fmt.Errorf("%q is not a number of seconds above 0", v[0])
			}
			o.timeout = max(1, time.Duration(sec*float64(time.Second)))
			return nil
		}},
		{[]string{"--on-failure"}, []string{"abort|continue"}, "when a rank fails, end the job or let the others go on (default: abort)",
			func(o *options, v []string) error { return choose(&o.survive, v[0], "abort", "continue") }},
		{[]string{"--metrics"}, []string{"ADDR"}, "serve the ranks' metrics over HTTP at ADDR, as in :9100 (this machine only) or host:port",
			func(o *options, v []string) (err error) {
				o.metrics, err = listenAddr(v[0])
				return err
			}},
		{[]string{"--trace"}, []string{"FILE"}, "write a timeline of the job to FILE, for ui.perfetto.dev or Chrome (sets mpi_trace_file)",
			func(o *options, v []string) error {
				file, err := filepath.Abs(v[0])
				if err != nil {
					return err
				}
				if err := writable(file); err != nil {
					return err
				}
				o.settings = append(o.settings, mca.CommandLine("mpi_trace_file", file))
				return nil
			}},
		{[]string{"-h", "--help"}, nil, "show this help", func(o *options, _ []string) error {
			o.help = true
			return nil
		}},
		{[]string{"--version"}, nil, "show the version", func(o *options, _ []string) error {
			o.version = true
			return nil
		}},
	}
}

// choose sets *second to whether the word is the second of two.
func choose(second *bool, word, no, yes string) error {
	if word != no && word != yes {
		return fmt.Errorf("%q is neither %s nor %s", word, no, yes)
	}
	*second = word == yes
	return nil
}

// listenAddr completes an address: without a host it is this machine only.
func listenAddr(s string) (string, error) {
	if !strings.Contains(s, ":") {
		s = ":" + s
	}
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		return "", fmt.Errorf("%q is not an address: want PORT, :PORT or HOST:PORT", s)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return "", fmt.Errorf("%q is not a port", port)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), nil
}

// usageError is a command line that cannot be understood.
type usageError struct{ msg string }

func (e *usageError) Error() string { return e.msg }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

// parseArgs reads the words after the program's name. Options end at the first word that is none, or at "--".
func parseArgs(args []string) (*options, error) {
	table := flagTable()
	o := &options{}
	plain := false // after --, whatever comes is the program's
	for len(args) > 0 && strings.HasPrefix(args[0], "-") && args[0] != "-" {
		word := args[0]
		args = args[1:]
		if word == "--" {
			plain = true
			break
		}
		spec := findFlag(table, word)
		if spec == nil {
			skip, note, err := takeForeign(table, word, args)
			if err != nil {
				return nil, err
			}
			args = args[skip:]
			o.notes = append(o.notes, note)
			continue
		}
		if len(args) < len(spec.args) {
			return nil, usagef("option %s needs %s", word, strings.Join(spec.args, " "))
		}
		if err := spec.set(o, args[:len(spec.args)]); err != nil {
			return nil, usagef("option %s: %v", word, err)
		}
		args = args[len(spec.args):]
		if o.help || o.version {
			return o, nil
		}
	}
	if len(args) == 0 {
		return nil, usagef("no program to run")
	}
	o.program, o.programArgs = args[0], args[1:]
	if !plain && severalPrograms(o.programArgs) {
		return nil, usagef("several programs in one job (PROGRAM : PROGRAM) are not possible; if : is an argument of %s, write -- before %[1]s", o.program)
	}
	return o, nil
}

// severalPrograms recognises the command lines of other launchers for jobs of several programs.
func severalPrograms(args []string) bool {
	colon := slices.Index(args, ":")
	return colon >= 0 && !slices.Contains(args[:colon], "--")
}

func findFlag(table []flagSpec, word string) *flagSpec {
	for i := range table {
		for _, name := range table[i].names {
			if name == word {
				return &table[i]
			}
		}
	}
	return nil
}

func unknownFlag(table []flagSpec, word string) error {
	// The likeliest slips besides misspelling: a value glued to its option, as in -n4 or --timeout=5.
	if name, _, ok := strings.Cut(word, "="); ok {
		if spec := findFlag(table, name); spec != nil {
			return usagef("unknown option %s; the value follows as a word of its own: %s %s", word, name, strings.Join(spec.args, " "))
		}
	}
	if n, ok := strings.CutPrefix(word, "-n"); ok {
		if _, err := strconv.Atoi(strings.TrimPrefix(n, "p")); err == nil {
			return usagef("unknown option %s; the value follows as a word of its own: -n N", word)
		}
	}
	var names []string
	for _, spec := range table {
		names = append(names, spec.names...)
	}
	if near := mca.Nearest(word, names); len(near) > 0 {
		return usagef("unknown option %s; did you mean %s?", word, near[0])
	}
	return usagef("unknown option %s", word)
}

// usage is the text of --help.
func usage() string {
	var b strings.Builder
	b.WriteString("Usage: mpirun [OPTION]... [--] PROGRAM [ARGS...]\n\n" +
		"Runs PROGRAM, an executable or the directory of a Go program, as the ranks of one job on this machine.\n\n")
	for _, spec := range flagTable() {
		left := strings.Join(spec.names, ", ")
		if len(spec.args) > 0 {
			left += " " + strings.Join(spec.args, " ")
		}
		fmt.Fprintf(&b, "  %-31s %s\n", left, spec.help)
	}
	b.WriteString("\nAccepted, though not needed: --oversubscribe, --allow-run-as-root, --host localhost.\n" +
		"\nThe exit status is that of the rank that failed first (128+N if signal N killed it), 124 after --timeout.\n")
	return b.String()
}

// writable finds out before a long job, and not behind it, that file cannot be written. It does not make it.
func writable(file string) error {
	folder := filepath.Dir(file)
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return fmt.Errorf("%s: there is no such folder", folder)
	}
	switch info, err := os.Stat(file); {
	case err != nil: // it will be made
		if err := unix.Access(folder, unix.W_OK|unix.X_OK); err != nil {
			return fmt.Errorf("%s: no file can be written there: %w", folder, err)
		}
	case info.IsDir():
		return fmt.Errorf("%s is a folder; name a file", file)
	default:
		if err := unix.Access(file, unix.W_OK); err != nil {
			return fmt.Errorf("%s: it cannot be written: %w", file, err)
		}
	}
	return nil
}

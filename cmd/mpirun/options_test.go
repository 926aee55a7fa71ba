package main

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"testing/fstest"

	"github.com/ompi-go/ompi-go/mca"
)

func TestParseArgs(t *testing.T) {
	tune := filepath.Join(t.TempDir(), "tune.conf")
	if err := os.WriteFile(tune, []byte("--mca btl self,sm -x A=tune\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args string
		want options
	}{
		{"prog", options{program: "prog"}},
		{"-n 4 prog -n 5 --help", options{ranks: 4, program: "prog", programArgs: []string{"-n", "5", "--help"}}},
		{"-np 2 -- -odd a", options{ranks: 2, program: "-odd", programArgs: []string{"a"}}},
		{"-n 2 -n 3 -", options{ranks: 3, program: "-"}},
		{"--mca btl tcp -mca pml ob1 p", options{program: "p", settings: []mca.Setting{
			mca.CommandLine("btl", "tcp"), mca.CommandLine("pml", "ob1"),
		}}},
		{"--tune " + tune + " p", options{program: "p", tuneEnv: []string{"A=tune"}, settings: []mca.Setting{
			{Name: "btl", Value: "self,sm", Layer: mca.LayerTune, Where: "tune " + tune + ":1"},
		}}},
		{"-x A -x B=c=d p", options{program: "p", env: []string{"A", "B=c=d"}}},
		{"--bind-to core --tag-output --timeout 1.5 --on-failure continue --metrics 9100 p", options{
			program: "p", bindCore: true, tag: true, timeout: 1500 * time.Millisecond, survive: true, metrics: "127.0.0.1:9100",
		}},
		{"--bind-to core --bind-to none --on-failure abort --metrics :0 p", options{program: "p", metrics: "127.0.0.1:0"}},
		{"--metrics 0.0.0.0:1 p", options{program: "p", metrics: "0.0.0.0:1"}},
		{"--metrics [::1]:1 p", options{program: "p", metrics: "[::1]:1"}},
		{"--np 3 p", options{program: "p", ranks: 3}},
		{"--oversubscribe -n 2 --allow-run-as-root p -c", options{program: "p", ranks: 2, programArgs: []string{"-c"},
			notes: []string{"--oversubscribe is not needed: there may be more ranks than cores", "--allow-run-as-root is not needed: root may run jobs"}}},
		{"--host localhost:4,127.0.0.1 p", options{program: "p", notes: []string{"--host is not needed: ranks run on this machine"}}},
		{"-H=localhost p", options{program: "p", notes: []string{"-H is not needed: ranks run on this machine"}}},
		{"-- p : q", options{program: "p", programArgs: []string{":", "q"}}},
		{"p -- :", options{program: "p", programArgs: []string{"--", ":"}}},
		{"p a:b", options{program: "p", programArgs: []string{"a:b"}}},
		{"-h", options{help: true}},
		{"-n 2 --help --nonsense", options{help: true, ranks: 2}},
		{"--version", options{version: true}},
	} {
		got, err := parseArgs(strings.Fields(c.args))
		if err != nil {
			t.Errorf("%s: %v", c.args, err)
			continue
		}
		if c.want.programArgs == nil && len(got.programArgs) == 0 {
			got.programArgs = nil
		}
		if !reflect.DeepEqual(*got, c.want) {
			t.Errorf("%s\n got %+v\nwant %+v", c.args, *got, c.want)
		}
	}
}

func TestParseArgsErrors(t *testing.T) {
	for args, want := range map[string]string{
		"":                            "no program to run",
		"-n 2":                        "no program to run",
		"-n 2 --":                     "no program to run",
		"-n":                          "option -n needs N",
		"-n 0 p":                      `option -n: "0" is not a number of ranks`,
		"-n -3 p":                     `"-3" is not a number of ranks`,
		"-np four p":                  `option -np: "four" is not a number of ranks`,
		"-n 99999999999999 p":         "is not a number of ranks",
		"--mca btl":                   "option --mca needs NAME VALUE",
		"--tune /nonexistent p":       "/nonexistent",
		"-x 1A=2 p":                   `"1A" is not the name of an environment variable`,
		"-x =2 p":                     `"" is not the name`,
		"--bind-to socket p":          `option --bind-to: "socket" is neither none nor core`,
		"--on-failure ignore p":       `"ignore" is neither abort nor continue`,
		"--timeout 0 p":               "is not a number of seconds",
		"--timeout -1 p":              "is not a number of seconds",
		"--timeout soon p":            "is not a number of seconds",
		"--timeout NaN p":             "is not a number of seconds",
		"--metrics 70000 p":           `"70000" is not a port`,
		"--metrics a:b:c p":           "is not an address",
		"--mcaa btl tcp p":            "unknown option --mcaa; did you mean --mca?",
		"--tagoutput p":               "unknown option --tagoutput; did you mean --tag-output?",
		"--timeout=5 p":               "the value follows as a word of its own: --timeout SEC",
		"-n4 p":                       "the value follows as a word of its own: -n N",
		"-np4 p":                      "the value follows as a word of its own: -n N",
		"--zzzzzzzzz p":               "unknown option --zzzzzzzzz",
		"-n 1 a : -n 1 b":             "several programs in one job (PROGRAM : PROGRAM) are not possible; if : is an argument of a, write -- before a",
		"-c 2 p":                      "unknown option -c: the number of ranks is -n N",
		"-v p":                        "unknown option -v: the version is --version",
		"--host a,localhost p":        "unknown option --host: all ranks run on this machine; across machines use MPICH's mpiexec.hydra",
		"--host":                      "unknown option --host: all ranks",
		"--hostfile h p":              "unknown option --hostfile: all ranks",
		"--map-by core p":             "unknown option --map-by",
		"-genv A 1 p":                 "unknown option -genv: a variable is set by -x NAME=VALUE",
		"--trace /no/such/folder/f p": "there is no such folder",
		"--trace . p":                 "is a folder; name a file",
	} {
		o, err := parseArgs(strings.Fields(args))
		if e, ok := errors.AsType[*usageError](err); !ok || !strings.Contains(e.msg, want) {
			t.Errorf("%q: %+v, %v, want %q", args, o, err, want)
		}
	}
}

func TestUsageShowsAll(t *testing.T) {
	text := usage()
	for _, spec := range flagTable() {
		for _, name := range spec.names {
			if !strings.Contains(text, name) {
				t.Errorf("%s is missing", name)
			}
		}
	}
}

func FuzzParseArgs(f *testing.F) {
	f.Add("-n 4 --mca a b -x C=d prog")
	f.Add("--timeout 1e3 --metrics :1 --")
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Fields(line)
		if slices.Contains(args, "--tune") {
			return // files are not the point
		}
		o, err := parseArgs(args)
		if err == nil && !o.help && !o.version && o.program == "" && !slices.Contains(args, "") {
			t.Fatalf("%q is taken without a program", args)
		}
	})
}

func TestRankEnviron(t *testing.T) {
	own := []string{"HOME=/h", "PMI_FD=9", "PMIX_RANK=1", "OMPI_COMM_WORLD_SIZE=4", "OMPI_MCA_btl=tcp", "A=own", "B=own",
		"OMPI_GO_CONTROL_FD=8", "MPI_LOCALNRANKS=7", "noequals"}
	env, missing := rankEnviron(own, &options{
		tuneEnv: []string{"A=tune", "C=tune"}, env: []string{"C=x", "D", "B", "E="},
		settings: []mca.Setting{mca.CommandLine("btl", "sm")},
	})
	want := []string{"HOME=/h", "OMPI_MCA_btl=tcp", "A=tune", "B=own", "C=x", "E=",
		mca.HandoffVar + "=" + mca.EncodeHandoff([]mca.Setting{mca.CommandLine("btl", "sm")})}
	if !slices.Equal(env, want) || !slices.Equal(missing, []string{"D"}) {
		t.Errorf("env %q, missing %q", env, missing)
	}
}

func TestCores(t *testing.T) {
	sys := fstest.MapFS{}
	for cpu, siblings := range map[string]string{"0": "0,4", "4": "0,4", "1": "1,5", "5": "1,5"} {
		sys["cpu"+cpu+"/topology/thread_siblings_list"] = &fstest.MapFile{Data: []byte(siblings + "\n")}
	}
	var set unix.CPUSet
	for _, cpu := range []int{0, 1, 3, 4, 5} {
		set.Set(cpu)
	}
	cores := groupCores(&set, sys)
	if !reflect.DeepEqual(cores, [][]int{{0, 4}, {1, 5}, {3}}) {
		t.Fatalf("cores %v", cores)
	}
	sets, threads := bindings(cores, 5)
	if !slices.Equal(threads, []int{1, 1, 1, 1, 1}) || sets[3] != sets[0] || !sets[1].IsSet(5) || sets[1].Count() != 2 || sets[2].Count() != 1 {
		t.Errorf("threads %v, sets %v", threads, sets)
	}
	if _, threads := bindings(cores, 2); !slices.Equal(threads, []int{2, 2}) {
		t.Errorf("threads %v", threads)
	}
	if got := threadsOf(8, 3); !slices.Equal(got, []int{2, 2, 2}) {
		t.Errorf("threads %v", got)
	}
	if got := threadsOf(2, 3); !slices.Equal(got, []int{1, 1, 1}) {
		t.Errorf("threads %v", got)
	}
}

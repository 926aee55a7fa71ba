package rte

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Whereabouter is a Job whose launcher asks ranks of a job that hangs where they are. OnWhere sets what adds a few words to the MPI calls
// that the rank is in; it is called on a goroutine of this package, and "" adds nothing.
type Whereabouter interface{ OnWhere(f func() string) }

// OnWhere implements Whereabouter.
func (j *wireJob) OnWhere(f func() string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.under = f
}

// where answers the launcher.
func (j *wireJob) where() string {
	j.mu.Lock()
	f := j.under
	j.mu.Unlock()
	text := whereabouts()
	if f != nil {
		if more := f(); more != "" {
			text += "; " + more
		}
	}
	return text
}

// apiPackage begins the names of the functions that programs call.
const apiPackage = "github.com/ompi-go/ompi-go/ompi."

// whereabouts says in which MPI calls this process is, for a launcher whose job hangs. It looks at the goroutines' stacks, so that
// calls need not take note of themselves.
func whereabouts() string {
	for size := 64 << 10; ; size *= 4 {
		buf := make([]byte, size)
		if n := runtime.Stack(buf, true); n < size || size >= 16<<20 {
			return describeStacks(string(buf[:n]))
		}
	}
}

// describeStacks finds the calls in stacks as package runtime prints them.
func describeStacks(stacks string) string {
	var calls []string
	count := map[string]int{}
	for stack := range strings.SplitSeq(stacks, "\n\n") {
		if call, ok := callOf(stack); ok {
			if count[call]++; count[call] == 1 {
				calls = append(calls, call)
			}
		}
	}
	if calls == nil {
		return "in no MPI call"
	}
	slices.Sort(calls)
	for i, c := range calls {
		if n := count[c]; n > 1 {
			calls[i] = fmt.Sprintf("%s (%d goroutines)", c, n)
		}
	}
	return "in " + strings.Join(calls, ", in ")
}

// callOf finds the MPI call that a goroutine is in, and where the program calls it: the outermost of the innermost run of functions of
// the public package.
func callOf(stack string) (call string, ok bool) {
	lines := strings.Split(stack, "\n")
	name := ""
	for i := 1; i+1 < len(lines); i += 2 { // pairs: function, file
		f, inside := strings.CutPrefix(lines[i], apiPackage)
		switch {
		case !inside && name == "":
		case inside && isEntry(f):
			if name == "" {
				return "", false // in the program, which Main or Run has called
			}
			return name, true // Main's own
		case inside:
			name = callName(f)
		default:
			if at := position(lines[i+1]); at != "" {
				return name + " at " + at, true
			}
			return name, true
		}
	}
	return name, name != ""
}

// isEntry recognises the functions that call the program.
func isEntry(f string) bool {
	return strings.HasPrefix(f, "Main(") || strings.HasPrefix(f, "(*localJob).rank(") || strings.HasPrefix(f, "Run(") || strings.HasPrefix(f, "Run.")
}

// callName makes "(*Comm).Recv(0xc000010000, ...)" Recv.
func callName(f string) string {
	if strings.HasPrefix(f, "newInstance(") {
		return "Init"
	}
	for {
		rest, ok := strings.CutPrefix(f, "(*") // a receiver
		if !ok {
			break
		}
		_, f, _ = strings.Cut(rest, ").")
	}
	f, _, _ = strings.Cut(f, "(")
	f, _, _ = strings.Cut(f, "[") // type arguments
	parts := strings.Split(f, ".")
	for len(parts) > 1 && strings.HasPrefix(parts[len(parts)-1], "func") {
		parts = parts[:len(parts)-1] // a function inside a function
	}
	return parts[len(parts)-1]
}

// position makes "\t/home/me/ring/main.go:42 +0x1d" main.go:42.
func position(line string) string {
	line, _, _ = strings.Cut(strings.TrimSpace(line), " ")
	if line == "" {
		return ""
	}
	return filepath.Base(line)
}

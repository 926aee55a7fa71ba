package compare

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/ompi-go/ompi-go/bench/peers"
	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/suite"
)

// The peers' program has the same tests as ours, with the same sizes, loops and least number of ranks: else the two columns of a
// comparison would not be about the same thing.
func TestTablesAgree(t *testing.T) {
	for _, wrapper := range []string{"mpicc.openmpi", "mpicc.mpich"} {
		if _, err := exec.LookPath(wrapper); err != nil {
			continue
		}
		program, err := peers.Build(context.Background(), wrapper, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(program, "list").Output()
		if err != nil {
			t.Fatal(err)
		}
		theirs := map[string]string{}
		for line := range strings.Lines(string(out)) {
			name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
			theirs[name] = rest
		}
		for _, test := range suite.All() {
			if test.OursOnly {
				continue
			}
			large := test.Large
			if large == (suite.Loop{}) {
				large = test.Small
			}
			mine := fmt.Sprint(test.Min, test.Max, test.Small.Iterations, test.Small.Warmup, large.Iterations, large.Warmup, test.MinRanks)
			if got, ok := theirs[test.Name]; !ok || got != mine {
				t.Errorf("%s: the peers' program has %q, ours is %q", test.Name, got, mine)
			}
			delete(theirs, test.Name)
		}
		for name := range theirs {
			t.Errorf("only the peers' program has the test %s", name)
		}
		return
	}
	t.Skip("no MPI compiler wrapper is installed")
}

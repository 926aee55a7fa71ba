package sm_test

import (
	"testing"

	"github.com/ompi-go/ompi-go/osc/osctest"
)

func TestMain(m *testing.M) { osctest.Main(m) }

// Goroutine ranks, to which all windows are open.
func TestConformance(t *testing.T) {
	osctest.Run(t, osctest.Config{Params: map[string]string{"osc": "sm"},
		Flavors: []osctest.Flavor{osctest.Create, osctest.CreateMem, osctest.Allocate, osctest.Dynamic, osctest.Shared}})
}

// Two ways to wait for locks, of which the number of cores chooses one.
func TestLocks(t *testing.T) {
	for _, way := range []string{"queue", "poll"} {
		t.Run(way, func(t *testing.T) { locks(t, way) })
	}
}

func locks(t *testing.T, way string) {
	osctest.Run(t, osctest.Config{Params: map[string]string{"osc": "sm", "osc_sm_locks": way}, Flavors: []osctest.Flavor{osctest.Allocate},
		Only: []string{"MutualExclusion", "SharedLocksTogether", "ReadersAndWriters", "NestedLocks", "LocksByGoroutines", "NoCheckLocks", "LockSelf"}})
}

func TestProcesses(t *testing.T) {
	osctest.Run(t, osctest.Config{Params: map[string]string{"osc": "sm"}, Processes: true, Flavors: []osctest.Flavor{osctest.Allocate, osctest.Shared}})
}

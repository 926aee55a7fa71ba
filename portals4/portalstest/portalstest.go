// Package portalstest is the conformance suite of package portals4: what the Portals 4.0 specification says of the interface, and what its
// reference's programs verify, as tests over any way between processes. Only _test packages import it.
//
//	func TestConformance(t *testing.T) {
//		portalstest.Run(t, portalstest.Self())
//		portalstest.Run(t, portalstest.Ranks("tcp", 3, map[string]string{"portals4_nal": "tcp"}))
//	}
//
// Every case runs on matching and non-matching interfaces, with logical and physical addresses. A case's goroutine makes the calls of all ranks; cases
// that several goroutines are needed for say so.
package portalstest

import (
	"testing"

	"github.com/ompi-go/ompi-go/portals4"
)

// World makes what the suite runs on.
type World struct {
	// Name is that of the subtest.
	Name string
	// Size is the number of ranks: 1, where everything goes to oneself, or 3 and more.
	Size int
	// Open makes connected interfaces, one a rank, which end with the test.
	Open func(t *testing.T) []*portals4.Interface
	// Brief leaves two of the four flavours out, as -short does: those that pair matching with physical addresses, and list entries with logical ones.
	Brief bool
}

// flavour is one of the four kinds of network interface.
type flavour struct {
	name              string
	matching, logical bool
}

var flavours = [...]flavour{{"ME/logical", true, true}, {"ME/physical", true, false}, {"LE/logical", false, true}, {"LE/physical", false, false}}

func (f flavour) options() portals4.NIOptions {
	o := portals4.NoMatching
	if f.matching {
		o = portals4.Matching
	}
	if f.logical {
		return o | portals4.Logical
	}
	return o | portals4.PhysicalAddresses
}

// testCase is one test of the suite.
type testCase struct {
	name string
	kind caseKind
	run  func(r *rig)
}

// caseKind says what a case is run on.
type caseKind uint8

const (
	any4     caseKind = iota // all four flavours
	matching                 // matching interfaces alone
	peers                    // at least three ranks
)

// Run runs the suite.
func Run(t *testing.T, w World) {
	t.Run(w.Name, func(t *testing.T) {
		t.Parallel() // worlds know nothing of one another
		ifs := w.Open(t)
		if len(ifs) != w.Size {
			t.Fatalf("the world has %d interfaces, want %d", len(ifs), w.Size)
		}
		for _, f := range flavours {
			if (w.Brief || testing.Short()) && f.matching != f.logical {
				continue
			}
			t.Run(f.name, func(t *testing.T) {
				for _, c := range cases() {
					if c.kind == matching && !f.matching || c.kind == peers && w.Size < 3 {
						continue
					}
					t.Run(c.name, func(t *testing.T) { c.run(newRig(t, ifs, f)) })
				}
			})
		}
	})
}

// cases are all of them, the simplest first.
func cases() (all []testCase) {
	for _, group := range [][]testCase{basicCases(), eventCases(), entryCases(), unexpectedCases(), searchCases(), unlinkCases(), queueCases(), countCases(),
		triggeredCases(), flowCases(), atomicCases(), swapCases(), iovecCases(), manyCases(), argumentCases(), limitCases(), interfaceCases()} {
		all = append(all, group...)
	}
	return all
}

package portals4

import (
	"testing"

	"github.com/ompi-go/ompi-go/core"
)

func members(n int) (*module, []*core.Proc) {
	m := &module{comm: &core.Comm{}}
	for r := range n {
		m.comm.Procs = append(m.comm.Procs, &core.Proc{Rank: r})
	}
	return m, m.comm.Procs
}

// TestCounterOfTarget: a counter is its target's as long as an operation to it is being begun, though nothing be under way for a moment.
func TestCounterOfTarget(t *testing.T) {
	m, procs := members(2)
	m.few = make([]counter, 1)
	c, _ := m.counterOf(procs[0])
	if c != &m.few[0] {
		t.Fatal("a free counter is nobody's")
	}
	c.users++
	if other, _ := m.counterOf(procs[1]); other != &m.all {
		t.Error("the counter was taken away")
	}
	c.users--
	if other, _ := m.counterOf(procs[1]); other != c || c.proc != procs[1] {
		t.Error("the counter is kept for who has no use for it")
	}
}

// TestDeathInOneEpoch: the death of a member of one epoch's group ends the waiting for that, and none for others.
func TestDeathInOneEpoch(t *testing.T) {
	for _, started := range []bool{false, true} {
		m, procs := members(3)
		a := &m.active
		dead, alive := []int{1}, []int{2}
		if a.started, a.posted = alive, dead; started {
			a.started, a.posted = dead, alive
		}
		a.missing.Store(1)
		procs[1].Fail(core.NewError(core.ErrProcFailed, "a test"))
		m.comm.SetFault(&core.Fault{Err: core.NewError(core.ErrProcFailed, "a test")})
		a.commFailed(m)
		if got := (*startCond)(m).Done(); got != started {
			t.Errorf("the wait for posts is over: %v, want %v", got, started)
		}
		if got := (*waitCond)(m).Done(); got == started {
			t.Errorf("the wait for completes is over: %v, want %v", got, !started)
		}
		if over, err := m.exposed(); over == started || (err != nil) == started {
			t.Errorf("exposed: %v, %v", over, err)
		}
	}
}

// TestCompleteAfterDeath: what completes an exposure epoch that a death has ended does not complete the next.
func TestCompleteAfterDeath(t *testing.T) {
	m, procs := members(4)
	a := &m.active
	a.posted = []int{1, 2, 3}
	a.came(3, saysComplete)
	procs[1].Fail(core.NewError(core.ErrProcFailed, "a test"))
	m.comm.SetFault(&core.Fault{Err: core.NewError(core.ErrProcFailed, "a test")})
	if over, err := m.exposed(); !over || err == nil {
		t.Fatalf("exposed: %v, %v, want the death", over, err)
	}
	a.posted = []int{2, 3}
	for _, c := range []struct {
		from int
		over bool
	}{{3, false}, {2, false}, {2, true}} {
		a.came(c.from, saysComplete)
		if over, err := m.exposed(); over != c.over || err != nil {
			t.Errorf("after a complete of %d: %v, %v, want %v", c.from, over, err, c.over)
		}
	}
	if a.completes.Load() != 0 || len(a.from) != 0 || len(a.owed) != 0 {
		t.Errorf("left over: %d completes of %v, %v owe one", a.completes.Load(), a.from, a.owed)
	}
}

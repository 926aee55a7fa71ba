package osc_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/ompi-go/ompi-go/coll"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/osc"
	"github.com/ompi-go/ompi-go/progress"
)

// meeting has the two collectives that the making of windows needs, for goroutine members.
type meeting struct {
	mu      sync.Mutex
	n, come int
	sum     [][]int64
	next    chan struct{}
}

func newMeeting(n int) *meeting { return &meeting{n: n, next: make(chan struct{})} }

// exchange gives the vectors of all.
func (m *meeting) exchange(me int, v []int64) [][]int64 {
	m.mu.Lock()
	if m.come == 0 {
		m.sum = make([][]int64, m.n)
	}
	m.sum[me] = slices.Clone(v)
	all, next := m.sum, m.next
	if m.come++; m.come == m.n {
		m.come, m.next = 0, make(chan struct{})
		close(next)
	}
	m.mu.Unlock()
	<-next
	return all
}

type member struct {
	m  *meeting
	me int
}

func (m member) Allreduce(_, recv core.Buffer, op *core.Op) error {
	v := sliceOf(recv)
	all := m.m.exchange(m.me, v)
	copy(v, all[0])
	for _, other := range all[1:] {
		for i := range v {
			switch op {
			case core.Sum:
				v[i] += other[i]
			case core.Max:
				v[i] = max(v[i], other[i])
			}
		}
	}
	return nil
}

func (m member) Allgather(send, recv core.Buffer) error {
	copy(sliceOf(recv), slices.Concat(m.m.exchange(m.me, sliceOf(send))...))
	return nil
}

func sliceOf(b core.Buffer) []int64 {
	return unsafe.Slice((*int64)(b.Addr()), b.Count())
}

// fake is a component and its factory. Its modules do nothing.
type fake struct {
	name     string
	priority int
	query    error
	openErr  error
	fails    map[int]error // Enable of members
	extends  bool
	log      *logbook
}

type logbook struct {
	mu   sync.Mutex
	says []string
}

func (l *logbook) add(s string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.says = append(l.says, s)
}

func (f *fake) Framework() string                  { return "osc" }
func (f *fake) Name() string                       { return f.name }
func (f *fake) Options() any                       { return nil }
func (f *fake) Open(*osc.Env) (osc.Factory, error) { return f, f.openErr }
func (f *fake) Close() error                       { return nil }
func (f *fake) Query(*osc.Win) (int, error)        { return f.priority, f.query }
func (f *fake) Enable(w *osc.Win) (osc.Module, error) {
	if err := f.fails[w.Comm.MyRank]; err != nil {
		return nil, err
	}
	m := &fakeModule{f: f, me: w.Comm.MyRank}
	if f.extends {
		return &fakeExtenter{fakeModule: m}, nil
	}
	return m, nil
}

type fakeModule struct {
	osc.Module // what is not called
	f          *fake
	me         int
	put        []osc.Op
}

func (m *fakeModule) Undo() error {
	m.f.log.add(fmt.Sprint("undo ", m.f.name, " ", m.me))
	return nil
}
func (m *fakeModule) LockAll(osc.Assert) error { return nil }
func (m *fakeModule) Issue(op *osc.Op) (bool, error) {
	m.put = append(m.put, *op)
	return true, nil
}

type fakeExtenter struct{ *fakeModule }

func (m *fakeExtenter) Extent(rank int) (size, unit int64, err error) {
	return int64(1000 * (rank + 1)), int64(10 * (rank + 1)), nil
}

// windows has n members make a window.
func windows(n int, list []osc.Opened, said *logbook, spec func(rank int, s *osc.Spec)) ([]*osc.Win, []error) {
	m := newMeeting(n)
	wins, errs := make([]*osc.Win, n), make([]error, n)
	ranks := make([]int, n)
	for i := range ranks {
		ranks[i] = i
	}
	var wg sync.WaitGroup
	for me := range n {
		procs := make([]*core.Proc, n)
		for r := range procs {
			procs[r] = &core.Proc{Rank: r, Locality: core.LocalProcess}
		}
		wg.Go(func() {
			e := progress.New(progress.Config{Cores: 1, LocalRanks: n})
			c := core.NewComm(e, 5, core.NewGroup(ranks, me), procs, "window 5")
			s := osc.Spec{Comm: c, Coll: &coll.Table{Allreduce: member{m, me}, Allgather: member{m, me}}, Size: 100, Unit: 4}
			if spec != nil {
				spec(me, &s)
			}
			wins[me], errs[me] = osc.New(list, func(_, msg string) { said.add(msg) }, s)
		})
	}
	wg.Wait()
	return wins, errs
}

// TestBestComponentThatWorksEverywhere: the highest priority wins; where one member cannot, all take the next, and what was made is undone.
func TestBestComponentThatWorksEverywhere(t *testing.T) {
	log, said := &logbook{}, &logbook{}
	best := &fake{name: "best", priority: 90, fails: map[int]error{1: errors.New("no memory")}, log: log}
	good := &fake{name: "good", priority: 50, log: log}
	shy := &fake{name: "shy", priority: 99, query: errors.New("not for such"), log: log}
	list := []osc.Opened{{Name: "best", Factory: best}, {Name: "good", Factory: good}, {Name: "shy", Factory: shy}}
	wins, errs := windows(3, list, said, nil)
	for me, err := range errs {
		if err != nil || wins[me].Component() != "good" {
			t.Fatalf("rank %d: %v, %+v", me, err, wins[me])
		}
	}
	slices.Sort(log.says)
	if got := strings.Join(log.says, ", "); got != "undo best 0, undo best 2" {
		t.Errorf("log: %s", got)
	}
	if len(said.says) != 3 || !strings.Contains(strings.Join(said.says, ""), "using good instead: no memory") {
		t.Errorf("said %q", said.says)
	}
	_, errs = windows(2, []osc.Opened{list[0], list[2]}, said, nil)
	for me, err := range errs {
		if !errors.Is(err, core.ErrUnsupportedOperation) || !strings.Contains(err.Error(), "shy: not for such") || !strings.Contains(err.Error(), "best: ") {
			t.Errorf("rank %d: %v", me, err)
		}
	}
	if _, errs = windows(1, nil, said, nil); !errors.Is(errs[0], core.ErrUnsupportedOperation) {
		t.Errorf("no component: %v", errs[0])
	}
}

// TestNextComponentGetsTheMemory: a window of the program's memory has it still when another component takes over.
func TestNextComponentGetsTheMemory(t *testing.T) {
	log := &logbook{}
	best := &fake{name: "best", priority: 90, fails: map[int]error{1: errors.New("no room")}, log: log}
	good := &fake{name: "good", priority: 50, log: log}
	mem := make([]int64, 16)
	wins, errs := windows(2, []osc.Opened{{Name: "best", Factory: best}, {Name: "good", Factory: good}}, &logbook{}, func(_ int, s *osc.Spec) {
		s.Flavor, s.Memory = osc.Create, core.NewRegion(core.RegionHeap, unsafe.Pointer(&mem[0]), 128, nil)
	})
	for me, w := range wins {
		if errs[me] != nil || w.Component() != "good" || w.Memory == nil || w.Memory.Base() != unsafe.Pointer(&mem[0]) {
			t.Errorf("rank %d: %v, %+v", me, errs[me], w)
		}
	}
}

// TestMembersAgreeOnHints: where they differ, the weaker promise holds.
func TestMembersAgreeOnHints(t *testing.T) {
	set := func(kv ...string) *core.Info {
		i := core.NewInfo()
		for k := 0; k < len(kv); k += 2 {
			if err := i.Set(kv[k], kv[k+1]); err != nil {
				t.Fatal(err)
			}
		}
		return i
	}
	infos := []*core.Info{
		set("no_locks", "true", "accumulate_ordering", "none", "accumulate_ops", "same_op", "ompi_lock_recovery", "true", "same_size", "true"),
		set("no_locks", "true", "accumulate_ordering", "rar, war", "accumulate_ops", "same_op", "ompi_lock_recovery", "false", "same_size", "true"),
	}
	f := &fake{name: "f", log: &logbook{}}
	wins, errs := windows(2, []osc.Opened{{Name: "f", Factory: f}}, &logbook{}, func(r int, s *osc.Spec) { s.Info = infos[r] })
	want := osc.Hints{NoLocks: true, Ordering: osc.OrderRAR | osc.OrderWAR, SameSize: true}
	for me, w := range wins {
		if errs[me] != nil || w.Hints != want || !w.SameSize || !w.SameUnit || !w.OneHost || !w.OneProcess {
			t.Errorf("rank %d: %v, %+v", me, errs[me], w)
		}
		if v, _ := w.Info.Get("accumulate_ordering"); v != "rar,war" {
			t.Errorf("rank %d: ordering %q", me, v)
		}
	}
	for _, bad := range []*core.Info{set("no_locks", "1"), set("accumulate_ordering", "rar,"), set("accumulate_ops", "all")} {
		if _, err := osc.ParseHints(bad); !errors.Is(err, core.ErrInfoValue) {
			t.Errorf("%v", err)
		}
	}
}

// TestLayoutsThatDiffer: a table, or a module that finds out, gives the limits of each target.
func TestLayoutsThatDiffer(t *testing.T) {
	for _, extends := range []bool{false, true} {
		f := &fake{name: "f", log: &logbook{}, extends: extends}
		wins, errs := windows(3, []osc.Opened{{Name: "f", Factory: f}}, &logbook{}, func(r int, s *osc.Spec) { s.Size, s.Unit = int64(1000*(r+1)), int64(10*(r+1)) })
		w := wins[0]
		if err := errors.Join(errors.Join(errs...), w.LockAll(0)); err != nil {
			t.Fatal(err)
		}
		var v [16]byte
		b := core.MakeBuffer(unsafe.Pointer(&v), 16, datatype.Byte)
		for r := range 3 {
			last := int64(1000-16/(r+1)) / 10 // in units of the target
			for disp, legal := range map[int64]bool{0: true, 97: true, 100: false, last + 3: false, 1 << 62: false} {
				err := w.Put(b, osc.At{Rank: r, Disp: disp, Count: 16, Type: datatype.Byte})
				if (err == nil) != legal || err != nil && !errors.Is(err, core.ErrRMARange) {
					t.Errorf("extends %v, rank %d, displacement %d: %v", extends, r, disp, err)
				}
			}
		}
	}
}

// TestDifferentKinds: members that call different functions all learn of it.
func TestDifferentKinds(t *testing.T) {
	f := &fake{name: "f", log: &logbook{}}
	_, errs := windows(2, []osc.Opened{{Name: "f", Factory: f}}, &logbook{}, func(r int, s *osc.Spec) { s.Flavor = osc.Flavor(r) })
	for _, err := range errs {
		if !errors.Is(err, core.ErrArg) {
			t.Error(err)
		}
	}
}

// stranger registers under osc without being a one-sided component.
type stranger struct{}

func (stranger) Framework() string { return "osc" }
func (stranger) Name() string      { return "odd" }
func (stranger) Options() any      { return nil }

func TestOpen(t *testing.T) {
	gone := fmt.Errorf("%w: no shared memory", osc.ErrUnavailable)
	broken := errors.New("broken")
	for _, tc := range []struct {
		sel  string
		all  []mca.Component
		want string
		err  error
	}{
		{"", []mca.Component{&fake{name: "b"}, &fake{name: "a"}, &fake{name: "gone", openErr: gone}}, "a b", nil},
		{"^b", []mca.Component{&fake{name: "b", openErr: broken}, &fake{name: "a"}}, "a", nil},
		{"a,gone", []mca.Component{&fake{name: "a"}, &fake{name: "gone", openErr: gone}}, "", osc.ErrUnavailable},
		{"", []mca.Component{&fake{name: "a", openErr: broken}}, "", broken},
	} {
		list, err := open(t, tc.sel, tc.all)
		var names []string
		for _, o := range list {
			names = append(names, o.Name)
		}
		if got := strings.Join(names, " "); got != tc.want || !errors.Is(err, tc.err) {
			t.Errorf("%q: opened %q, %v; want %q, %v", tc.sel, got, err, tc.want, tc.err)
		}
	}
	if _, err := open(t, "", []mca.Component{stranger{}}); err == nil || !strings.Contains(err.Error(), "no osc.Component") {
		t.Errorf("a stranger: %v", err)
	}
}

func open(t *testing.T, sel string, all []mca.Component) ([]osc.Opened, error) {
	t.Helper()
	reg, err := mca.BuildRegistry([]mca.Framework{{Name: "osc", Help: "test", Many: true}}, all)
	if err != nil {
		t.Fatal(err)
	}
	var in mca.Input
	if sel != "" {
		in.Settings = []mca.Setting{mca.CommandLine("osc", sel)}
	}
	p, err := mca.Load(reg, in)
	if err != nil {
		t.Fatal(err)
	}
	return osc.Open(reg, p, &osc.Env{Params: p})
}

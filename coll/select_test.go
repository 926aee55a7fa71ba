package coll_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ompi-go/ompi-go/coll"
	"github.com/ompi-go/ompi-go/coll/colltest"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/pml"
)

// fake is a component, its factory and what its modules have in common.
type fake struct {
	name     string
	priority int
	unfit    bool // Query refuses
	declines bool // Enable gives no module
	openErr  error
	enable   error
	make     func(f *fake) coll.Module
	log      *[]string
	below    *coll.Table
	closeErr error
}

func (f *fake) Framework() string { return "coll" }
func (f *fake) Name() string      { return f.name }
func (f *fake) Options() any      { return nil }

func (f *fake) Open(*coll.Env) (coll.Factory, error) { return f, f.openErr }

func (f *fake) Query(*core.Comm) (int, bool) { return f.priority, !f.unfit }
func (f *fake) Enable(_ *core.Comm, below *coll.Table) (coll.Module, error) {
	f.say("enable")
	f.below = below
	if f.enable != nil || f.declines {
		return nil, f.enable
	}
	return f.make(f), nil
}

func (f *fake) say(what string) { *f.log = append(*f.log, what+" "+f.name) }

// complete has every operation, barrierOnly one; embedded interfaces stand for what is not called.
type complete struct {
	*fake
	coll.Bcaster
	coll.Reducer
	coll.Allreducer
	coll.Gatherer
	coll.Gatherver
	coll.Scatterer
	coll.Scatterver
	coll.Allgatherer
	coll.Allgatherver
	coll.Alltoaller
	coll.Alltoallver
	coll.Alltoallwer
	coll.ReduceScatterer
	coll.ReduceScatterBlocker
	coll.Scanner
	coll.Exscanner
	coll.Neighborer
	coll.Finisher
}

type barrierOnly struct{ *fake }

func (m complete) Barrier() error    { m.say("barrier"); return nil }
func (m complete) Close() error      { m.say("close"); return m.closeErr }
func (m barrierOnly) Barrier() error { m.say("barrier"); return nil }
func (m barrierOnly) Close() error   { m.say("close"); return m.closeErr }

func hasAll(f *fake) coll.Module     { return complete{fake: f} }
func hasBarrier(f *fake) coll.Module { return barrierOnly{f} }

func comm() *core.Comm { return colltest.NewFabric(2, 0).Comm(0, []int{0, 1}, 0) }

func TestSelectOverlaysByPriority(t *testing.T) {
	var log []string
	low := &fake{name: "low", priority: 10, make: hasAll, log: &log}
	mid := &fake{name: "mid", priority: 20, make: hasBarrier, log: &log}
	same := &fake{name: "same", priority: 20, make: hasBarrier, log: &log}
	unfit := &fake{name: "unfit", priority: 90, unfit: true, make: hasAll, log: &log}
	shy := &fake{name: "shy", priority: 80, declines: true, make: hasAll, log: &log}
	tbl, err := coll.Select([]coll.Factory{mid, shy, low, unfit, same}, comm())
	if err != nil {
		t.Fatal(err)
	}
	_ = tbl.Barrier.Barrier()
	_ = mid.below.Barrier.Barrier()
	_ = same.below.Barrier.Barrier()
	if _, ok := tbl.Bcast.(complete); !ok {
		t.Errorf("bcast is %T", tbl.Bcast)
	}
	if low.below.Barrier != nil {
		t.Error("the lowest has something below it")
	}
	if err := tbl.Close(); err != nil {
		t.Fatal(err)
	}
	want := "enable low, enable same, enable mid, enable shy, barrier mid, barrier same, barrier low, close mid, close same, close low"
	if got := strings.Join(log, ", "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if err := tbl.Close(); err != nil {
		t.Error(err)
	}
}

func TestSelectReportsWhatIsMissing(t *testing.T) {
	var log []string
	f := &fake{name: "half", make: hasBarrier, log: &log}
	_, err := coll.Select([]coll.Factory{f}, comm())
	if !errors.Is(err, core.ErrUnsupportedOperation) || !strings.Contains(err.Error(), "Alltoallv") || strings.Contains(err.Error(), "Barrier") {
		t.Errorf("got %v", err)
	}
	if got := strings.Join(log, ", "); got != "enable half, close half" {
		t.Errorf("got %s", got)
	}
}

func TestSelectClosesAfterAFailure(t *testing.T) {
	var log []string
	cause, second := errors.New("no memory"), errors.New("cannot close")
	low := &fake{name: "low", priority: 1, make: hasAll, log: &log, closeErr: second}
	bad := &fake{name: "bad", priority: 2, enable: cause, log: &log}
	_, err := coll.Select([]coll.Factory{low, bad}, comm())
	if !errors.Is(err, cause) || !errors.Is(err, second) {
		t.Errorf("got %v", err)
	}
	if got := strings.Join(log, ", "); got != "enable low, enable bad, close low" {
		t.Errorf("got %s", got)
	}
}

// stranger registers under coll without being a collective component.
type stranger struct{ name string }

func (s stranger) Framework() string { return "coll" }
func (s stranger) Name() string      { return s.name }
func (s stranger) Options() any      { return nil }

func TestOpen(t *testing.T) {
	missing := errors.Join(coll.ErrUnavailable, errors.New("no shared memory"))
	broken := errors.New("broken")
	a, b := &fake{name: "a"}, &fake{name: "b"}
	gone, bad := &fake{name: "gone", openErr: missing}, &fake{name: "bad", openErr: broken}
	for _, tc := range []struct {
		sel  string
		all  []mca.Component
		want string // names opened
		err  error
		text string
	}{
		{"", []mca.Component{b, a, gone}, "a b", nil, ""},
		{"b", []mca.Component{b, a, bad}, "b", nil, ""},
		{"^b,bad", []mca.Component{b, a, bad, gone}, "a", nil, ""},
		{"a,gone", []mca.Component{a, gone}, "", coll.ErrUnavailable, "gone"},
		{"", []mca.Component{a, bad}, "", broken, "bad"},
		{"", []mca.Component{stranger{"odd"}}, "", nil, "odd"},
	} {
		reg, err := mca.BuildRegistry([]mca.Framework{{Name: "coll", Help: "test", Many: true}}, tc.all)
		if err != nil {
			t.Fatal(err)
		}
		var in mca.Input
		if tc.sel != "" {
			in.Settings = []mca.Setting{mca.CommandLine("coll", tc.sel)}
		}
		p, err := mca.Load(reg, in)
		if err != nil {
			t.Fatal(err)
		}
		fs, err := coll.Open(reg, p, &coll.Env{Params: p, PML: pml.Module(nil)})
		var names []string
		for _, f := range fs {
			names = append(names, f.(*fake).name)
		}
		if got := strings.Join(names, " "); got != tc.want {
			t.Errorf("%q: opened %q, want %q", tc.sel, got, tc.want)
		}
		switch failed := tc.text != ""; {
		case failed != (err != nil):
			t.Errorf("%q: error %v", tc.sel, err)
		case failed && (!strings.Contains(err.Error(), tc.text) || tc.err != nil && !errors.Is(err, tc.err)):
			t.Errorf("%q: error %v, want %v about %q", tc.sel, err, tc.err, tc.text)
		}
	}
}

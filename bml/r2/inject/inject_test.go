package inject

import (
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/ompi-go/ompi-go/bml"
	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/btl/btltest"
)

func TestParse(t *testing.T) {
	got, err := Parse(" tcp:drop=1%,dup=0.5%, delay=100% ; sm:fail_after=7,reorder=0%,corrupt=25% ;")
	want := map[string]Plan{"tcp": {Drop: 10_000, Dup: 5_000, Delay: million}, "sm": {FailAfter: 7, Corrupt: 250_000}}
	if err != nil || len(got) != 2 || got["tcp"] != want["tcp"] || got["sm"] != want["sm"] {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := Parse(""); err != nil || len(got) != 0 {
		t.Errorf("nothing: %+v, %v", got, err)
	}
	for text, wrong := range map[string]string{
		"drop=1%": "names no BTL", ":drop=1%": "names no BTL", "tcp:drop=1": "not a chance", "tcp:drop=101%": "not a chance", "tcp:drop=-1%": "not a chance", "tcp:drop=NaN%": "not a chance",
		"tcp:lose=1%": "no fault", "tcp:": "no fault", "tcp:fail_after=0": "not a number of messages", "tcp:fail_after=1%": "not a number", "tcp:dup=1%;tcp:dup=2%": "twice",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("%q: %v, want %q", text, err, wrong)
		}
	}
}

// injected sends n fragments with a payload over a scripted BTL with faults, and lists what came by their numbers.
func injected(t *testing.T, plan string, seed uint64, n int) (came []byte, damaged int, comps *btltest.Completions, w *btltest.World) {
	t.Helper()
	s := btltest.NewScript()
	w = btltest.NewWorld(t, btltest.Config{Component: s}, 2)
	plans, err := Parse(plan)
	if err != nil {
		t.Fatal(err)
	}
	r := w.Ranks[0]
	r.Env.Procs = w.Ranks[1].Env.Procs
	i := New(r.Env, plans, seed)
	path := &bml.Path{Module: r.Module, Send: r.Endpoints[1]}
	path.Inline, _ = r.Endpoints[1].(btl.InlineSender)
	if !i.Decorate(path, r.Env.Procs[1]) || i.Decorate(&bml.Path{Module: other{r.Module}}, r.Env.Procs[1]) {
		t.Fatal("the wrong paths are decorated")
	}
	comps = &btltest.Completions{}
	for k := range n {
		f := btltest.NewFrag(comps, btl.TagPML, uint64(k), 16, 32)
		r.Do(func() {
			if done, err := path.Send.Send(f); done && err == nil {
				comps.Done++
			}
		})
		r.Poll()
	}
	for range 100 {
		r.Poll()
	}
	if !i.Quiet() {
		t.Error("something is held back for ever")
	}
	for _, f := range s.Frames() {
		k := f.Hdr[0]
		came = append(came, k)
		pure := btltest.NewFrag(nil, btl.TagPML, uint64(k), 16, 32)
		if !slices.Equal(f.Payload, unsafe.Slice((*byte)(pure.Data), pure.Len)) {
			damaged++
		}
	}
	return came, damaged, comps, w
}

type other struct{ btl.Module }

func (other) Name() string { return "other" }

func TestFates(t *testing.T) {
	const n = 200
	all := make([]byte, n)
	for k := range all {
		all[k] = byte(k)
	}
	sorted := func(b []byte) []byte { return slices.Sorted(slices.Values(b)) }
	for plan, check := range map[string]func(came []byte, damaged int) bool{
		"script:delay=10%": func(came []byte, damaged int) bool {
			return !slices.Equal(came, all) && slices.Equal(sorted(came), all) && damaged == 0
		},
		"script:reorder=10%": func(came []byte, damaged int) bool {
			return !slices.Equal(came, all) && slices.Equal(sorted(came), all) && damaged == 0
		},
		"script:dup=10%": func(came []byte, damaged int) bool {
			return len(came) > n+5 && len(came) < n+60 && slices.Equal(slices.Compact(sorted(came)), all) && damaged == 0
		},
		"script:drop=10%":      func(came []byte, damaged int) bool { return len(came) < n-5 && len(came) > n-60 && damaged == 0 },
		"script:corrupt=10%":   func(came []byte, damaged int) bool { return slices.Equal(came, all) && damaged > 5 && damaged < 60 },
		"script:corrupt=0%":    func(came []byte, damaged int) bool { return slices.Equal(came, all) && damaged == 0 },
		"script:fail_after=50": func(came []byte, damaged int) bool { return slices.Equal(came, all[:50]) && damaged == 0 },
	} {
		came, damaged, comps, w := injected(t, plan, 3, n)
		again, _, _, _ := injected(t, plan, 3, n)
		if !check(came, damaged) {
			t.Errorf("%s: %d damaged, came %v", plan, damaged, came)
		}
		if !slices.Equal(came, again) {
			t.Errorf("%s: another outcome with the same seed", plan)
		}
		if !strings.Contains(plan, "fail_after") && (comps.Done != n || len(comps.Errs) != 0) {
			t.Errorf("%s: %d completions, errors %v", plan, comps.Done, comps.Errs)
		}
		if f := w.Ranks[0].Failures(); strings.Contains(plan, "fail_after") != (len(f) == 1) || len(f) == 1 && f[0].Dead {
			t.Errorf("%s: failures %+v", plan, f)
		}
	}
	a, _, _, _ := injected(t, "script:delay=20%", 1, n)
	b, _, _, _ := injected(t, "script:delay=20%", 2, n)
	if slices.Equal(a, b) {
		t.Error("the seed does not count")
	}
}

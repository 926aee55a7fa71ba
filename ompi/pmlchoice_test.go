package ompi

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mtl"
	"github.com/ompi-go/ompi-go/mtl/mtltest"
	"github.com/ompi-go/ompi-go/pml"
	"github.com/ompi-go/ompi-go/rte"
	"github.com/ompi-go/ompi-go/shm"
)

// start makes a job whose ranks have different options, as Run does with equal ones, and gives their errors.
func start(t *testing.T, opts ...[]Option) ([]*Instance, []error) {
	t.Helper()
	hub, memory := rte.NewHub(len(opts)), shm.NewHub(len(opts))
	type outcome struct {
		rank int
		i    *Instance
		err  error
	}
	all := make(chan outcome)
	for r, list := range opts {
		var o options
		for _, f := range list {
			f(&o)
		}
		go func() {
			i, err := newInstance(place{job: hub.Job(r), hub: memory}, o)
			if err != nil {
				hub.Job(r).Abort(1, err.Error()) // as Run does: others may wait
			}
			all <- outcome{r, i, err}
		}()
	}
	is, errs := make([]*Instance, len(opts)), make([]error, len(opts))
	for range opts {
		x := <-all
		is[x.rank], errs[x.rank] = x.i, x.err
	}
	for _, i := range is {
		if i != nil {
			t.Cleanup(func() { _ = i.teardown() })
		}
	}
	return is, errs
}

func overLoop(l *mtltest.Loop, params ...string) []Option {
	o := []Option{WithComponent(l), WithParam("pml", "cm"), WithParam("mtl", "loop")}
	for i := 0; i < len(params); i += 2 {
		o = append(o, WithParam(params[i], params[i+1]))
	}
	return o
}

func overOb1(l *mtltest.Loop) []Option { return []Option{WithComponent(l), WithParam("pml", "ob1")} }

// TestPMLChoice: ranks that have chosen different PMLs end with an error that says who has chosen what.
func TestPMLChoice(t *testing.T) {
	l := &mtltest.Loop{Eager: 1000}
	less := func(few int) []Option { // the rank few has fewer tags
		return overLoop(&mtltest.Loop{Eager: 1000, Tags: func(rank int) int {
			if rank == few {
				return 40000
			}
			return 1<<30 - 1
		}})
	}
	lessAtZero, lessAtTwo := less(0), less(2)
	for _, x := range []struct {
		name        string
		zero, other []Option
		want        []string // in the error of the other ranks; nil: none
	}{
		{"alike", overLoop(l), overLoop(l), nil},
		{"ob1 and cm", overOb1(l), overLoop(l), []string{"rank 0 uses pml ob1, this one pml cm over mtl loop;", "parameters pml, mtl"}},
		{"cm and ob1", overLoop(l), overOb1(l), []string{"rank 0 uses pml cm over mtl loop, this one pml ob1;"}},
		{"rank 0 has the least limits", lessAtZero, lessAtZero, nil},
		{"rank 0 has more than the least", lessAtTwo, lessAtTwo, []string{"limits of this rank are lower than rank 0's", "tags to 1073741823", "tags to 40000"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			// Rank 1 has what rank 0 has.
			is, errs := start(t, x.zero, x.zero, x.other)
			if x.want == nil {
				if err := errors.Join(errs...); err != nil {
					t.Fatal(err)
				}
				if is[0].tagUB != is[2].tagUB || is[0].pml.MaxContext() != is[2].pml.MaxContext() || is[2].tagUB != is[2].pml.MaxTag() {
					t.Errorf("the ranks have the largest tags %d and %d", is[0].tagUB, is[2].tagUB)
				}
				return
			}
			var e *core.Error
			if !errors.As(errs[2], &e) || e.Op != "Init" {
				t.Fatalf("the error is %v", errs[2])
			}
			for _, w := range x.want {
				if !strings.Contains(errs[2].Error(), w) {
					t.Errorf("the error is %q; it should say %q", errs[2], w)
				}
			}
		})
	}
}

// broken is an MTL that never works.
type broken struct{}

func (broken) Framework() string { return "mtl" }
func (broken) Name() string      { return "broken" }
func (broken) Options() any      { return new(struct{}) }
func (broken) Open(*btl.Env) (mtl.Module, int, error) {
	return nil, 0, fmt.Errorf("mtl broken: %w: its cable is cut", btl.ErrUnavailable)
}

// TestNoMTL: pml cm without an MTL is an error that says so.
func TestNoMTL(t *testing.T) {
	_, errs := start(t, []Option{WithComponent(broken{}), WithParam("pml", "cm"), WithParam("mtl", "broken")})
	if want := "no pml can be used: pml cm: no mtl can be used: mtl broken: its cable is cut; check the parameter pml"; errs[0] == nil || !strings.Contains(errs[0].Error(), want) {
		t.Errorf("the error is %v; it should say %q", errs[0], want)
	}
}

// TestPMLFallback: a PML is used instead of a better one that does not work, which is said.
func TestPMLFallback(t *testing.T) {
	is, errs := start(t, []Option{WithComponent(broken{}), WithParam("mtl", "broken"), WithParam("pml", "cm,ob1"), WithParam("pml_cm_priority", "90")})
	if errs[0] != nil {
		t.Fatal(errs[0])
	}
	if is[0].pml.Name() != "ob1" || is[0].said["pml"] != 1 {
		t.Errorf("it uses pml %s, and has said %v", is[0].pml.Name(), is[0].said)
	}
}

var choices = []pmlChoice{
	{pml.PairTags - 1, 65535, "pml ob1"},
	{40000, 4095, "pml cm over mtl portals4 (match bits 4/12/16/32)"},
}

func TestPMLChoiceCard(t *testing.T) {
	golden := []string{
		"\x01\x00\x00\x00\xff\xff\x00\x00\xff\xff\xff\x3f\x00\x00\x00\x00pml ob1",
		"\x01\x00\x00\x00\xff\x0f\x00\x00\x40\x9c\x00\x00\x00\x00\x00\x00pml cm over mtl portals4 (match bits 4/12/16/32)",
	}
	for i, c := range choices {
		b := c.append(nil)
		if string(b) != golden[i] {
			t.Errorf("%v is written as %q", c, b)
		}
		if got, err := parsePMLChoice(b); err != nil || got != c {
			t.Errorf("%q is read as %v, %v", b, got, err)
		}
	}
	for _, bad := range []string{"", "\x01", golden[0][:15], "\x02" + golden[0][1:], "\x01\x01" + golden[0][2:], golden[0] + strings.Repeat("x", choiceWords), strings.Replace(golden[0], "\x3f", "\x7f", 1)} {
		if c, err := parsePMLChoice([]byte(bad)); err == nil {
			t.Errorf("%q is read as %v", bad, c)
		}
	}
}

func FuzzPMLChoice(f *testing.F) {
	for _, c := range choices {
		f.Add(c.append(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if c, err := parsePMLChoice(b); err == nil && !bytes.Equal(c.append(nil), b) {
			t.Errorf("%q is read as %v, which is written as %q", b, c, c.append(nil))
		}
	})
}

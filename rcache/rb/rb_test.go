package rb

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/rcache"
	"github.com/ompi-go/ompi-go/rcache/rcachetest"
)

func TestConformance(t *testing.T) { rcachetest.Run(t, component{}) }

// check reports the first rule of red-black trees, or of ours, that is broken below x: the black height else.
func (tr *tree) check(t *rapid.T, x *node) (black int) {
	if x == tr.leaf {
		if x.red || x.max != 0 {
			t.Fatalf("the leaf is red %v, its end %#x", x.red, x.max)
		}
		return 1
	}
	l, r := tr.check(t, x.left), tr.check(t, x.right)
	if l != r {
		t.Fatalf("black heights %d and %d below [%#x,%#x)", l, r, x.lo, x.hi)
	}
	if x.red && (x.left.red || x.right.red) {
		t.Fatalf("two reds at [%#x,%#x)", x.lo, x.hi)
	}
	for _, c := range []*node{x.left, x.right} {
		if c != tr.leaf && c.parent != x {
			t.Fatalf("[%#x,%#x) does not know its parent", c.lo, c.hi)
		}
	}
	if x.left != tr.leaf && tr.before(x, x.left) || x.right != tr.leaf && tr.before(x.right, x) {
		t.Fatalf("order is broken at [%#x,%#x)", x.lo, x.hi)
	}
	if x.max != max(x.hi, x.left.max, x.right.max) {
		t.Fatalf("[%#x,%#x) says that all below ends at %#x", x.lo, x.hi, x.max)
	}
	if !x.red {
		l++
	}
	return l
}

func TestTree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := newTree()
		var all []*node
		lo, length := rapid.Uint32Range(1, 200), rapid.Uint32Range(1, 60)
		t.Repeat(map[string]func(*rapid.T){
			"insert": func(t *rapid.T) {
				a := uintptr(lo.Draw(t, "lo"))
				x := &node{lo: a, hi: a + uintptr(length.Draw(t, "n"))}
				tr.insert(x)
				all = append(all, x)
			},
			"remove": func(t *rapid.T) {
				if len(all) == 0 {
					t.Skip()
				}
				i := rapid.IntRange(0, len(all)-1).Draw(t, "which")
				tr.remove(all[i])
				all = slices.Delete(all, i, i+1)
			},
			"": func(t *rapid.T) {
				tr.check(t, tr.root)
				a := uintptr(lo.Draw(t, "ask"))
				b := a + uintptr(length.Draw(t, "ask n"))
				var overlap []*node
				covered := false
				for _, x := range all {
					covered = covered || x.lo <= a && b <= x.hi
					if x.lo < b && a < x.hi {
						overlap = append(overlap, x)
					}
				}
				got := tr.covering(a, b)
				if (got != nil) != covered || got != nil && (got.lo > a || got.hi < b) {
					t.Fatalf("[%#x,%#x) is covered %v, found %v", a, b, covered, got)
				}
				found := tr.overlapping(nil, a, b)
				if len(found) != len(overlap) {
					t.Fatalf("%d overlap [%#x,%#x), found %d", len(overlap), a, b, len(found))
				}
				for _, x := range found {
					if !slices.Contains(overlap, x) {
						t.Fatalf("[%#x,%#x) does not overlap [%#x,%#x), or is gone", x.lo, x.hi, a, b)
					}
				}
			},
		})
	})
}

// TestTreeLarge removes half of many, where whole subtrees move.
func TestTreeLarge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := newTree()
		keys := rapid.SliceOfN(rapid.Uint16Range(1, 5000), 0, 400).Draw(t, "keys")
		nodes := make([]*node, len(keys))
		for i, k := range keys {
			nodes[i] = &node{lo: uintptr(k), hi: uintptr(k) + 1 + uintptr(k)%37}
			tr.insert(nodes[i])
		}
		tr.check(t, tr.root)
		for i := 0; i < len(nodes); i += 2 {
			tr.remove(nodes[i])
		}
		tr.check(t, tr.root)
		if got, want := len(tr.overlapping(nil, 0, ^uintptr(0))), len(nodes)/2; got != want {
			t.Fatalf("%d left, want %d", got, want)
		}
	})
}

// TestParameters: the stricter of the owner's and the user's limit counts.
func TestParameters(t *testing.T) {
	reg, err := mca.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		param       string
		cfg, bytes_ int64
	}{{"0", 0, 0}, {"0", 5, 5}, {"7", 0, 7}, {"7", 5, 5}, {"3", 5, 3}} {
		p, err := mca.Load(reg, mca.Input{Settings: []mca.Setting{{Name: "rcache_rb_max_bytes", Value: c.param, Layer: mca.LayerAPI}, {Name: "rcache_rb_max_entries", Value: c.param, Layer: mca.LayerAPI}}})
		if err != nil {
			t.Fatal(err)
		}
		o, err := rcache.Open(p, rcache.Config{Bytes: c.cfg, Entries: int(c.cfg)}, rcachetest.NewBackend())
		if err != nil {
			t.Fatal(err)
		}
		if got := o.(*cache).cfg; got.Bytes != c.bytes_ || got.Entries != int(c.bytes_) {
			t.Errorf("parameter %s, owner %d: limits %d and %d, want %d", c.param, c.cfg, got.Bytes, got.Entries, c.bytes_)
		}
	}
	p, err := mca.Load(reg, mca.Input{Settings: []mca.Setting{{Name: "rcache", Value: "^rb", Layer: mca.LayerAPI}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rcache.Open(p, rcache.Config{}, rcachetest.NewBackend()); err == nil {
		t.Error("without a component there is a cache")
	}
	if _, err := rcache.Open(p, rcache.Config{Bytes: -1}, rcachetest.NewBackend()); err == nil {
		t.Error("a negative limit is accepted")
	}
}

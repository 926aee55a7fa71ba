package differ

import (
	"math/rand/v2"
	"testing"
)

// TestBounds: size and bounds of types are those of the standard's definition, also where the other libraries have their own idea.
func TestBounds(t *testing.T) {
	g := shaper{rand.New(rand.NewPCG(*firstSeed, 0))}
	p := &program{ranks: 1}
	want := map[string]string{}
	for len(p.steps) < 1000 {
		s := g.draw(g.signature(), g.between(1, 4))
		if !s.receivable() {
			continue
		}
		var size int64
		for _, e := range s.elems {
			size += kindSize[e.kind]
		}
		lo, hi := s.trueBounds()
		id := words(len(p.steps) + 1)
		want[id] = words(id, size, s.lb, s.extent(), lo, hi-lo)
		p.steps = append(p.steps, step{line: words(id, 0, "type", s.text)})
	}
	o := run(goroutines, p)
	if o.err != nil {
		t.Fatal(o.failed())
	}
	for _, s := range p.steps {
		if id := s.id(); o.seen[0][id] != want[id] {
			t.Errorf("%s: size, lower bound, extent, true lower bound, true extent are\n %s, want\n %s", s.line, o.seen[0][id], want[id])
		}
	}
}

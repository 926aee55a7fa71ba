package differ

import (
	"math/rand/v2"
	"slices"
	"strings"
)

// program is steps for a number of ranks.
type program struct {
	ranks int
	seed  uint64
	steps []step
}

// step is one line, with the slots of communicators it fills and needs.
type step struct {
	line  string
	makes int // 0: none
	needs []int
	meant []int // the ranks that take part; nil: all
}

func (s step) id() string {
	id, _, _ := strings.Cut(s.line, " ")
	return id
}

func (p *program) text() string {
	var b strings.Builder
	for _, s := range p.steps {
		b.WriteString(s.line + "\n")
	}
	return b.String()
}

// without leaves out steps [from, to), and those that need what they made.
func (p *program) without(from, to int) *program {
	i := -1
	return p.but(func(step) bool { i++; return i >= from && i < to })
}

// but leaves out steps, and those that need what they made.
func (p *program) but(out func(step) bool) *program {
	q := &program{ranks: p.ranks, seed: p.seed}
	gone := map[int]bool{}
	for _, s := range p.steps {
		if out(s) || slices.ContainsFunc(s.needs, func(n int) bool { return gone[n] }) {
			if s.makes > 0 {
				gone[s.makes] = true
			}
			continue
		}
		q.steps = append(q.steps, s)
	}
	return q
}

// after is the step that a rank came to after the one with that id.
func (p *program) after(id string, rank int) string {
	i := slices.IndexFunc(p.steps, func(s step) bool { return s.id() == id })
	for _, s := range p.steps[i+1:] {
		if s.meant == nil || slices.Contains(s.meant, rank) {
			return s.id()
		}
	}
	return ""
}

// party is what a slot holds: disjoint communicators, each its members' ranks in the world.
type party struct {
	slot       int
	parts      [][]int
	inter      bool  // the two parts are its two groups
	neighbours bool  // collectives of neighbours can be used
	dims       []int // of a grid
}

func (p party) most() int {
	n := 0
	for _, m := range p.parts {
		n = max(n, len(m))
	}
	return n
}

// author writes a program.
type author struct {
	shaper
	p       *program
	id      int
	parties []party
	next    int           // slot
	in      map[int][]int // ranks, by slot
}

// slots is how many communicators a program may make; the C program has room for as many.
const slots = 120

func write(seed uint64, ranks, steps int) *program {
	g := &author{shaper: shaper{rand.New(rand.NewPCG(seed, uint64(ranks)))}, p: &program{ranks: ranks, seed: seed}, next: 1, in: map[int][]int{}}
	world := make([]int, ranks)
	for i := range world {
		world[i] = i
	}
	g.parties = []party{{parts: [][]int{world}}}
	for len(g.p.steps) < steps {
		g.id++
		g.any()
	}
	return g.p
}

// emit adds a step on communicator slot.
func (g *author) emit(slot, makes int, needs []int, parts ...any) {
	if slot > 0 {
		needs = append(needs, slot)
	}
	g.p.steps = append(g.p.steps, step{words(append([]any{g.id, slot}, parts...)...), makes, needs, g.in[slot]})
}

// party draws a communicator, the world most often.
func (g *author) party() party {
	if g.coin(3) {
		return g.parties[0]
	}
	return g.parties[g.IntN(len(g.parties))]
}

func (g *author) any() {
	p := g.party()
	if p.inter {
		g.onInter(p)
		return
	}
	if p.neighbours && g.coin(2) {
		g.neighbourhood(p)
		return
	}
	switch n := g.IntN(100); {
	case n < 20:
		g.batch(p)
	case n < 26:
		g.exchange(p)
	case n < 47:
		g.movement(p)
	case n < 67:
		g.reduction(p)
	case n < 69:
		g.emit(p.slot, 0, nil, "barrier", g.mode())
	case n < 75:
		g.local(p)
	case n < 76:
		g.dims()
	default:
		g.communicator(p)
	}
}

// mode is how a collective is called: blocking most often.
func (g *author) mode() int { return []int{0, 0, 0, 1, 2, 3, 3}[g.IntN(7)] }

// count is how many units travel, so that some messages take each protocol.
func (g *author) count(unit int64) int {
	if g.coin(12) {
		bytes := g.between(1000, 80_000)
		if g.coin(6) {
			bytes *= 10
		}
		return max(1, bytes/int(max(unit, 1)))
	}
	return []int{0, 1, 1, 2, 3, 5, 17}[g.IntN(7)]
}

func (g *author) small() int { return []int{0, 1, 1, 2, 3, 7}[g.IntN(6)] }

// pair draws two types of one signature a unit: so many of the first are so many of the second.
type pair struct {
	a, b   *shape
	fa, fb int
}

func (p pair) String() string { return words(p.a.text, p.fa, p.b.text, p.fb) }
func (p pair) unit() int64    { return max(p.a.extent()*int64(p.fa), p.b.extent()*int64(p.fb)) }

func (g *author) pair(even bool) pair {
	sig := g.signature()
	x, y := g.between(1, 2), g.between(1, 3)
	if even || g.coin(2) {
		x, y = 1, 1
	}
	a, b := g.of(slices.Repeat(sig, x)), g.of(slices.Repeat(sig, y))
	if x == y {
		return pair{a, b, 1, 1}
	}
	return pair{a, b, y, x} // x units are y of the other and the reverse; both have x*y
}

const (
	posted = iota
	late
	probed
	matched
	turns
	persistent
	completed
	ways
)

const (
	exact = iota
	anySource
	anyTag
	anything
)

const (
	standard = iota
	synchronous
	buffered
	ready
)

func (g *author) batch(p party) {
	n := p.most()
	way, wild, barrier, messages := g.IntN(ways), []int{0, 0, 0, 1, 1, 2, 3}[g.IntN(7)], g.coin(4), g.between(1, 6)
	if wild == anything && len(p.parts) > 1 {
		wild = exact
	}
	var list []any
	lastTo := make([]int, n)
	for i := range lastTo {
		lastTo[i] = g.IntN(n) // with both wild, who sends to each
	}
	for i := range messages {
		from, to, mode := g.IntN(n), g.IntN(n), g.IntN(3)
		if wild == anything {
			from = lastTo[to]
		}
		tag := (g.id*32 + i) % 32_000
		if wild == anyTag || wild == anything {
			tag = g.IntN(3)
		}
		if barrier && g.coin(3) && (way == posted || way == persistent || way == completed) {
			mode = ready
		}
		pr := g.pair(false)
		c := g.count(pr.unit())
		if mode == buffered && pr.unit()*int64(c) > 20_000 {
			mode = standard
		}
		sent, room := c*pr.fa, c*pr.fb
		if g.coin(4) { // a message that leaves room, or ends inside an element of the receiver
			sent = max(0, sent-g.IntN(3))
			room += g.IntN(2)
		}
		list = append(list, from, to, mode, tag, pr.a.text, sent, pr.b.text, room)
	}
	g.emit(p.slot, 0, nil, append([]any{"p2p", way, wild, barrier, messages}, list...)...)
}

func (g *author) exchange(p party) {
	pr := g.pair(false)
	g.emit(p.slot, 0, nil, "exchange", g.IntN(p.most()+1), g.coin(3), g.id*32%32_000, pr, g.count(pr.unit()))
}

// local: what each rank does alone.
func (g *author) local(p party) {
	pr := g.pair(false)
	if name := []string{"type", "pack", "external"}[g.IntN(3)]; name != "type" {
		g.emit(p.slot, 0, nil, name, pr.a.text, pr.fa, pr.b.text, pr.fb, g.small())
		return
	}
	g.emit(p.slot, 0, nil, "type", pr.a.text)
}

func (g *author) list(n int, draw func() int) []int {
	v := make([]int, n)
	for i := range v {
		v[i] = draw()
	}
	return v
}

// operation draws what is reduced and how.
func (g *author) operation() (kind, op string) {
	const integers = "sum prod max min band bor bxor land lor lxor"
	ops := map[string]string{"i": integers, "l": integers, "b": integers, "d": "sum prod max min",
		"I": "maxloc minloc", "D": "maxloc minloc", "L": "maxloc minloc", "M": "mat"}
	kind = string("ilbdIDLMM"[g.IntN(9)])
	of := strings.Fields(ops[kind])
	return kind, of[g.IntN(len(of))]
}

func (g *author) reduction(p party) {
	kind, op := g.operation()
	name := []string{"reduce", "allreduce", "scan", "exscan", "rs", "rsb", "reduce", "allreduce", "rlocal"}[g.IntN(9)]
	inplace := g.coin(3) && name != "rlocal"
	counts := []int{g.count(8)}
	if name == "rs" {
		counts = g.list(p.most(), func() int { return g.count(8) })
	}
	mode := g.mode()
	if name == "rlocal" {
		mode = 0
	}
	g.emit(p.slot, 0, nil, name, mode, inplace, g.IntN(p.most()), kind, op, len(counts), counts)
}

func (g *author) movement(p party) {
	n := p.most()
	name := []string{"bcast", "gather", "allgather", "scatter", "alltoall", "gatherv", "allgatherv", "scatterv", "alltoallv", "alltoallw"}[g.IntN(10)]
	if name == "alltoallw" && slices.ContainsFunc(p.parts, func(m []int) bool { return len(m) == 1 }) {
		name = "alltoallv" // alone, Open MPI 4.1 takes the byte displacements for extents, and writes anywhere
	}
	pr := g.pair(name == "bcast")
	inplace := g.coin(4) && name != "bcast"
	head := []any{name, g.mode(), inplace, g.IntN(n), pr}
	draw := func() int { return g.count(pr.unit() * int64(n)) }
	switch name {
	case "bcast":
		head = append(head, g.IntN(64), g.count(pr.unit()))
	case "gather", "allgather", "scatter", "alltoall":
		head = append(head, draw())
	case "gatherv", "allgatherv", "scatterv":
		head = append(head, g.IntN(3), g.coin(2), n, g.list(n, draw))
	default:
		m := g.list(n*n, func() int { return g.count(pr.unit() * int64(n*n)) })
		for i := range n {
			for k := range i {
				if inplace {
					m[i*n+k] = m[k*n+i]
				}
			}
		}
		if name == "alltoallv" {
			head = append(head, g.IntN(3), g.coin(2))
		}
		head = append(head, n, m)
	}
	g.emit(p.slot, 0, nil, head...)
}

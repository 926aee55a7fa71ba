package match

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// node is used as the engine uses entries: with the match node inside, and found again by its Owner.
type node struct {
	Entry[node]
	id int
}

type arrival struct {
	Header[arrival]
	id int
}

// drawPattern has few distinct values, so that everything collides, and masks of up to `masks` ignore words.
func drawPattern(t *rapid.T, masks int) Pattern {
	ignore := uint64(rapid.IntRange(0, masks-1).Draw(t, "ignore"))
	if rapid.Bool().Draw(t, "high") {
		ignore <<= 60
	}
	return Pattern{
		Bits:       uint64(rapid.IntRange(0, 3).Draw(t, "bits")),
		Ignore:     ignore,
		Src:        drawSource(t),
		AnyA:       rapid.Bool().Draw(t, "anyA"),
		AnyB:       rapid.Bool().Draw(t, "anyB"),
		NoTruncate: rapid.Bool().Draw(t, "noTruncate"),
		Local:      rapid.Bool().Draw(t, "local"),
		Room:       uint64(rapid.IntRange(0, 3).Draw(t, "room")),
	}
}

func drawSource(t *rapid.T) Source {
	return Source{uint32(rapid.IntRange(0, 2).Draw(t, "a")), uint32(rapid.IntRange(0, 1).Draw(t, "b"))}
}

func drawQuery(t *rapid.T) Query {
	q := Query{
		Bits:   uint64(rapid.IntRange(0, 3).Draw(t, "bits")),
		Src:    drawSource(t),
		Offset: uint64(rapid.IntRange(0, 2).Draw(t, "offset")),
		Length: uint64(rapid.IntRange(0, 2).Draw(t, "length")),
	}
	if rapid.IntRange(0, 9).Draw(t, "huge") == 0 {
		q.Offset = ^uint64(0)
	}
	return q
}

// slowTakes is the rule once more, bit by bit.
func slowTakes(p *Pattern, q *Query) bool {
	for i := range 64 {
		if p.Ignore>>i&1 == 0 && p.Bits>>i&1 != q.Bits>>i&1 {
			return false
		}
	}
	if !p.AnyA && p.Src.A != q.Src.A || !p.AnyB && p.Src.B != q.Src.B {
		return false
	}
	switch {
	case !p.NoTruncate:
		return true
	case p.Local:
		return q.Length <= p.Room
	}
	return q.Offset <= p.Room && q.Length <= p.Room-q.Offset
}

func TestListModel(t *testing.T) {
	for _, c := range []struct {
		name  string
		masks int
		weak  bool // hashes collide
	}{{"one", 1, false}, {"few", 3, false}, {"many", 16, false}, {"weak hash", 3, true}} {
		t.Run(c.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				m := &listModel{masks: c.masks}
				if c.weak {
					m.list.index = &entryIndex[node]{}
				}
				for range 5 { // some 150 steps
					t.Repeat(m.actions())
				}
			})
		})
	}
}

// listModel is a list and what it should hold.
type listModel struct {
	list  List[node]
	want  []*node
	ids   int
	masks int
}

func (m *listModel) actions() map[string]func(*rapid.T) {
	appendSome := func(t *rapid.T) {
		for range rapid.IntRange(1, 6).Draw(t, "count") {
			n := &node{id: m.ids}
			m.ids++
			n.Owner, n.Pattern = n, drawPattern(t, m.masks)
			m.list.Append(&n.Entry)
			m.want = append(m.want, n)
		}
	}
	return map[string]func(*rapid.T){
		"append":  appendSome,
		"append2": appendSome,
		"remove":  m.remove,
		"match":   m.match,
		"match2":  m.match,
		"shrink": func(t *rapid.T) { // as the engine moves the cursor of a local entry
			if len(m.want) > 0 {
				n := rapid.SampledFrom(m.want).Draw(t, "entry")
				n.Room -= min(n.Room, 1)
			}
		},
		"drain": func(t *rapid.T) {
			if rapid.IntRange(0, 3).Draw(t, "really") != 0 {
				return
			}
			m.list.Each(func(e *Entry[node]) bool {
				m.list.Remove(e)
				return true
			})
			m.want = nil
		},
		"": m.check,
	}
}

func (m *listModel) remove(t *rapid.T) {
	if len(m.want) == 0 {
		return
	}
	i := rapid.IntRange(0, len(m.want)-1).Draw(t, "index")
	m.list.Remove(&m.want[i].Entry)
	if m.want[i].Linked() {
		t.Fatal("removed entry is linked")
	}
	m.want = slices.Delete(m.want, i, i+1)
}

// match searches, and removes what it finds half of the time, as a use-once entry goes.
func (m *listModel) match(t *rapid.T) {
	q := drawQuery(t)
	i := slices.IndexFunc(m.want, func(n *node) bool { return slowTakes(&n.Pattern, &q) })
	got := m.list.Find(&q)
	if got == nil || i < 0 {
		if got != nil || i >= 0 {
			t.Fatalf("Find(%+v) gave %v, want index %d", q, got, i)
		}
		return
	}
	if got.Owner != m.want[i] {
		t.Fatalf("Find(%+v) gave entry %d, want %d", q, got.Owner.id, m.want[i].id)
	}
	if rapid.Bool().Draw(t, "use once") {
		m.list.Remove(got)
		m.want = slices.Delete(m.want, i, i+1)
	}
}

func (m *listModel) check(t *rapid.T) {
	var got []*node
	for e := range m.list.Each {
		got = append(got, e.Owner)
	}
	if !slices.Equal(got, m.want) || m.list.Len() != len(m.want) {
		t.Fatalf("Each gave %d entries, Len %d, want %d", len(got), m.list.Len(), len(m.want))
	}
	if x := m.list.index; x != nil {
		n := 0
		for c := range x.tables {
			n += checkTable(t, &x.tables[c], func(e *Entry[node]) uint64 { return e.hash }, func(e *Entry[node]) *Entry[node] { return e.later })
			if live := x.live>>c&1 != 0; live != (x.tables[c].used > 0) {
				t.Fatalf("class %d: live %v with %d keys", c, live, x.tables[c].used)
			}
		}
		for e := x.rest; e != nil; e = e.later {
			n++
		}
		if want := m.list.Len(); m.list.indexed && n != want || !m.list.indexed && n != 0 {
			t.Fatalf("index has %d of %d entries (indexed: %v)", n, want, m.list.indexed)
		}
	}
}

// checkTable counts the nodes in a table, whose heads must be where lookups come to, and no more be counted as gone on than have.
func checkTable[N any](t *rapid.T, tab *table[N], hash func(*N) uint64, later func(*N) *N) (nodes int) {
	used := 0
	gone := make([]int, len(tab.groups))
	last := uint64(len(tab.groups) - 1)
	for i := range tab.groups {
		g := &tab.groups[i]
		for k, n := range g.nodes {
			tag := g.tags >> (8 * k) & 0xff
			if n == nil {
				if tag != 0 {
					t.Fatalf("group %d has a tag without a node", i)
				}
				continue
			}
			used++
			if tag != tagOf(hash(n)) || g.match(hash(n))>>(8*k+7)&1 == 0 {
				t.Fatalf("group %d has tag %x of hash %x", i, tag, hash(n))
			}
			for j := hash(n) & last; j != uint64(i); j = (j + 1) & last {
				gone[j]++
			}
			for ; n != nil; n = later(n) {
				nodes++
			}
		}
	}
	for i := range tab.groups {
		if n := int(tab.groups[i].tags >> 56); n != gone[i] && n != strayed {
			t.Fatalf("group %d counts %d nodes as gone on, want %d", i, n, gone[i])
		}
	}
	if used != tab.used || 2*used > 9*len(tab.groups) {
		t.Fatalf("table has %d groups, %d nodes, and says %d", len(tab.groups), used, tab.used)
	}
	return nodes
}

func TestUnexpectedModel(t *testing.T) {
	for _, c := range []struct {
		name  string
		masks int
		weak  bool
	}{{"one", 1, false}, {"few", 3, false}, {"many", 8, false}, {"weak hash", 3, true}} {
		t.Run(c.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				m := &unexpectedModel{masks: c.masks}
				if c.weak {
					m.list.views = &views[arrival]{}
				}
				for range 5 { // some 150 steps
					t.Repeat(m.actions())
				}
			})
		})
	}
}

type unexpectedModel struct {
	list  Unexpected[arrival]
	want  []*arrival
	ids   int
	masks int
}

func (m *unexpectedModel) actions() map[string]func(*rapid.T) {
	addSome := func(t *rapid.T) {
		for range rapid.IntRange(1, 6).Draw(t, "count") {
			a := &arrival{id: m.ids}
			m.ids++
			a.Owner, a.Query = a, drawQuery(t)
			m.list.Add(&a.Header)
			m.want = append(m.want, a)
		}
	}
	return map[string]func(*rapid.T){
		"add":    addSome,
		"add2":   addSome,
		"first":  m.first,
		"first2": m.first,
		"all":    m.all,
		"remove": func(t *rapid.T) {
			if len(m.want) > 0 {
				i := rapid.IntRange(0, len(m.want)-1).Draw(t, "index")
				m.removeAt(t, i)
			}
		},
		"drain": func(t *rapid.T) {
			if rapid.IntRange(0, 3).Draw(t, "really") != 0 {
				return
			}
			m.list.Each(func(h *Header[arrival]) bool {
				m.list.Remove(h)
				return true
			})
			m.want = nil
		},
		"": m.check,
	}
}

func (m *unexpectedModel) removeAt(t *rapid.T, i int) {
	a := m.want[i]
	m.list.Remove(&a.Header)
	if a.Linked() || a.queue != [maxViews]neighbours[arrival]{} {
		t.Fatal("removed header is linked")
	}
	m.want = slices.Delete(m.want, i, i+1)
}

func (m *unexpectedModel) first(t *rapid.T) {
	p := drawPattern(t, m.masks)
	i := slices.IndexFunc(m.want, func(a *arrival) bool { return slowTakes(&p, &a.Query) })
	got := m.list.First(&p)
	if got == nil || i < 0 {
		if got != nil || i >= 0 {
			t.Fatalf("First(%+v) gave %v, want index %d", p, got, i)
		}
		return
	}
	if got.Owner != m.want[i] {
		t.Fatalf("First(%+v) gave header %d, want %d", p, got.Owner.id, m.want[i].id)
	}
	if rapid.Bool().Draw(t, "use once") {
		m.removeAt(t, i)
	}
}

// all walks with Next, and removes some of what it finds once it has asked for the next.
func (m *unexpectedModel) all(t *rapid.T) {
	p := drawPattern(t, m.masks)
	var got, want, kept []*arrival
	for _, a := range m.want {
		if slowTakes(&p, &a.Query) {
			want = append(want, a)
		}
	}
	remove := rapid.Uint64().Draw(t, "remove")
	for h := m.list.First(&p); h != nil; {
		next := m.list.Next(h, &p)
		got = append(got, h.Owner)
		if remove>>(len(got)%64)&1 != 0 {
			m.list.Remove(h)
		}
		h = next
	}
	if !slices.Equal(got, want) {
		t.Fatalf("pattern %+v took %d headers, want %d", p, len(got), len(want))
	}
	for _, a := range m.want {
		if a.Linked() {
			kept = append(kept, a)
		}
	}
	m.want = kept
}

func (m *unexpectedModel) check(t *rapid.T) {
	var got []*arrival
	for h := range m.list.Each {
		got = append(got, h.Owner)
	}
	if !slices.Equal(got, m.want) || m.list.Len() != len(m.want) {
		t.Fatalf("Each gave %d headers, Len %d, want %d", len(got), m.list.Len(), len(m.want))
	}
	if x := m.list.views; x != nil {
		for v := range x.view {
			want := 0
			if x.made>>v&1 != 0 {
				want = len(m.want)
			}
			hash := func(h *Header[arrival]) uint64 { return x.seed.hash(x.masks[v], h.Bits, h.Src) }
			n := checkTable(t, &x.view[v].table, hash, func(h *Header[arrival]) *Header[arrival] { return h.queue[v].later })
			if n != want {
				t.Fatalf("view %d has %d headers of %d", v, n, want)
			}
		}
	}
}

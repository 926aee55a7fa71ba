package match

import (
	"math"
	"testing"
)

func TestTakes(t *testing.T) {
	const wild = math.MaxUint64
	src := Source{3, 4}
	for _, c := range []struct {
		name string
		p    Pattern
		q    Query
		want bool
	}{
		{"equal", Pattern{Bits: 5, Src: src}, Query{Bits: 5, Src: src}, true},
		{"other bits", Pattern{Bits: 5, Src: src}, Query{Bits: 4, Src: src}, false},
		{"ignored bit", Pattern{Bits: 5, Ignore: 1, Src: src}, Query{Bits: 4, Src: src}, true},
		{"ignored bit set in neither", Pattern{Bits: 4, Ignore: 1, Src: src}, Query{Bits: 4, Src: src}, true},
		{"other than the ignored bit", Pattern{Bits: 5, Ignore: 1, Src: src}, Query{Bits: 6, Src: src}, false},
		{"top bit", Pattern{Bits: 1 << 63, Src: src}, Query{Src: src}, false},
		{"all ignored", Pattern{Bits: 5, Ignore: wild, Src: src}, Query{Bits: wild, Src: src}, true},
		{"other node", Pattern{Src: src}, Query{Src: Source{2, 4}}, false},
		{"other process", Pattern{Src: src}, Query{Src: Source{3, 5}}, false},
		{"any node", Pattern{Src: src, AnyA: true}, Query{Src: Source{2, 4}}, true},
		{"any node, other process", Pattern{Src: src, AnyA: true}, Query{Src: Source{2, 5}}, false},
		{"any process", Pattern{Src: src, AnyB: true}, Query{Src: Source{3, 5}}, true},
		{"any process, other node", Pattern{Src: src, AnyB: true}, Query{Src: Source{2, 5}}, false},
		{"anybody", Pattern{Src: src, AnyA: true, AnyB: true}, Query{Src: Source{7, 8}}, true},
		{"truncated", Pattern{Room: 4}, Query{Offset: 2, Length: 3}, true},
		{"fits", Pattern{NoTruncate: true, Room: 5}, Query{Offset: 2, Length: 3}, true},
		{"does not fit", Pattern{NoTruncate: true, Room: 4}, Query{Offset: 2, Length: 3}, false},
		{"nothing at the end", Pattern{NoTruncate: true, Room: 4}, Query{Offset: 4}, true},
		{"nothing behind the end", Pattern{NoTruncate: true, Room: 4}, Query{Offset: 5}, false},
		{"end overflows", Pattern{NoTruncate: true, Room: 4}, Query{Offset: wild, Length: 2}, false},
		{"end is the last byte", Pattern{NoTruncate: true, Room: wild}, Query{Offset: wild - 1, Length: 1}, true},
		{"local fits", Pattern{NoTruncate: true, Local: true, Room: 3}, Query{Offset: wild, Length: 3}, true},
		{"local does not fit", Pattern{NoTruncate: true, Local: true, Room: 2}, Query{Length: 3}, false},
		{"local truncates", Pattern{Local: true}, Query{Length: 3}, true},
	} {
		if got := c.p.Takes(&c.q); got != c.want {
			t.Errorf("%s: %+v takes %+v: %v", c.name, c.p, c.q, got)
		}
		if got := slowTakes(&c.p, &c.q); got != c.want {
			t.Errorf("%s: the model says %v", c.name, got)
		}
	}
}

// TestOrder: who was appended first is found first, whatever class it is in, in lists with and without an index.
func TestOrder(t *testing.T) {
	for _, before := range []int{0, 1, short, 100} {
		var l List[node]
		other := make([]node, before)
		for i := range other {
			other[i].Pattern = Pattern{Bits: 99, Ignore: uint64(i%4) << 32}
			l.Append(&other[i].Entry)
		}
		wild := &node{Entry: Entry[node]{Pattern: Pattern{Ignore: 0xff00, AnyA: true, AnyB: true}}}
		exact := &node{Entry: Entry[node]{Pattern: Pattern{Bits: 0x100}}}
		q := &Query{Bits: 0x100}
		l.Append(&wild.Entry)
		l.Append(&exact.Entry)
		if got := l.Find(q); got != &wild.Entry {
			t.Errorf("behind %d: found %v first, want the wildcard", before, got)
		}
		l.Remove(&wild.Entry)
		l.Append(&wild.Entry)
		if got := l.Find(q); got != &exact.Entry {
			t.Errorf("behind %d: found %v first, want the exact one", before, got)
		}
	}
}

// TestRoomShrinks: the search passes blocks that have been filled up, as the caller moves their cursors.
func TestRoomShrinks(t *testing.T) {
	var l List[node]
	blocks := make([]node, 20)
	for i := range blocks {
		blocks[i].Pattern = Pattern{Ignore: math.MaxUint64, AnyA: true, AnyB: true, NoTruncate: true, Local: true, Room: 100}
		l.Append(&blocks[i].Entry)
	}
	for i := range 3 * len(blocks) {
		q := Query{Bits: uint64(i), Length: 30}
		e := l.Find(&q)
		if want := &blocks[i/3].Entry; e != want {
			t.Fatalf("message %d: wrong block", i)
		}
		e.Room -= q.Length
	}
	if l.Find(&Query{Length: 30}) != nil || l.Find(&Query{Length: 10}) != &blocks[0].Entry {
		t.Error("what is left of the blocks is not used")
	}
}

// TestManyMasks: more masks than classes are found all the same, and the classes are used again.
func TestManyMasks(t *testing.T) {
	const masks = 3 * maxClasses
	var l List[node]
	nodes := make([]node, 4*masks)
	for round := range 3 {
		for i := range nodes {
			nodes[i].Pattern = Pattern{Bits: uint64(i), Ignore: uint64(i%masks+round*masks) << 32}
			l.Append(&nodes[i].Entry)
		}
		for i := range nodes {
			if got := l.Find(&Query{Bits: uint64(i)}); got != &nodes[i].Entry {
				t.Fatalf("round %d: entry %d is not found", round, i)
			}
		}
		if l.index.live != 1<<maxClasses-1 || l.index.rest == nil {
			t.Errorf("round %d: classes %b, rest %v", round, l.index.live, l.index.rest != nil)
		}
		for i := range nodes {
			l.Remove(&nodes[i*7%len(nodes)].Entry)
		}
		if l.index.live != 0 || l.index.rest != nil || l.Len() != 0 {
			t.Errorf("round %d: the index keeps something", round)
		}
	}
}

// TestViews: views are made when the first headers do not decide a search, recycled for searches that walk too much, and given up unused.
func TestViews(t *testing.T) {
	var u Unexpected[arrival]
	as := make([]arrival, 1000)
	for i := range as {
		as[i].Query = Query{Bits: uint64(i)}
		u.Add(&as[i].Header)
	}
	if u.First(&Pattern{Bits: short - 1}) != &as[short-1].Header || u.views != nil {
		t.Error("a search that the first headers decide made a view")
	}
	search := func(mask, i int) {
		t.Helper()
		p := Pattern{Bits: uint64(i), Ignore: uint64(mask) << 32}
		if u.First(&p) != &as[i].Header {
			t.Fatalf("mask %d: header %d is not found", mask, i)
		}
	}
	for mask := range maxViews {
		search(mask, 900)
	}
	if u.views.made != 1<<maxViews-1 {
		t.Errorf("views %b", u.views.made)
	}
	search(0, 900)
	search(1, 900)
	for range 7 {
		search(maxViews, 999)
	}
	if u.viewOf(mask{^uint64(maxViews << 32), math.MaxUint64}) >= 0 {
		t.Error("a view was recycled for less than it costs")
	}
	search(maxViews, 999)
	search(maxViews, 999)
	search(maxViews, 999)
	if v := u.viewOf(mask{^uint64(maxViews << 32), math.MaxUint64}); v != 2 {
		t.Errorf("view %d was recycled, want 2, the longest unused", v)
	}
	for range 40000 {
		u.Remove(&as[999].Header)
		u.Add(&as[999].Header)
		search(1, 999)
	}
	if u.views.made != 1<<1 {
		t.Errorf("views %b are kept, want only that in use", u.views.made)
	}
	u.Each(func(h *Header[arrival]) bool { u.Remove(h); return true })
	if u.views.made != 0 {
		t.Error("an empty list keeps views")
	}
}

func TestEachStops(t *testing.T) {
	var l List[node]
	var u Unexpected[arrival]
	for range 3 {
		l.Append(&new(node).Entry)
		u.Add(&new(arrival).Header)
	}
	n := 0
	for range l.Each {
		n++
		break
	}
	for range u.Each {
		n++
		break
	}
	if n != 2 {
		t.Errorf("%d calls, want 2", n)
	}
}

func TestMisuse(t *testing.T) {
	var l List[node]
	var u Unexpected[arrival]
	var in, out node
	var hin, hout arrival
	l.Append(&in.Entry)
	u.Add(&hin.Header)
	for name, f := range map[string]func(){
		"append": func() { l.Append(&in.Entry) },
		"remove": func() { l.Remove(&out.Entry) },
		"add":    func() { u.Add(&hin.Header) },
		"take":   func() { u.Remove(&hout.Header) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

// TestSpread: match bits as programs make them, dense in one field or two, fill the groups of a table evenly.
func TestSpread(t *testing.T) {
	const n = 1 << 15
	for name, query := range map[string]func(i int) Query{
		"tags":             func(i int) Query { return Query{Bits: uint64(i)} },
		"shifted":          func(i int) Query { return Query{Bits: uint64(i) << 40} },
		"ranks":            func(i int) Query { return Query{Bits: 7, Src: Source{A: uint32(i)}} },
		"processes":        func(i int) Query { return Query{Bits: 7, Src: Source{1, uint32(i)}} },
		"ranks twice":      func(i int) Query { return Query{Bits: uint64(i) << 24, Src: Source{A: uint32(i)}} },
		"tags of 64 ranks": func(i int) Query { return Query{Bits: uint64(i / 64), Src: Source{A: uint32(i % 64)}} },
	} {
		for s := range uint64(20) {
			tab := table[int]{groups: make([]group[int], n/4)}
			seed := seed{s * 0x9e3779b97f4a7c15, ^s * 0xbf58476d1ce4e5b9}
			for i := range n {
				q := query(i)
				tab.insert(seed.hash(mask{math.MaxUint64, math.MaxUint64}, q.Bits, q.Src), new(int))
			}
			on := 0
			for i := range tab.groups {
				if tab.groups[i].goesOn() {
					on++
				}
			}
			if on > len(tab.groups)/8 { // 1 of 16 by chance
				t.Errorf("%s, seed %d: nodes went on from %d of %d groups", name, s, on, len(tab.groups))
			}
		}
	}
}

func TestNoAllocations(t *testing.T) {
	for _, s := range shapes {
		const n = 500
		var l List[node]
		var u Unexpected[arrival]
		nodes, arrivals := make([]node, n), make([]arrival, n)
		cycle := func() {
			for i := range nodes {
				nodes[i].Pattern = s.entry(i)
				l.Append(&nodes[i].Entry)
				arrivals[i].Query = s.query(i)
				u.Add(&arrivals[i].Header)
			}
			for i := range nodes {
				i = n - 1 - i
				q, p := s.query(i), s.entry(i)
				l.Remove(l.Find(&q))
				u.Remove(u.First(&p))
			}
		}
		cycle()
		if a := testing.AllocsPerRun(20, cycle); a != 0 {
			t.Errorf("%s: %v allocations", s.name, a)
		}
	}
}

// TestCollisions: when all keys have one hash everything is found still, also once groups have lost count of what went on.
func TestCollisions(t *testing.T) {
	const n = 600
	l := List[node]{index: &entryIndex[node]{}} // the seed of zeros makes one hash of all match bits of source zero
	u := Unexpected[arrival]{views: &views[arrival]{}}
	nodes, arrivals := make([]node, n), make([]arrival, n)
	for round := range 2 {
		for i := range n {
			nodes[i].Bits, arrivals[i].Bits = uint64(i), uint64(i)
			l.Append(&nodes[i].Entry)
			u.Add(&arrivals[i].Header)
		}
		for i := range n {
			i = i * 7 % n
			e, h := l.Find(&Query{Bits: uint64(i)}), u.First(&Pattern{Bits: uint64(i)})
			if e != &nodes[i].Entry || h != &arrivals[i].Header {
				t.Fatalf("round %d: key %d is not found", round, i)
			}
			l.Remove(e)
			u.Remove(h)
			if l.Find(&Query{Bits: uint64(i)}) != nil || u.First(&Pattern{Bits: uint64(i)}) != nil {
				t.Fatalf("round %d: key %d is found after its removal", round, i)
			}
		}
	}
}

// TestLostCount: a lookup ends after all groups though every one says that nodes went on.
func TestLostCount(t *testing.T) {
	var tab table[Entry[node]]
	tab.grow(nil)
	for i := range tab.groups {
		tab.groups[i].tags = strayed << 56
	}
	all := mask{math.MaxUint64, math.MaxUint64}
	if headOf(&tab, 1, all, 1, Source{}) != nil {
		t.Error("found something in an empty table")
	}
	e := &Entry[node]{Pattern: Pattern{Bits: 1}}
	tab.insert(1, e)
	if headOf(&tab, 1, all, 1, Source{}) != e {
		t.Error("did not find what was inserted")
	}
	tab.remove(1, e)
	if headOf(&tab, 1, all, 1, Source{}) != nil {
		t.Error("found what was removed")
	}
	tab.groups = make([]group[Entry[node]], 64)
	if tab.clear(); tab.groups != nil {
		t.Error("an empty table keeps 64 groups to wipe")
	}
}

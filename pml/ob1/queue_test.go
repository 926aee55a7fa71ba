package ob1

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The queues against the simplest thing that could be right: lists searched from the front.

func fits(source, tag, wantSource, wantTag int32) bool {
	if tag >= pairTags {
		return source == wantSource && tag == wantTag
	}
	return (wantSource == anySource || wantSource == source) && (wantTag == anyTag || wantTag == tag)
}

func newPosted() *posted {
	p := &posted{}
	p.t.init()
	return p
}

func newUnexpected() *unexpected {
	u := &unexpected{}
	u.t.init()
	return u
}

func drawReceive(t *rapid.T) (source, tag int32) {
	source = rapid.Int32Range(0, 4).Draw(t, "source")
	tag = rapid.OneOf(rapid.Int32Range(0, 3), rapid.Int32Range(0, 1000), rapid.Int32Range(pairTags, pairTags+3)).Draw(t, "tag")
	switch rapid.IntRange(0, 7).Draw(t, "wild") {
	case 0:
		source = anySource
	case 1:
		tag = anyTag
	case 2:
		source, tag = anySource, anyTag
	}
	return source, tag
}

func TestPostedModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPosted()
		var model []*recvReq
		take := func(t *rapid.T, source, tag int32) {
			i := slices.IndexFunc(model, func(r *recvReq) bool { return fits(source, tag, r.source, r.tag) })
			got := p.take(source, tag)
			switch {
			case i < 0 && got != nil:
				t.Fatalf("a receive of (%d, %d) took message (%d, %d)", got.source, got.tag, source, tag)
			case i >= 0 && got != model[i]:
				t.Fatalf("message (%d, %d) went to %v, not to the receive of (%d, %d) posted first", source, tag, got, model[i].source, model[i].tag)
			case i >= 0:
				model = slices.Delete(model, i, i+1)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"post": func(t *rapid.T) {
				r := &recvReq{}
				r.source, r.tag = drawReceive(t)
				p.add(r)
				model = append(model, r)
			},
			"arrive": func(t *rapid.T) {
				take(t, rapid.Int32Range(0, 4).Draw(t, "source"), rapid.OneOf(rapid.Int32Range(0, 5), rapid.Int32Range(pairTags, pairTags+3)).Draw(t, "tag"))
			},
			"hit": func(t *rapid.T) {
				if len(model) == 0 {
					t.Skip("nothing is posted")
				}
				r := rapid.SampledFrom(model).Draw(t, "receive")
				take(t, max(r.source, 0), max(r.tag, 0))
			},
			"cancel": func(t *rapid.T) {
				if len(model) == 0 {
					t.Skip("nothing is posted")
				}
				i := rapid.IntRange(0, len(model)-1).Draw(t, "receive")
				p.remove(model[i])
				model = slices.Delete(model, i, i+1)
			},
			"": func(t *rapid.T) {
				wild := 0
				for _, r := range model {
					if r.source == anySource || r.tag == anyTag {
						wild++
					}
					if r.entry.q == nil {
						t.Fatal("a posted receive is in no queue")
					}
				}
				if p.n != len(model) || p.wild != wild {
					t.Fatalf("%d posted with %d wildcards, want %d with %d", p.n, p.wild, len(model), wild)
				}
				checkTable(t, &p.t)
			},
		})
	})
}

func TestUnexpectedModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := newUnexpected()
		var model []*message
		drop := func(m *message) {
			u.remove(m)
			model = slices.DeleteFunc(model, func(x *message) bool { return x == m })
			for i := range m.at {
				if m.at[i].q != nil {
					t.Fatalf("a message taken out is still in queue %d", i)
				}
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"arrive": func(t *rapid.T) {
				m := &message{source: rapid.Int32Range(0, 4).Draw(t, "source"), tag: rapid.OneOf(rapid.Int32Range(0, 3), rapid.Int32Range(0, 1000), rapid.Int32Range(pairTags, pairTags+3)).Draw(t, "tag")}
				u.add(m)
				model = append(model, m)
			},
			"receive": func(t *rapid.T) {
				source, tag := drawReceive(t)
				i := slices.IndexFunc(model, func(m *message) bool { return fits(m.source, m.tag, source, tag) })
				got := u.find(source, tag)
				if (i < 0) != (got == nil) || i >= 0 && got != model[i] {
					t.Fatalf("a receive of (%d, %d) finds %v, want number %d of %d", source, tag, got, i, len(model))
				}
				if got != nil && rapid.Bool().Draw(t, "take") {
					drop(got)
				}
			},
			"drop": func(t *rapid.T) { // as a peer's death does
				if len(model) == 0 {
					t.Skip("nothing is there")
				}
				drop(rapid.SampledFrom(model).Draw(t, "message"))
			},
			"": func(t *rapid.T) {
				if u.n != len(model) {
					t.Fatalf("%d messages, want %d", u.n, len(model))
				}
				at := map[bool]*entry{false: u.all.head, true: u.pairs.head}
				for i, m := range model {
					pair := m.tag >= pairTags
					if e := at[pair]; e == nil || e.msg != m {
						t.Fatalf("place %d of all messages is wrong", i)
					}
					at[pair] = at[pair].next
				}
				checkTable(t, &u.t)
			},
		})
	})
}

// checkTable checks a table's invariants: every queue is in the bucket of its key and is linked both ways; n counts them.
func checkTable(t *rapid.T, tb *table) {
	n := 0
	for b, q := range tb.buckets {
		for ; q != nil; q = q.next {
			n++
			if int(tb.slot(q.key)) != b {
				t.Fatalf("queue %#x is in bucket %d, not %d", q.key, b, tb.slot(q.key))
			}
			var last *entry
			for e := q.head; e != nil; e = e.next {
				if e.q != q || e.prev != last {
					t.Fatalf("queue %#x is linked wrongly", q.key)
				}
				last = e
			}
			if q.tail != last {
				t.Fatalf("queue %#x ends elsewhere", q.key)
			}
		}
	}
	if n != tb.n || len(tb.buckets) != 1<<(64-tb.shift) {
		t.Fatalf("%d queues, counted %d; %d buckets for shift %d", n, tb.n, len(tb.buckets), tb.shift)
	}
}

// chains is the longest and the mean number of queues that a lookup of the table's keys passes.
func chains(tb *table) (longest int, mean float64) {
	sum, n := 0, 0
	for _, q := range tb.buckets {
		k := 0
		for ; q != nil; q = q.next {
			k++
			sum += k
			n++
		}
		longest = max(longest, k)
	}
	return longest, float64(sum) / float64(max(n, 1))
}

// TestManyTags: 10,000 tags posted, matched in reverse: each match looks at a few queues, not at thousands.
func TestManyTags(t *testing.T) {
	const n = 10_000
	p, u := newPosted(), newUnexpected()
	recvs, msgs := make([]recvReq, n), make([]message, n)
	for i := range n {
		recvs[i].source, recvs[i].tag = 3, int32(i)
		p.add(&recvs[i])
		msgs[i].source, msgs[i].tag = 3, int32(i)
		u.add(&msgs[i])
	}
	for name, tb := range map[string]*table{"posted": &p.t, "unexpected": &u.t} {
		if longest, mean := chains(tb); longest > 8 || mean > 2 {
			t.Errorf("%s: a lookup passes %.1f queues, up to %d", name, mean, longest)
		}
	}
	for i := n - 1; i >= 0; i-- {
		if r := p.take(3, int32(i)); r != &recvs[i] {
			t.Fatalf("tag %d went to the wrong receive", i)
		}
		m := u.find(3, int32(i))
		if m != &msgs[i] {
			t.Fatalf("tag %d found the wrong message", i)
		}
		u.remove(m)
	}
	if p.n != 0 || u.n != 0 || u.all.head != nil {
		t.Error("something is left")
	}
}

// TestTableSweep: keys used once do not pile up, and a table in steady use stops allocating.
func TestTableSweep(t *testing.T) {
	p := newPosted()
	r := &recvReq{}
	next := int32(0)
	once := func() {
		r.source, r.tag = next%7, next
		next++
		p.add(r)
		if p.take(r.source, r.tag) != r {
			t.Fatal("not found")
		}
	}
	for range 100_000 {
		once()
	}
	if len(p.t.buckets) != tableMin {
		t.Errorf("one receive at a time has grown the table to %d buckets", len(p.t.buckets))
	}
	// A sweep makes one slice of buckets for every tableMin new keys.
	if a := testing.AllocsPerRun(1000, once); a > 0.1 {
		t.Errorf("%v allocations a receive with a new key", a)
	}
	if a := testing.AllocsPerRun(1000, func() { next = 5; once() }); a != 0 {
		t.Errorf("%v allocations a receive with a known key", a)
	}
}

func BenchmarkMatchReverse(b *testing.B) {
	const n = 10_000
	p := newPosted()
	recvs := make([]recvReq, n)
	for i := range n {
		recvs[i].tag = int32(i)
	}
	b.ReportAllocs()
	for b.Loop() {
		for i := range n {
			p.add(&recvs[i])
		}
		for i := n - 1; i >= 0; i-- {
			p.take(0, int32(i))
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/message")
}

package rules

import (
	"strings"
	"testing"

	"github.com/ompi-go/ompi-go/coll/alg"
)

// whole is a table of the first algorithms.
func whole(t testing.TB) *Table {
	t.Helper()
	var table Table
	for k := range alg.Kinds {
		for order := range orders(k) {
			section := []Ranks{{From: 1, Rules: []Rule{{Algorithms: alg.List(k)[:1]}}}}
			if err := table.Set(k, order == 0, section); err != nil {
				t.Fatal(err)
			}
		}
	}
	return &table
}

func TestErrors(t *testing.T) {
	base := whole(t)
	for _, tc := range []struct{ text, want string }{
		{"", "r:1: the file is empty; want `version 1`"},
		{"# nothing\n\n", "r:1: the file is empty"},
		{"bcast\n", "r:1: want `version 1` in the first line, got \"bcast\""},
		{"version 2\nbcast\n", "r:1: version 2 is not known; this library reads version 1"},
		{"version 1\nversion 1\n", "r:2: the version is said once"},
		{"version 1\ninclude defaults", "r:2: want `include default`, got"},
		{"version 1\nranks 1", "r:2: ranks before the name of an operation"},
		{"version 1\nbytes 0 binomial", "r:2: bytes before the name of an operation"},
		{"version 1\nbroadcast\nranks 7", "r:2: unknown operation \"broadcast\"; operations are barrier, bcast,"},
		{"version 1\nbcast commutative", "r:2: want bcast alone"},
		{"version 1\nreduce", "r:2: want reduce followed by commutative or noncommutative"},
		{"version 1\nbcast", "r:2: bcast: no line `ranks` follows"},
		{"version 1\nbcast\nranks 1\nbytes 0 binomial\nbcast", "r:5: this section is there already, in line 2"},
		{"version 1\nbcast\nbytes 0 binomial", "r:3: bytes before any line `ranks`"},
		{"version 1\nbcast\nranks 2\nbytes 0 binomial", "r:3: bcast: the first line `ranks` must say 1"},
		{"version 1\nbcast\nranks 1\nbytes 0 binomial\nranks 1\nbytes 0 binomial", "r:5: bcast: ranks 1 after ranks 1"},
		{"version 1\nbcast\nranks 1 2\nbytes 0 binomial", "r:3: ranks: want one number, got \"1 2\""},
		{"version 1\nbcast\nranks -1\nbytes 0 binomial", "r:3: ranks: \"-1\" is no number"},
		{"version 1\nbcast\nranks 1\nbytes 0 binomial\nranks 8g\nbytes 0 binomial", "r:5: ranks 8589934592: there cannot be so many"},
		{"version 1\nbcast\nranks 1\nranks 4\nbytes 0 binomial", "r:3: no line `bytes` follows"},
		{"version 1\nbcast\nranks 1\n# end", "r:3: no line `bytes` follows"},
		{"version 1\nbcast\nranks 1\nbytes 1 binomial", "r:4: bcast: the first line `bytes` must say 0"},
		{"version 1\nbcast\nranks 1\nbytes 0 binomial\nbytes 0 linear", "r:5: bcast: bytes 0 after bytes 0"},
		{"version 1\nbcast\nranks 1\nbytes 0 binomial\nbytes 3q linear", "r:5: bytes: \"3q\" is no number of the form"},
		{"version 1\nbcast\nranks 1\nbytes 0 binomial\nbytes 99999999999g linear", "r:5: bytes: \"99999999999g\" is no number"},
		{"version 1\nbcast\nranks 1\nbytes 0", "r:4: want `bytes SIZE ALGORITHM [segment SIZE]`"},
		{"version 1\nbcast\nranks 1\nbytes 0 binomial 4k", "r:4: want `bytes SIZE ALGORITHM [segment SIZE]`"},
		{"version 1\nbcast\nranks 1\nbytes 0 binomial piece 4k", "r:4: want `bytes SIZE ALGORITHM [segment SIZE]`"},
		{"version 1\nbcast\nranks 1\nbytes 0 binomial segment x", "r:4: segment: \"x\" is no number"},
		{"version 1\nbcast\nranks 1\nbytes 0 binomial segment 0", "r:4: a segment of 0 bytes"},
		{"version 1\nbcast\nranks 1\nbytes 0 linear segment 4k", "r:4: linear does not send in segments"},
		{"version 1\nbcast\nranks 1\nbytes 0 bruck", "r:4: bcast has no algorithm \"bruck\"; it has binomial, linear"},
		{"version 1\nbcast\nranks 1\nbytes 0 scatter_allgather", "r:4: scatter_allgather cannot serve every number of ranks"},
		{"version 1\nbcast\nranks 1\nbytes 0 linear|", "r:4: bcast has no algorithm \"\""},
		{"version 1\nallreduce noncommutative\nranks 1\nbytes 0 ring", "r:4: allreduce ring does not keep operands in order; those that do are recursive_doubling, "},
		{"version 1\nbcast\nranks 1\nbytes 0 binomial", "r: no rules for barrier, reduce commutative, reduce noncommutative, "},
	} {
		_, err := Parse("r", tc.text, base)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q: %v, want %q", tc.text, err, tc.want)
		}
	}
	if _, err := Parse("r", "version 1\ninclude default\n", nil); err == nil || !strings.Contains(err.Error(), "r:2: nothing can be included here") {
		t.Errorf("include without a base: %v", err)
	}
	long := "version 1\n" + strings.Repeat("what\n", 100)
	if _, err := Parse("r", long, base); err == nil || strings.Count(err.Error(), "\n") != maxErrors {
		t.Errorf("100 errors: %v", err)
	}
}

// All errors of a file are told at once.
func TestAllErrors(t *testing.T) {
	_, err := Parse("r", "version 1\ninclude default\nbcast\nranks 1\nbytes 0 fast\nbytes 4k slow segment no\nwhat\n", whole(t))
	for _, want := range []string{"r:5: ", "r:6: bcast has", "r:6: segment", "r:7: "} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
}

func TestChoices(t *testing.T) {
	table, err := Parse("r", "version 1\ninclude default\nallgather\n ranks 1\n bytes 0 ring\n ranks 4 # from 4 on\n bytes 0 recursive_doubling|neighbor_exchange|bruck\n bytes 2k linear\n bytes 1m ring\n", whole(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		size    int
		bytes   int64
		want    string
		segment int64
	}{
		{1, 1 << 40, "ring", 0}, {3, 0, "ring", 0}, {4, 0, "recursive_doubling", 0}, {6, 2047, "neighbor_exchange", 0}, {7, 5, "bruck", 0},
		{4, 2048, "linear", 0}, {100, 1<<20 - 1, "linear", 0}, {100, 1 << 20, "ring", 0}, {100, 1 << 50, "ring", 0},
	} {
		c := table.For(tc.size)
		a := alg.Args{Kind: alg.Allgather, Segment: 99}
		if g := c.Choose(&a, tc.bytes); g.Name != tc.want || a.Segment != tc.segment {
			t.Errorf("%d bytes on %d ranks: %s, segment %d", tc.bytes, tc.size, g.Name, a.Segment)
		}
	}
}

func TestSet(t *testing.T) {
	linear, chain := alg.Named(alg.Bcast, "linear"), alg.Named(alg.Bcast, "chain")
	one := func(g ...*alg.Algorithm) []Rule { return []Rule{{Algorithms: g}} }
	for _, tc := range []struct {
		section []Ranks
		want    string
	}{
		{[]Ranks{{1, one(linear)}, {2, []Rule{{Algorithms: []*alg.Algorithm{chain}}, {5, []*alg.Algorithm{linear}, 4}}}}, ""},
		{nil, "there are none"},
		{[]Ranks{{2, one(linear)}}, "must ascend from 1"},
		{[]Ranks{{1, one(linear)}, {1, one(linear)}}, "must ascend from 1"},
		{[]Ranks{{1, nil}}, "must begin at 0 bytes"},
		{[]Ranks{{1, []Rule{{From: 3, Algorithms: []*alg.Algorithm{linear}}}}}, "must begin at 0 bytes"},
		{[]Ranks{{1, append(one(linear), one(linear)...)}}, "sizes must ascend"},
		{[]Ranks{{1, one()}}, "names no algorithm"},
		{[]Ranks{{1, one(alg.Named(alg.Reduce, "linear"))}}, "linear is an algorithm of reduce"},
		{[]Ranks{{1, []Rule{{Algorithms: []*alg.Algorithm{linear}, Segment: -1}}}}, "a segment of -1 bytes"},
	} {
		err := new(Table).Set(alg.Bcast, true, tc.section)
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%v: %v, want %q", tc.section, err, tc.want)
		}
	}
}

// FuzzParse: what is read can be written and read again, to the same table, which then has an answer for everything.
func FuzzParse(f *testing.F) {
	base := whole(f)
	f.Add(base.String())
	f.Add("version 1\ninclude default\nbcast\nranks 1\nbytes 0 binomial\nbytes 64k scatter_allgather|pipeline segment 5m\nranks 9\nbytes 0 chain\n")
	f.Add("version 1\nreduce noncommutative\nranks 99999999999\n")
	f.Fuzz(func(t *testing.T, text string) {
		table, err := Parse("r", text, base)
		if err != nil {
			return
		}
		again, err := Parse("r", table.String(), nil)
		if err != nil || again.String() != table.String() {
			t.Fatalf("%v\n%s", err, table)
		}
		for _, size := range []int{1, 2, 3, 1 << 30} {
			c := table.For(size)
			for k := range alg.Kinds {
				c.Choose(&alg.Args{Kind: k}, 1<<40)
			}
		}
	})
}

package alg

import (
	"fmt"
	"math"
	"math/bits"
	"testing"

	"github.com/ompi-go/ompi-go/core"
)

// size is what formulas are about: n ranks; log is log2 n rounded up; pow the largest power of two not above n, lg its logarithm, extra
// the ranks above it; total the bytes of a whole operand or message, block one n-th of it; pieces the segments of a whole message.
type size struct {
	n, log, pow, lg, extra int64
	total, block, pieces   int64
}

func sizeOf(n int) size {
	pow := int64(floorPow2(n))
	s := size{n: int64(n), log: int64(bits.Len(uint(n - 1))), pow: pow, lg: int64(bits.Len(uint(pow)) - 1), extra: int64(n) - pow, pieces: 4}
	s.block = 64 * pow // so that everything can be divided by everything
	s.total = s.block * s.n
	return s
}

// treeBlocks is the number of blocks that a binomial scatter or gather among n ranks moves: every rank but the root has those of the
// ranks below it sent, too.
func treeBlocks(n int64) int64 {
	sum := int64(0)
	for v := int64(1); v < n; v++ {
		sum += min(v&-v, n-v)
	}
	return sum
}

// setBits is the number of ones in all numbers below n.
func setBits(n int64) int64 {
	sum := 0
	for i := int64(0); i < n; i++ {
		sum += bits.OnesCount64(uint64(i))
	}
	return int64(sum)
}

// doublingSum is the messages of rounds in which every rank tells the one 2^k further on, if there is one.
func doublingSum(s size) int64 {
	sum := int64(0)
	for d := int64(1); d < s.n; d <<= 1 {
		sum += s.n - d
	}
	return sum
}

func (s size) tree() int64   { return s.n - 1 }
func (s size) square() int64 { return s.n * (s.n - 1) }

// textbook has what all ranks together send.
type textbook struct {
	messages, bytes func(s size) int64
	same            bool // every rank sends the same number of messages, so that one is counted for all where they are many
}

func zero(size) int64 { return 0 }

// formulas are those of the literature, for operators that commute.
var formulas = map[string]textbook{
	"barrier dissemination":      {func(s size) int64 { return s.n * s.log }, zero, true},
	"barrier linear":             {func(s size) int64 { return 2 * s.tree() }, zero, false},
	"barrier tree":               {func(s size) int64 { return 2 * s.tree() }, zero, false},
	"barrier recursive_doubling": {func(s size) int64 { return s.pow*s.lg + 2*s.extra }, zero, false},
	"barrier double_ring":        {func(s size) int64 { return 2 * s.n * min(1, s.n-1) }, zero, true},

	// Everybody but the root hears everything once, in so many pieces.
	"bcast binomial":    {size.tree, func(s size) int64 { return s.total * s.tree() }, false},
	"bcast linear":      {size.tree, func(s size) int64 { return s.total * s.tree() }, false},
	"bcast pipeline":    {func(s size) int64 { return s.pieces * s.tree() }, func(s size) int64 { return s.total * s.tree() }, false},
	"bcast chain":       {func(s size) int64 { return s.pieces * s.tree() }, func(s size) int64 { return s.total * s.tree() }, false},
	"bcast binary_tree": {func(s size) int64 { return s.pieces * s.tree() }, func(s size) int64 { return s.total * s.tree() }, false},
	// Half of the pieces down the tree, the other half in one message.
	"bcast split_binary_tree": {func(s size) int64 { return (s.pieces/2 + 1) * s.tree() }, func(s size) int64 { return s.total * s.tree() }, false},
	"bcast scatter_allgather": {func(s size) int64 { return s.tree() + s.n*s.log },
		func(s size) int64 { return s.block*treeBlocks(s.n) + s.total*s.tree() }, false},
	"bcast scatter_allgather_ring": {func(s size) int64 { return s.tree() + s.square() },
		func(s size) int64 { return s.block*treeBlocks(s.n) + s.total*s.tree() }, false},

	"reduce binomial":    {size.tree, func(s size) int64 { return s.total * s.tree() }, false},
	"reduce linear":      {size.tree, func(s size) int64 { return s.total * s.tree() }, false},
	"reduce pipeline":    {func(s size) int64 { return s.pieces * s.tree() }, func(s size) int64 { return s.total * s.tree() }, false},
	"reduce binary_tree": {func(s size) int64 { return s.pieces * s.tree() }, func(s size) int64 { return s.total * s.tree() }, false},
	// Extra ranks hand over; halving leaves each of pow members one part; a binomial gather of the parts.
	"reduce rabenseifner": {func(s size) int64 { return s.extra + s.pow*s.lg + s.pow - 1 },
		func(s size) int64 {
			return s.extra*s.total + (s.pow-1)*s.total + treeBlocks(s.pow)*(s.total/s.pow)
		}, false},

	"allreduce recursive_doubling": {func(s size) int64 { return s.pow*s.lg + 2*s.extra }, func(s size) int64 { return s.total * (s.pow*s.lg + 2*s.extra) }, false},
	"allreduce reduce_bcast":       {func(s size) int64 { return 2 * s.tree() }, func(s size) int64 { return 2 * s.total * s.tree() }, false},
	"allreduce direct":             {func(s size) int64 { return 2 * s.square() }, func(s size) int64 { return 2 * s.total * s.tree() }, true},
	"allreduce linear":             {func(s size) int64 { return 2 * s.tree() }, func(s size) int64 { return 2 * s.total * s.tree() }, false},
	"allreduce ring":               {func(s size) int64 { return 2 * s.square() }, func(s size) int64 { return 2 * s.total * s.tree() }, true},
	// The first half in segments; a block has total/n, a segment total/4.
	"allreduce segmented_ring": {func(s size) int64 { return s.square()*((s.pieces+s.n-1)/s.n) + s.square() },
		func(s size) int64 { return 2 * s.total * s.tree() }, true},
	"allreduce rabenseifner": {func(s size) int64 { return 2*s.pow*s.lg + 2*s.extra },
		func(s size) int64 { return 2*s.extra*s.total + 2*(s.pow-1)*s.total }, false},

	"gather linear":    {size.tree, func(s size) int64 { return s.block * s.tree() }, false},
	"gather binomial":  {size.tree, func(s size) int64 { return s.block * treeBlocks(s.n) }, false},
	"gatherv linear":   {size.tree, func(s size) int64 { return s.block * s.tree() }, false},
	"scatter linear":   {size.tree, func(s size) int64 { return s.block * s.tree() }, false},
	"scatter binomial": {size.tree, func(s size) int64 { return s.block * treeBlocks(s.n) }, false},
	"scatterv linear":  {size.tree, func(s size) int64 { return s.block * s.tree() }, false},

	// Everybody hears n-1 blocks, in more or fewer messages.
	"allgather ring":               {size.square, func(s size) int64 { return s.block * s.square() }, true},
	"allgather linear":             {size.square, func(s size) int64 { return s.block * s.square() }, true},
	"allgather recursive_doubling": {func(s size) int64 { return s.n * s.log }, func(s size) int64 { return s.block * s.square() }, true},
	"allgather bruck":              {func(s size) int64 { return s.n * s.log }, func(s size) int64 { return s.block * s.square() }, true},
	"allgather neighbor_exchange":  {func(s size) int64 { return s.n * s.n / 2 }, func(s size) int64 { return s.block * s.square() }, true},
	"allgather gather_bcast":       {func(s size) int64 { return 2 * s.tree() }, func(s size) int64 { return (s.block + s.total) * s.tree() }, false},
	"allgatherv ring":              {size.square, func(s size) int64 { return s.block * s.square() }, true},
	"allgatherv linear":            {size.square, func(s size) int64 { return s.block * s.square() }, true},
	"allgatherv bruck":             {func(s size) int64 { return s.n * s.log }, func(s size) int64 { return s.block * s.square() }, true},
	"allgatherv neighbor_exchange": {func(s size) int64 { return s.n * s.n / 2 }, func(s size) int64 { return s.block * s.square() }, true},
	"allgatherv gather_bcast":      {func(s size) int64 { return 2 * s.tree() }, func(s size) int64 { return (s.block + s.total) * s.tree() }, false},

	"alltoall pairwise":    {size.square, func(s size) int64 { return s.block * s.square() }, true},
	"alltoall linear":      {size.square, func(s size) int64 { return s.block * s.square() }, true},
	"alltoall linear_sync": {size.square, func(s size) int64 { return s.block * s.square() }, true},
	// A block travels one step for each one in the number of ranks that it has to go.
	"alltoall bruck":     {func(s size) int64 { return s.n * s.log }, func(s size) int64 { return s.n * s.block * setBits(s.n) }, true},
	"alltoallv pairwise": {size.square, func(s size) int64 { return s.block * s.square() }, true},
	"alltoallv linear":   {size.square, func(s size) int64 { return s.block * s.square() }, true},
	"alltoallw pairwise": {size.square, func(s size) int64 { return s.block * s.square() }, true},
	"alltoallw linear":   {size.square, func(s size) int64 { return s.block * s.square() }, true},

	"reduce_scatter reduce_scatterv":          {func(s size) int64 { return 2 * s.tree() }, func(s size) int64 { return (s.total + s.block) * s.tree() }, false},
	"reduce_scatter pairwise":                 {size.square, func(s size) int64 { return s.block * s.square() }, true},
	"reduce_scatter ring":                     {size.square, func(s size) int64 { return s.block * s.square() }, true},
	"reduce_scatter recursive_halving":        {halvingMessages, halvingBytes, false},
	"reduce_scatter recursive_doubling":       {func(s size) int64 { return s.pow*s.lg + 2*s.extra }, func(s size) int64 { return s.total * (s.pow*s.lg + 2*s.extra) }, false},
	"reduce_scatter_block reduce_scatter":     {func(s size) int64 { return 2 * s.tree() }, func(s size) int64 { return (s.total + s.block) * s.tree() }, false},
	"reduce_scatter_block pairwise":           {size.square, func(s size) int64 { return s.block * s.square() }, true},
	"reduce_scatter_block ring":               {size.square, func(s size) int64 { return s.block * s.square() }, true},
	"reduce_scatter_block recursive_halving":  {halvingMessages, halvingBytes, false},
	"reduce_scatter_block recursive_doubling": {func(s size) int64 { return s.pow*s.lg + 2*s.extra }, func(s size) int64 { return s.total * (s.pow*s.lg + 2*s.extra) }, false},

	"scan linear":               {size.tree, func(s size) int64 { return s.total * s.tree() }, false},
	"scan recursive_doubling":   {doublingSum, func(s size) int64 { return s.total * doublingSum(s) }, false},
	"exscan linear":             {size.tree, func(s size) int64 { return s.total * s.tree() }, false},
	"exscan recursive_doubling": {doublingSum, func(s size) int64 { return s.total * doublingSum(s) }, false},

	// On a ring with two neighbours.
	"neighbor_allgather linear":  {func(s size) int64 { return 2 * s.n }, func(s size) int64 { return 2 * s.n * s.block }, true},
	"neighbor_allgatherv linear": {func(s size) int64 { return 2 * s.n }, func(s size) int64 { return 2 * s.n * s.block }, true},
	"neighbor_alltoall linear":   {func(s size) int64 { return 2 * s.n }, func(s size) int64 { return 2 * s.n * s.block }, true},
	"neighbor_alltoallv linear":  {func(s size) int64 { return 2 * s.n }, func(s size) int64 { return 2 * s.n * s.block }, true},
	"neighbor_alltoallw linear":  {func(s size) int64 { return 2 * s.n }, func(s size) int64 { return 2 * s.n * s.block }, true},
}

// Extra ranks hand over and hear their block; each of pow members ends with its part, having sent all the rest away.
func halvingMessages(s size) int64 { return s.pow*s.lg + 2*s.extra }
func halvingBytes(s size) int64    { return s.extra*(s.total+s.block) + (s.pow-1)*s.total }

// countArgs are the arguments of a rank; counts are those of all blocks.
func countArgs(k Kind, s size, counts []int, rank, root int) Args {
	n := int(s.n)
	a := Args{Kind: k, Root: root, Op: core.Sum, Segment: s.total / s.pieces, SendCounts: counts, RecvCounts: counts}
	whole, block := Weightless(s.total), Weightless(s.block)
	switch k {
	case Bcast:
		a.Send = whole
	case Reduce, Allreduce, Scan, Exscan:
		a.Send, a.Recv = whole, whole
	case ReduceScatter, ReduceScatterBlock:
		a.Send, a.Recv = whole, block
	case Gather, Gatherv, Allgather, Allgatherv:
		a.Send, a.Recv = block, whole
	case Scatter, Scatterv:
		a.Send, a.Recv = whole, block
	case Alltoall, Alltoallv:
		a.Send, a.Recv = whole, whole
	case Alltoallw:
		for range n {
			a.Sends, a.Recvs = append(a.Sends, block), append(a.Recvs, block)
		}
	case NeighborAllgather, NeighborAllgatherv, NeighborAlltoall, NeighborAlltoallv, NeighborAlltoallw:
		a.Sources = []int{(rank + n - 1) % n, (rank + 1) % n}
		a.Dests = a.Sources
		a.SendCounts, a.RecvCounts = []int{int(s.block), int(s.block)}, []int{int(s.block), int(s.block)}
		a.Send, a.Recv = Weightless(2*s.block), Weightless(2*s.block)
		if k <= NeighborAllgatherv {
			a.Send = block
		}
		a.Sends, a.Recvs = []core.Buffer{block, block}, []core.Buffer{block, block}
	}
	return a
}

func TestTraffic(t *testing.T) {
	known := 0
	for k := range Kinds {
		for _, g := range List(k) {
			name := k.String() + " " + g.Name
			f, ok := formulas[name]
			if !ok {
				t.Errorf("no formula for %s", name)
				continue
			}
			known++
			t.Run(name, func(t *testing.T) {
				for n := 1; n <= 33; n++ {
					checkTraffic(t, g, f, n)
				}
				checkTraffic(t, g, f, many(k, g))
			})
		}
	}
	if known != len(formulas) {
		t.Errorf("%d formulas for %d algorithms", len(formulas), known)
	}
}

// many is a number of ranks at which only formulas that are right hold: fewer where each of them is busy with every other, and has to be
// looked at.
func many(k Kind, g *Algorithm) int {
	if k == Allgatherv || g.Name == "recursive_halving" || g.Name == "scatter_allgather_ring" {
		return min(manyRanks, 1024)
	}
	return manyRanks
}

func checkTraffic(t *testing.T, g *Algorithm, f textbook, n int) {
	if g.Fits != nil && !g.Fits(n) {
		return
	}
	s := sizeOf(n)
	var sum Traffic
	root := n / 3
	counts := make([]int, n)
	for i := range counts {
		counts[i] = int(s.block)
	}
	if f.same && n > 33 {
		a := countArgs(g.Kind, s, counts, 5, root)
		sum = Count(g, &a, 5, n)
		sum.Messages *= s.n
		sum.Bytes *= s.n
	} else {
		for rank := range n {
			a := countArgs(g.Kind, s, counts, rank, root)
			one := Count(g, &a, rank, n)
			if f.same && one.Messages != f.messages(s)/s.n {
				t.Errorf("%d ranks: rank %d sends %d messages, want %d", n, rank, one.Messages, f.messages(s)/s.n)
			}
			sum.Messages += one.Messages
			sum.Bytes += one.Bytes
		}
	}
	if want := (Traffic{f.messages(s), f.bytes(s)}); sum != want {
		t.Errorf("%d ranks: %s, want %s", n, show(sum), show(want))
	}
}

func show(t Traffic) string {
	return fmt.Sprintf("%d messages of %d bytes together", t.Messages, t.Bytes)
}

// A segment may be larger than anything, to say that there are to be none.
func TestSegmentOfAnySize(t *testing.T) {
	const n, bytes = 7, 1000
	for k := range Kinds {
		for _, g := range List(k) {
			if !g.Segmented {
				continue
			}
			total := func(segment int64) (sum int64) {
				for rank := range n {
					a := Args{Kind: k, Op: core.Sum, Send: Weightless(bytes), Recv: Weightless(bytes), Segment: segment}
					sum += Count(g, &a, rank, n).Bytes
				}
				return sum
			}
			if got, want := total(math.MaxInt64), total(0); got != want || got < (n-1)*bytes {
				t.Errorf("%s %s: %d bytes are sent, %d in segments of the usual size", k, g.Name, got, want)
			}
		}
	}
}

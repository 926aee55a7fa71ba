package ompi_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"unsafe"

	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/ompi"
)

// lengths are the numbers of elements of a block that tests of collectives between groups try: none, few, and what needs a rendezvous.
var lengths = []int{0, 1, 6000}

// value is element i of what job rank from has for job rank to.
func value(from, to, i int) int64 { return int64(from*1_000_003 + to*7919 + i) }

func blockOf(from, to, n int) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = value(from, to, i)
	}
	return out
}

// spread gives a buffer of n elements with a hole behind each, and what reads them.
func spread(n int) (ompi.Buffer, func() []int64, error) {
	t, err := datatype.Resized(datatype.Int64, 0, 16)
	if err != nil {
		return ompi.Buffer{}, nil, err
	}
	mem := make([]int64, 2*n+1)
	return ompi.Typed(mem, n, t), func() []int64 {
		out := make([]int64, n)
		for i := range out {
			out[i] = mem[2*i]
		}
		return out
	}, nil
}

// asRoot is the root argument of each rank of an intercommunicator, for a root in the group of the lower ranks or in the other.
func asRoot(c *ompi.Comm, inFirst, lowRoot bool, root int) int {
	switch {
	case inFirst != lowRoot:
		return root
	case c.Rank() == root:
		return ompi.Root
	}
	return ompi.ProcNull
}

// eachRoot runs f for every possible root.
func eachRoot(w, c *ompi.Comm, k int, f func(root, rootJob int) error) error {
	for _, low := range []bool{true, false} {
		size, first := k, 0
		if !low {
			size, first = w.Size()-k, k
		}
		for r := range size {
			if err := f(asRoot(c, w.Rank() < k, low, r), first+r); err != nil {
				return fmt.Errorf("root %d: %w", first+r, err)
			}
		}
	}
	return nil
}

func same(what string, got, want []int64) error {
	if !slices.Equal(got, want) {
		return fmt.Errorf("%s: %d elements differ from the %d wanted", what, len(got), len(want))
	}
	return nil
}

func TestInterRooted(t *testing.T) {
	eachCut(t, func(w, c *ompi.Comm, local *ompi.Comm, k int) error {
		_, theirs := cutAt(w, k)
		me := w.Rank()
		for _, n := range lengths {
			err := eachRoot(w, c, k, func(root, rootJob int) error {
				// Bcast
				buf := make([]int64, n)
				if root == ompi.Root {
					buf = blockOf(me, 0, n)
				}
				if err := c.Bcast(ompi.Slice(buf), root); err != nil {
					return fmt.Errorf("Bcast: %w", err)
				}
				if root >= 0 {
					if err := same("Bcast", buf, blockOf(rootJob, 0, n)); err != nil {
						return err
					}
				}
				// Reduce, with an operation that does not commute, too
				for _, op := range []*ompi.Op{ompi.Sum, ompi.NewOp(false, func(in, inout []int64) { copy(inout, in) })} {
					recv := make([]int64, n)
					if err := c.Reduce(ompi.Slice(blockOf(me, 1, n)), ompi.Slice(recv), op, root); err != nil {
						return fmt.Errorf("Reduce: %w", err)
					}
					if root == ompi.Root {
						if err := same("Reduce", recv, reduced(theirs, 1, n, op.Commutative())); err != nil {
							return err
						}
					}
				}
				// Gather and Scatter, plain and with gaps in the root's memory
				whole, read, err := spread(n * len(theirs))
				if err != nil {
					return err
				}
				if err := c.Gather(ompi.Slice(blockOf(me, rootJob, n)), whole, root); err != nil {
					return fmt.Errorf("Gather: %w", err)
				}
				if root == ompi.Root {
					var want []int64
					for _, r := range theirs {
						want = append(want, blockOf(r, me, n)...)
					}
					if err := same("Gather", read(), want); err != nil {
						return err
					}
				}
				var out []int64
				for _, r := range theirs {
					out = append(out, blockOf(me, r, n)...)
				}
				part, readPart, err := spread(n)
				if err != nil {
					return err
				}
				if err := c.Scatter(ompi.Slice(out), part, root); err != nil {
					return fmt.Errorf("Scatter: %w", err)
				}
				if root >= 0 {
					if err := same("Scatter", readPart(), blockOf(rootJob, me, n)); err != nil {
						return err
					}
				}
				return vectors(w, c, theirs, n, root, rootJob)
			})
			if err != nil {
				return fmt.Errorf("%d elements: %w", n, err)
			}
		}
		return nil
	})
}

// reduced is what blocks of ranks combine to: their sum, or the first.
func reduced(ranks []int, to, n int, sum bool) []int64 {
	out := blockOf(ranks[0], to, n)
	for _, r := range ranks[1:] {
		for i := range out {
			if sum {
				out[i] += value(r, to, i)
			}
		}
	}
	return out
}

// vectors checks Gatherv and Scatterv: job rank r has n+r elements, and their order in the root's memory is reversed.
func vectors(w, c *ompi.Comm, theirs []int, n, root, rootJob int) error {
	me := w.Rank()
	counts, displs, total := make([]int, len(theirs)), make([]int, len(theirs)), 0
	for i, r := range slices.Backward(theirs) {
		counts[i], displs[i] = n+r, total
		total += n + r + 1
	}
	recv := make([]int64, total)
	if err := c.Gatherv(ompi.Slice(blockOf(me, rootJob, n+me)), ompi.Slice(recv), counts, displs, root); err != nil {
		return fmt.Errorf("Gatherv: %w", err)
	}
	send := make([]int64, total)
	for i, r := range theirs {
		copy(send[displs[i]:], blockOf(me, r, counts[i]))
		if root == ompi.Root {
			if err := same("Gatherv", recv[displs[i]:displs[i]+counts[i]], blockOf(r, me, counts[i])); err != nil {
				return err
			}
		}
	}
	in := make([]int64, n+me)
	if err := c.Scatterv(ompi.Slice(send), counts, displs, ompi.Slice(in), root); err != nil {
		return fmt.Errorf("Scatterv: %w", err)
	}
	if root >= 0 {
		return same("Scatterv", in, blockOf(rootJob, me, n+me))
	}
	return nil
}

func TestInterAll(t *testing.T) {
	eachCut(t, func(w, c *ompi.Comm, local *ompi.Comm, k int) error {
		mine, theirs := cutAt(w, k)
		me := w.Rank()
		for _, n := range lengths {
			if err := c.Barrier(); err != nil {
				return err
			}
			recv := make([]int64, n)
			if err := c.Allreduce(ompi.Slice(blockOf(me, 2, n)), ompi.Slice(recv), ompi.Sum); err != nil {
				return err
			}
			if err := same("Allreduce", recv, reduced(theirs, 2, n, true)); err != nil {
				return err
			}
			whole, read, err := spread(n * len(theirs))
			if err != nil {
				return err
			}
			if err := c.Allgather(ompi.Slice(blockOf(me, 3, n)), whole); err != nil {
				return err
			}
			var want, out, wantIn []int64
			counts, sendCounts := make([]int, len(theirs)), make([]int, len(theirs))
			for i, r := range theirs {
				want = append(want, blockOf(r, 3, n)...)
				out = append(out, blockOf(me, r, n)...)
				wantIn = append(wantIn, blockOf(r, me, n)...)
				counts[i], sendCounts[i] = n+r, n+r+me
			}
			if err := same("Allgather", read(), want); err != nil {
				return err
			}
			in := make([]int64, n*len(theirs))
			if err := c.Alltoall(ompi.Slice(out), ompi.Slice(in)); err != nil {
				return err
			}
			if err := same("Alltoall", in, wantIn); err != nil {
				return err
			}
			want, out, wantIn = nil, nil, nil
			for i, r := range theirs {
				want = append(want, blockOf(r, 4, counts[i])...)
				out = append(out, blockOf(me, r, sendCounts[i])...)
				wantIn = append(wantIn, blockOf(r, me, sendCounts[i])...)
			}
			in = make([]int64, len(want))
			if err := c.Allgatherv(ompi.Slice(blockOf(me, 4, n+me)), ompi.Slice(in), counts, nil); err != nil {
				return err
			}
			if err := same("Allgatherv", in, want); err != nil {
				return err
			}
			in = make([]int64, len(wantIn))
			if err := c.Alltoallv(ompi.Slice(out), sendCounts, nil, ompi.Slice(in), sendCounts, nil); err != nil {
				return err
			}
			if err := same("Alltoallv", in, wantIn); err != nil {
				return err
			}
			if err := scattered(c, me, mine, theirs, n); err != nil {
				return err
			}
		}
		return nil
	})
}

// scattered checks ReduceScatter and ReduceScatterBlock: vectors of mine*theirs*n elements, in equal parts, and with one more for
// the first of each group.
func scattered(c *ompi.Comm, me int, mine, theirs []int, n int) error {
	n = min(n, 2000)
	total, each := len(mine)*len(theirs)*n, len(theirs)*n
	at := c.Rank() * each
	recv := make([]int64, each)
	if err := c.ReduceScatterBlock(ompi.Slice(blockOf(me, 5, total)), ompi.Slice(recv), ompi.Sum); err != nil {
		return err
	}
	if err := same("ReduceScatterBlock", recv, reduced(theirs, 5, total, true)[at:at+each]); err != nil {
		return err
	}
	counts := make([]int, len(mine))
	for i := range counts {
		counts[i] = each
	}
	counts[0]++
	if c.Rank() > 0 {
		at++
	}
	recv = make([]int64, counts[c.Rank()])
	if err := c.ReduceScatter(ompi.Slice(blockOf(me, 6, total+1)), ompi.Slice(recv), counts, ompi.Sum); err != nil {
		return err
	}
	if err := same("ReduceScatter", recv, reduced(theirs, 6, total+1, true)[at:at+len(recv)]); err != nil {
		return err
	}
	if err := c.Scan(ompi.Buffer{}, ompi.Buffer{}, ompi.Sum); !errors.Is(err, ompi.ErrComm) {
		return fmt.Errorf("Scan: %w, want ErrComm", err)
	}
	send, in := make([]ompi.Buffer, len(theirs)), make([]ompi.Buffer, len(theirs))
	got := make([][]int64, len(theirs))
	for i, r := range theirs {
		got[i] = make([]int64, n+me+r)
		send[i], in[i] = ompi.Slice(blockOf(me, r, n+me+r)), ompi.Slice(got[i])
	}
	if err := c.Alltoallw(send, in); err != nil {
		return err
	}
	for i, r := range theirs {
		if err := same("Alltoallw", got[i], blockOf(r, me, n+me+r)); err != nil {
			return err
		}
	}
	return nil
}

// TestInterTruncates: a block that is too long is an error where it lands, and leaves nothing over for the next operation.
func TestInterTruncates(t *testing.T) {
	job(t, 4, func(w *ompi.Comm) error {
		c, _, err := halves(w, 2, 0)
		if err != nil {
			return err
		}
		n := 3
		if w.Rank() >= 2 {
			n = 2
		}
		recv := make([]int32, 4)
		err = c.Allgather(ompi.Slice(make([]int32, n)), ompi.Slice(recv)) // room for two of each
		if w.Rank() == 2 && !errors.Is(err, ompi.ErrTruncate) || w.Rank() < 2 && err != nil {
			return fmt.Errorf("Allgather: %v", err)
		}
		size := int32(unsafe.Sizeof(n))
		if err := c.Allreduce(ompi.Value(&size), ompi.Slice(recv[:1]), ompi.Sum); err != nil || recv[0] != 16 {
			return fmt.Errorf("Allreduce: %d, %v", recv[0], err)
		}
		return c.Free()
	})
}

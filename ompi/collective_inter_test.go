package ompi_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/ompi-go/ompi-go/ompi"
)

// between makes an intercommunicator of the ranks below cut and the others, and tells the sizes of the own and the other group.
func between(w *ompi.Comm, cut int) (inter *ompi.Comm, mine, theirs int, low bool, err error) {
	low = w.Rank() < cut
	color, remote := 1, 0
	mine, theirs = w.Size()-cut, cut
	if low {
		color, remote = 0, cut
		mine, theirs = theirs, mine
	}
	local, err := w.Split(color, 0)
	if err != nil {
		return nil, 0, 0, false, err
	}
	inter, err = local.CreateIntercomm(0, w, remote, 7)
	return inter, mine, theirs, low, err
}

// TestIntercommunicatorCollectives: every operation, blocking and not, in both directions where it has a root.
func TestIntercommunicatorCollectives(t *testing.T) {
	for _, shape := range [][2]int{{2, 1}, {3, 1}, {4, 2}, {7, 3}, {6, 5}} {
		for _, later := range []bool{false, true} {
			t.Run(fmt.Sprint(shape, later), func(t *testing.T) {
				job(t, shape[0], func(w *ompi.Comm) error { return interCollectives(w, shape[1], later) })
			})
		}
	}
}

func interCollectives(w *ompi.Comm, cut int, later bool) error {
	c, mine, theirs, low, err := between(w, cut)
	if err != nil {
		return err
	}
	me := c.Rank()
	base := int64(1000)
	if low {
		base = 0
	}
	other := 1000 - base
	do := func(now func() error, start func() ompi.Request) error {
		if !later {
			return now()
		}
		_, err := start().Wait()
		return err
	}
	val := func(base int64, from, to int) int64 { return base + int64(100*from+to) }
	expect := func(what string, got []int64, want func(i int) int64) error {
		for i := range got {
			if got[i] != want(i) {
				return fmt.Errorf("%s: rank %d (low %v): %v, want %d at %d", what, me, low, got, want(i), i)
			}
		}
		return nil
	}
	var errs []error
	step := func(what string, err error, got []int64, want func(i int) int64) {
		if err != nil {
			err = fmt.Errorf("%s: %w", what, err)
		} else {
			err = expect(what, got, want)
		}
		errs = append(errs, err)
	}
	step("barrier", do(c.Barrier, c.Ibarrier), nil, nil)

	// Reductions: each group gets the sum of the other.
	sumOf := func(base int64, n int) int64 {
		s := int64(0)
		for r := range n {
			s += val(base, r, 0)
		}
		return s
	}
	in, out := []int64{val(base, me, 0), 1}, []int64{-1, -1}
	err = do(func() error { return c.Allreduce(ompi.Slice(in), ompi.Slice(out), ompi.Sum) },
		func() ompi.Request { return c.Iallreduce(ompi.Slice(in), ompi.Slice(out), ompi.Sum) })
	step("allreduce", err, out, func(i int) int64 { return []int64{sumOf(other, theirs), int64(theirs)}[i] })

	wide := make([]int64, mine*theirs)
	for i := range wide {
		wide[i] = base + int64(i)
	}
	part := make([]int64, theirs)
	err = do(func() error { return c.ReduceScatterBlock(ompi.Slice(wide), ompi.Slice(part), ompi.Sum) },
		func() ompi.Request { return c.IreduceScatterBlock(ompi.Slice(wide), ompi.Slice(part), ompi.Sum) })
	step("reduce_scatter_block", err, part, func(i int) int64 { return int64(theirs) * (other + int64(me*theirs+i)) })

	// Everybody's block to everybody of the other group.
	all := make([]int64, 2*theirs)
	own := []int64{val(base, me, 0), val(base, me, 1)}
	err = do(func() error { return c.Allgather(ompi.Slice(own), ompi.Slice(all)) },
		func() ompi.Request { return c.Iallgather(ompi.Slice(own), ompi.Slice(all)) })
	step("allgather", err, all, func(i int) int64 { return val(other, i/2, i%2) })
	counts, displs := make([]int, theirs), make([]int, theirs)
	for i := range counts {
		counts[i], displs[i] = 2, 3*(theirs-1-i)
	}
	gaps := make([]int64, 3*theirs)
	err = do(func() error { return c.Allgatherv(ompi.Slice(own), ompi.Slice(gaps), counts, displs) },
		func() ompi.Request { return c.Iallgatherv(ompi.Slice(own), ompi.Slice(gaps), counts, displs) })
	step("allgatherv", err, gaps, func(i int) int64 {
		if i%3 == 2 {
			return 0
		}
		return val(other, theirs-1-i/3, i%3)
	})
	to, from := make([]int64, theirs), make([]int64, theirs)
	for i := range to {
		to[i] = val(base, me, i)
	}
	err = do(func() error { return c.Alltoall(ompi.Slice(to), ompi.Slice(from)) },
		func() ompi.Request { return c.Ialltoall(ompi.Slice(to), ompi.Slice(from)) })
	step("alltoall", err, from, func(i int) int64 { return val(other, i, me) })

	// Rooted ones, with each rank of each group as root.
	for _, rootLow := range []bool{true, false} {
		n := mine
		if low != rootLow {
			n = theirs
		}
		for r := range n {
			root, isRoot, isAside := r, false, false
			if low == rootLow {
				isRoot, isAside = r == me, r != me
				root = ompi.ProcNull
				if isRoot {
					root = ompi.Root
				}
			}
			rootBase := base
			if low != rootLow {
				rootBase = other
			}
			what := fmt.Sprintf("root %d, low %v: ", r, rootLow)
			data := []int64{-1, -1}
			if isRoot {
				data = []int64{val(rootBase, r, 5), val(rootBase, r, 6)}
			}
			err = do(func() error { return c.Bcast(ompi.Slice(data), root) }, func() ompi.Request { return c.Ibcast(ompi.Slice(data), root) })
			step(what+"bcast", err, data, func(i int) int64 {
				if isAside {
					return -1
				}
				return val(rootBase, r, 5+i)
			})
			got := []int64{-1}
			err = do(func() error { return c.Reduce(ompi.Slice(own[:1]), ompi.Slice(got), ompi.Sum, root) },
				func() ompi.Request { return c.Ireduce(ompi.Slice(own[:1]), ompi.Slice(got), ompi.Sum, root) })
			step(what+"reduce", err, got, func(int) int64 {
				if isRoot {
					return sumOf(other, theirs)
				}
				return -1
			})
			whole := slices.Repeat([]int64{-1}, theirs)
			err = do(func() error { return c.Gather(ompi.Slice(own[:1]), ompi.Slice(whole), root) },
				func() ompi.Request { return c.Igather(ompi.Slice(own[:1]), ompi.Slice(whole), root) })
			step(what+"gather", err, whole, func(i int) int64 {
				if isRoot {
					return val(other, i, 0)
				}
				return -1
			})
			mineOnly := []int64{-1}
			err = do(func() error { return c.Scatter(ompi.Slice(to), ompi.Slice(mineOnly), root) },
				func() ompi.Request { return c.Iscatter(ompi.Slice(to), ompi.Slice(mineOnly), root) })
			step(what+"scatter", err, mineOnly, func(int) int64 {
				if isRoot || isAside {
					return -1
				}
				return val(other, r, me)
			})
		}
	}
	x := []int64{1}
	if err := c.Scan(ompi.Slice(x), ompi.Slice(make([]int64, 1)), ompi.Sum); !errors.Is(err, ompi.ErrComm) {
		errs = append(errs, fmt.Errorf("scan: %v", err))
	}
	if err := c.Allreduce(ompi.InPlace(), ompi.Slice(x), ompi.Sum); !errors.Is(err, ompi.ErrBuffer) {
		errs = append(errs, fmt.Errorf("in place: %v", err))
	}
	err = errors.Join(append(errs, c.Free())...)
	return err
}

// TestNeighborCollectives: on periodic grids the block sent in one direction arrives on the other side, even where both neighbours are
// one rank, or the caller itself.
func TestNeighborCollectives(t *testing.T) {
	for _, dims := range [][]int{{1}, {2}, {3}, {1, 1}, {2, 1}, {2, 2}, {2, 3}, {1, 2, 2}} {
		for _, periodic := range []bool{true, false} {
			n := 1
			for _, d := range dims {
				n *= d
			}
			t.Run(fmt.Sprint(dims, periodic), func(t *testing.T) {
				job(t, n, func(w *ompi.Comm) error {
					c, err := w.CartCreate(dims, slices.Repeat([]bool{periodic}, len(dims)), false)
					if err != nil {
						return err
					}
					near, _, err := c.Neighbors()
					if err != nil {
						return err
					}
					send, recv := make([]int64, len(near)), slices.Repeat([]int64{-1}, len(near))
					for i := range send {
						send[i] = int64(100*c.Rank() + i)
					}
					check := func(what string, err error, want func(i, from int) int64) error {
						if err != nil {
							return fmt.Errorf("%s: %w", what, err)
						}
						for i, from := range near {
							x := int64(-1)
							if from != ompi.ProcNull {
								x = want(i, from)
							}
							if recv[i] != x {
								return fmt.Errorf("%s: rank %d of %v: %v from %v, want %d at %d", what, c.Rank(), dims, recv, near, x, i)
							}
							recv[i] = -1
						}
						return nil
					}
					// What a neighbour on one side sends to its other side is for me.
					mirror := func(i, from int) int64 { return int64(100*from + i ^ 1) }
					ones := slices.Repeat([]int{1}, len(near))
					outs, ins := make([]ompi.Buffer, len(near)), make([]ompi.Buffer, len(near))
					for i := range near {
						outs[i], ins[i] = ompi.Value(&send[i]), ompi.Value(&recv[i])
					}
					persistent := c.NeighborAlltoallInit(ompi.Slice(send), ompi.Slice(recv))
					start := func(r ompi.Request) error {
						if err := r.Start(); err != nil {
							return err
						}
						_, err := r.Wait()
						return err
					}
					wait := func(r ompi.Request) error { _, err := r.Wait(); return err }
					return errors.Join(
						check("alltoall", c.NeighborAlltoall(ompi.Slice(send), ompi.Slice(recv)), mirror),
						check("ialltoall", wait(c.IneighborAlltoall(ompi.Slice(send), ompi.Slice(recv))), mirror),
						check("alltoallv", c.NeighborAlltoallv(ompi.Slice(send), ones, nil, ompi.Slice(recv), ones, nil), mirror),
						check("alltoallw", c.NeighborAlltoallw(outs, ins), mirror),
						check("persistent", start(persistent), mirror),
						check("persistent again", start(persistent), mirror),
						check("allgather", c.NeighborAllgather(ompi.Slice(send[:1]), ompi.Slice(recv)), func(_, from int) int64 { return int64(100 * from) }),
						check("iallgatherv", wait(c.IneighborAllgatherv(ompi.Slice(send[:1]), ompi.Slice(recv), ones, nil)), func(_, from int) int64 { return int64(100 * from) }),
						persistent.Free(), c.Free(),
					)
				})
			})
		}
	}
}

// TestIntercommunicatorOfNothing: operations on no data, and blocks of none, need no datatype.
func TestIntercommunicatorOfNothing(t *testing.T) {
	job(t, 5, func(w *ompi.Comm) error {
		c, mine, _, low, err := between(w, 2)
		if err != nil {
			return err
		}
		none := ompi.Buffer{}
		root := 0
		if low {
			if root = ompi.ProcNull; c.Rank() == 0 {
				root = ompi.Root
			}
		}
		in, out := []int64{1, 2, 3, 4}, make([]int64, 4)
		counts := make([]int, mine)
		counts[mine-1] = len(in)
		recv := none
		if c.Rank() == mine-1 {
			recv = ompi.Slice(out)
		}
		_, later := c.Iallreduce(none, none, ompi.Sum).Wait()
		err = errors.Join(later, c.Allreduce(none, none, ompi.Sum), c.Reduce(none, none, ompi.Sum, root), c.Bcast(none, root),
			c.ReduceScatter(ompi.Slice(in), recv, counts, ompi.Sum), c.ReduceScatterBlock(none, none, ompi.Sum))
		if want := int64(4 * (5 - mine)); err == nil && c.Rank() == mine-1 && out[3] != want {
			return fmt.Errorf("reduce_scatter gave %v, want %d at the end", out, want)
		}
		if root == ompi.Root {
			if bad := c.Reduce(none, ompi.InPlace(), ompi.Sum, root); !errors.Is(bad, ompi.ErrBuffer) {
				err = errors.Join(err, fmt.Errorf("the root's result in place: %v", bad))
			}
		}
		return err
	})
}

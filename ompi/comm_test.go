package ompi_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/ompi-go/ompi-go/ompi"
)

// sizes are the numbers of ranks that tests of communicators try.
var sizes = []int{1, 2, 3, 4, 5, 6, 7, 8, 9}

// eachSize runs body as a job of each size.
func eachSize(t *testing.T, body func(w *ompi.Comm) error) {
	t.Helper()
	for _, n := range sizes {
		t.Run(fmt.Sprint("ranks=", n), func(t *testing.T) { job(t, n, body) })
	}
}

// works checks that c's message space and collectives work, and that it has these job ranks in this order.
func works(c *ompi.Comm, members []int) error {
	n, me := c.Size(), c.Rank()
	if n != len(members) || members[me] != c.Instance().World().Rank() {
		return fmt.Errorf("rank %d of %d, want %v", me, n, members)
	}
	all := make([]int32, n)
	own := []int32{int32(c.Instance().World().Rank())}
	if err := c.Allgather(ompi.Slice(own), ompi.Slice(all)); err != nil {
		return err
	}
	for r, j := range all {
		if int(j) != members[r] {
			return fmt.Errorf("the members are %v, want %v", all, members)
		}
	}
	in := []int32{-1}
	if _, err := c.Sendrecv(ompi.Slice(own), (me+1)%n, 5, ompi.Slice(in), (me+n-1)%n, 5); err != nil {
		return err
	}
	if int(in[0]) != members[(me+n-1)%n] {
		return fmt.Errorf("from the left came %d", in[0])
	}
	return nil
}

func upTo(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

func TestDupKeepsAndDrops(t *testing.T) {
	eachSize(t, func(w *ompi.Comm) error {
		mine := errors.New("mine")
		c, err := w.Dup()
		if err != nil {
			return err
		}
		c.SetName("ours")
		c.SetErrhandler(func(*ompi.Comm, error) error { return mine })
		hint := ompi.NewInfo()
		if err := errors.Join(hint.Set("a", "1"), hint.Set("b", "2"), c.SetInfo(hint), hint.Set("a", "no")); err != nil {
			return err
		}
		more := ompi.NewInfo()
		if err := errors.Join(more.Set("b", "3"), more.Set("c", "4"), c.SetInfo(more)); err != nil {
			return err
		}
		d, err := c.Dup()
		if err != nil {
			return err
		}
		if d.Name() != "" || w.Name() != "MPI_COMM_WORLD" || w.Instance().Self().Name() != "MPI_COMM_SELF" {
			return fmt.Errorf("names %q, %q", d.Name(), w.Name())
		}
		if d.Compare(c) != ompi.Congruent || d.Compare(d) != ompi.Ident || d.Compare(nil) != ompi.Unequal {
			return fmt.Errorf("compares as %v, %v", d.Compare(c), d.Compare(d))
		}
		if err := d.Send(ompi.Buffer{}, -9, 0); err != mine {
			return fmt.Errorf("the error handler was not inherited: %v", err)
		}
		got := ""
		for _, k := range d.Info().Keys() {
			v, _ := d.Info().Get(k)
			got += k + v
		}
		if got != "a1b3c4" {
			return fmt.Errorf("hints %q", got)
		}
		only := ompi.NewInfo()
		if err := only.Set("z", "9"); err != nil {
			return err
		}
		e, err := c.DupWithInfo(only)
		if err != nil {
			return err
		}
		if k := e.Info().Keys(); !slices.Equal(k, []string{"z"}) {
			return fmt.Errorf("hints %q", k)
		}
		f, err := c.DupWithInfo(nil)
		if err != nil || len(f.Info().Keys()) != 0 {
			return fmt.Errorf("hints %q, %w", f.Info().Keys(), err)
		}
		for _, x := range []*ompi.Comm{d, e, f} {
			if err := errors.Join(works(x, upTo(w.Size())), x.Free()); err != nil {
				return err
			}
		}
		return c.Free()
	})
}

func TestSetInfoNil(t *testing.T) {
	job(t, 1, func(w *ompi.Comm) error {
		if err := w.SetInfo(nil); !errors.Is(err, ompi.ErrInfo) {
			return fmt.Errorf("%v, want ErrInfo", err)
		}
		return nil
	})
}

func TestSplitEveryWay(t *testing.T) {
	eachSize(t, func(w *ompi.Comm) error {
		n, me := w.Size(), w.Rank()
		for _, c := range []struct{ color, key func(r int) int }{
			{func(int) int { return 0 }, func(r int) int { return -r }},
			{func(r int) int { return r % 3 }, func(int) int { return 7 }},
			{func(r int) int { return r / 2 }, func(r int) int { return r % 2 * -5 }},
			{func(r int) int {
				if r%2 == 0 {
					return ompi.Undefined
				}
				return 1 << 30
			}, func(r int) int { return -r / 4 }},
		} {
			got, err := w.Split(c.color(me), c.key(me))
			if err != nil {
				return err
			}
			if c.color(me) == ompi.Undefined {
				if got != nil {
					return errors.New("Undefined made a communicator")
				}
				continue
			}
			want := slices.DeleteFunc(upTo(n), func(r int) bool { return c.color(r) != c.color(me) })
			slices.SortStableFunc(want, func(a, b int) int { return c.key(a) - c.key(b) })
			if err := errors.Join(works(got, want), got.Free()); err != nil {
				return err
			}
		}
		host, err := w.SplitType(ompi.SplitHost, -me)
		if err != nil {
			return err
		}
		all := upTo(n)
		slices.Reverse(all)
		if err := works(host, all); err != nil {
			return err
		}
		if c, err := w.SplitType(ompi.Undefined, 0); c != nil || err != nil {
			return fmt.Errorf("%v, %v", c, err)
		}
		// What one rank does wrong all hear of.
		color := 0
		if me == n-1 {
			color = -7
		}
		if _, err := w.Split(color, 0); !errors.Is(err, ompi.ErrArg) {
			return fmt.Errorf("a negative color: %v", err)
		}
		if _, err := w.SplitType(ompi.SplitKind(99), 0); !errors.Is(err, ompi.ErrArg) {
			return fmt.Errorf("an unknown kind: %v", err)
		}
		return nil
	})
}

func TestCreateOfGroups(t *testing.T) {
	eachSize(t, func(w *ompi.Comm) error {
		n, me := w.Size(), w.Rank()
		odd, err := w.Group().RangeExcl([][3]int{{0, n - 1, 2}})
		if err != nil {
			return err
		}
		back, err := w.Group().RangeIncl([][3]int{{n - 1, 0, -1}})
		if err != nil {
			return err
		}
		none, err := w.Group().Incl(nil)
		if err != nil {
			return err
		}
		for what, g := range map[string]*ompi.Group{"odd": odd} {
			c, err := w.Create(g)
			if err != nil || (c == nil) != (me%2 == 0) {
				return fmt.Errorf("%s: %v, %w", what, c, err)
			}
			if c != nil {
				want := slices.DeleteFunc(upTo(n), func(r int) bool { return r%2 == 0 })
				if err := errors.Join(works(c, want), c.Free()); err != nil {
					return err
				}
			}
		}
		c, err := w.Create(back)
		if err != nil {
			return err
		}
		want := upTo(n)
		slices.Reverse(want)
		if err := works(c, want); err != nil {
			return err
		}
		if r := c.Compare(w); n > 1 && r != ompi.Similar || n == 1 && r != ompi.Congruent {
			return fmt.Errorf("reversed: %v", r)
		}
		if err := c.Free(); err != nil {
			return err
		}
		if c, err := w.Create(none); c != nil || err != nil {
			return fmt.Errorf("of nobody: %v, %v", c, err)
		}
		// Disjoint groups at the same time are legal (MPI-3.1 §6.4.2).
		g := odd
		if me%2 == 0 {
			if g, err = w.Group().Difference(odd); err != nil {
				return err
			}
		}
		c, err = w.Create(g)
		if err != nil || c == nil {
			return fmt.Errorf("disjoint: %v, %w", c, err)
		}
		if err := works(c, slices.DeleteFunc(upTo(n), func(r int) bool { return r%2 != me%2 })); err != nil {
			return err
		}
		if _, err := w.Create(nil); !errors.Is(err, ompi.ErrGroup) {
			return fmt.Errorf("nil: %v", err)
		}
		if n > 1 {
			if _, err := w.Instance().Self().Create(w.Group()); !errors.Is(err, ompi.ErrGroup) {
				return fmt.Errorf("too large: %v", err)
			}
		}
		return c.Free()
	})
}

func TestFreeLetsMessagesArrive(t *testing.T) {
	job(t, 3, func(w *ompi.Comm) error {
		for round := range 20 {
			c, err := w.Dup()
			if err != nil {
				return err
			}
			n, me := c.Size(), c.Rank()
			size := []int{1, 5000, 300_000}[round%3]
			out, in := make([]byte, size), make([]byte, size)
			fillMessage(out, me)
			r := c.Irecv(ompi.Slice(in), (me+1)%n, 0)
			never := c.Irecv(ompi.Slice(make([]byte, 1)), ompi.AnySource, 1)
			s := c.Isend(ompi.Slice(out), (me+n-1)%n, 0)
			if err := c.Free(); err != nil {
				return err
			}
			if err := ompi.WaitAll(r, s); err != nil {
				return fmt.Errorf("round %d: %w", round, err)
			}
			want := make([]byte, size)
			fillMessage(want, (me+1)%n)
			if !slices.Equal(in, want) {
				return fmt.Errorf("round %d: wrong data", round)
			}
			if _, err := never.Wait(); !errors.Is(err, ompi.ErrComm) {
				return fmt.Errorf("a receive of nothing: %v", err)
			}
			if err := c.Barrier(); !errors.Is(err, ompi.ErrComm) {
				return fmt.Errorf("a barrier after Free: %v", err)
			}
		}
		if err := w.Free(); !errors.Is(err, ompi.ErrComm) {
			return fmt.Errorf("Free of the world: %v", err)
		}
		return nil
	})
}

// Context numbers come back: far more communicators are made than there are numbers at a time.
func TestContextsAreUsedAgain(t *testing.T) {
	job(t, 2, func(w *ompi.Comm) error {
		for range 300 {
			a, err := w.Dup()
			if err != nil {
				return err
			}
			b, err := a.Split(w.Rank(), 0)
			if err != nil {
				return err
			}
			if err := errors.Join(b.Free(), a.Free()); err != nil {
				return err
			}
		}
		return nil
	})
}

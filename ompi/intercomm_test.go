package ompi_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ompi-go/ompi-go/ompi"
)

// halves makes the intercommunicator between the first k ranks of w and the others, and the communicators of each.
func halves(w *ompi.Comm, k, tag int) (inter, local *ompi.Comm, err error) {
	color, leader, remote := 0, 0, k
	if w.Rank() >= k {
		color, leader, remote = 1, w.Size()-k-1, 0
	}
	if local, err = w.Split(color, 0); err != nil {
		return nil, nil, err
	}
	if color == 0 { // the second group is led by its last rank
		remote = w.Size() - 1
	}
	inter, err = local.CreateIntercomm(leader, w, remote, tag)
	return inter, local, err
}

// eachCut runs body for intercommunicators of all shapes.
func eachCut(t *testing.T, body func(w, inter, local *ompi.Comm, k int) error) {
	t.Helper()
	for n := 2; n <= 7; n++ {
		t.Run(fmt.Sprint("ranks=", n), func(t *testing.T) {
			job(t, n, func(w *ompi.Comm) error {
				for k := 1; k < n; k++ {
					inter, local, err := halves(w, k, k)
					if err != nil {
						return err
					}
					if err := body(w, inter, local, k); err != nil {
						return fmt.Errorf("cut at %d: %w", k, err)
					}
					if err := errors.Join(inter.Free(), local.Free()); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
}

// meets checks an intercommunicator: groups, and messages both ways.
func meets(c *ompi.Comm, mine, theirs []int) error {
	if !c.IsInter() || c.Size() != len(mine) || c.RemoteSize() != len(theirs) || mine[c.Rank()] != c.Instance().World().Rank() {
		return fmt.Errorf("rank %d of %d and %d, want %v and %v", c.Rank(), c.Size(), c.RemoteSize(), mine, theirs)
	}
	names := func(g *ompi.Group) []int {
		out, err := g.TranslateRanks(upTo(g.Size()), c.Instance().World().Group())
		if err != nil {
			return nil
		}
		return out
	}
	if got := names(c.Group()); !slices.Equal(got, mine) {
		return fmt.Errorf("local group %v, want %v", got, mine)
	}
	if got := names(c.RemoteGroup()); !slices.Equal(got, theirs) {
		return fmt.Errorf("remote group %v, want %v", got, theirs)
	}
	// Everybody to everybody of the other group, short and long, the receives from anybody.
	for _, size := range []int{1, 3000, 200_000} {
		out := make([]byte, size)
		fillMessage(out, mine[c.Rank()])
		var sends []ompi.Request
		for r := range theirs {
			sends = append(sends, c.Isend(ompi.Slice(out), r, size/1000))
		}
		got := map[int]bool{}
		for range theirs {
			in, want := make([]byte, size), make([]byte, size)
			st, err := c.Recv(ompi.Slice(in), ompi.AnySource, size/1000)
			if err != nil || st.Source < 0 || st.Source >= len(theirs) || got[st.Source] {
				return fmt.Errorf("received %+v: %w", st, err)
			}
			got[st.Source] = true
			if fillMessage(want, theirs[st.Source]); !slices.Equal(in, want) {
				return fmt.Errorf("wrong data from %d", st.Source)
			}
		}
		if err := ompi.WaitAll(sends...); err != nil {
			return err
		}
	}
	if err := c.Send(ompi.Buffer{}, len(theirs), 0); !errors.Is(err, ompi.ErrRank) {
		return fmt.Errorf("a rank beyond the remote group: %v", err)
	}
	return c.Barrier()
}

func cutAt(w *ompi.Comm, k int) (mine, theirs []int) {
	mine, theirs = upTo(w.Size())[:k], upTo(w.Size())[k:]
	if w.Rank() >= k {
		mine, theirs = theirs, mine
	}
	return mine, theirs
}

func TestIntercommBasics(t *testing.T) {
	eachCut(t, func(w, inter, local *ompi.Comm, k int) error {
		mine, theirs := cutAt(w, k)
		if err := meets(inter, mine, theirs); err != nil {
			return err
		}
		if w.IsInter() || w.RemoteSize() != 0 || w.RemoteGroup() != nil {
			return errors.New("the world is an intercommunicator")
		}
		if inter.Compare(w) != ompi.Unequal || inter.Compare(local) != ompi.Unequal || inter.Compare(inter) != ompi.Ident {
			return errors.New("compares wrongly")
		}
		for what, err := range map[string]error{
			"CreateGroup": second(inter.CreateGroup(inter.Group(), 0)), "CartCreate": second(inter.CartCreate(nil, nil, false)),
			"Merge of an intracommunicator": second(w.Merge(false)), "DistGraph": second(inter.DistGraphCreate(nil, nil, nil, nil, nil, false)),
			"CreateIntercomm": second(inter.CreateIntercomm(0, w, 0, 0)),
		} {
			if !errors.Is(err, ompi.ErrComm) {
				return fmt.Errorf("%s: %v, want ErrComm", what, err)
			}
		}
		return nil
	})
}

func TestIntercommDerived(t *testing.T) {
	eachCut(t, func(w, inter, local *ompi.Comm, k int) error {
		mine, theirs := cutAt(w, k)
		key := ompi.NewKeyval(func(v int) (int, bool, error) { return v + 1, true, nil }, nil)
		if err := key.Set(inter, 1); err != nil {
			return err
		}
		d, err := inter.Dup()
		if err != nil {
			return err
		}
		e, r, err := inter.Idup()
		if err != nil {
			return err
		}
		if _, err := r.Wait(); err != nil {
			return err
		}
		for _, x := range []*ompi.Comm{d, e} {
			if v, ok := key.Get(x); !ok || v != 2 {
				return fmt.Errorf("the attribute is %d, %v", v, ok)
			}
			if x.Compare(inter) != ompi.Congruent {
				return errors.New("a duplicate is not congruent")
			}
			if err := errors.Join(meets(x, mine, theirs), x.Free()); err != nil {
				return err
			}
		}
		// By parity of the rank in its group, backwards.
		s, err := inter.Split(inter.Rank()%2, -inter.Rank())
		if err != nil {
			return err
		}
		pick := func(ranks []int, keep func(i int) bool) []int {
			var out []int
			for i, r := range slices.Backward(ranks) {
				if keep(i) {
					out = append(out, r)
				}
			}
			return out
		}
		parity := func(i int) bool { return i%2 == inter.Rank()%2 }
		if a, b := pick(mine, parity), pick(theirs, parity); len(b) == 0 {
			if s != nil {
				return errors.New("Split with nobody on the other side")
			}
		} else if err := errors.Join(meets(s, a, b), s.Free()); err != nil {
			return err
		}
		reversed, err := inter.Split(0, -inter.Rank())
		if err != nil {
			return err
		}
		want := ompi.Similar
		if len(mine) == 1 && len(theirs) == 1 {
			want = ompi.Congruent
		}
		if got := inter.Compare(reversed); got != want {
			return fmt.Errorf("reversed compares as %v", got)
		}
		if err := reversed.Free(); err != nil {
			return err
		}
		if x, err := inter.Split(ompi.Undefined, 0); x != nil || err != nil {
			return fmt.Errorf("Undefined: %v, %v", x, err)
		}
		// The upper part of each group.
		upper := func(i int) bool { return i > 0 }
		ranks := upTo(len(mine))
		g, err := inter.Group().Incl(pick(ranks, upper))
		if err != nil {
			return err
		}
		c, err := inter.Create(g)
		if err != nil {
			return err
		}
		if a, b := pick(mine, upper), pick(theirs, upper); len(b) == 0 || inter.Rank() == 0 {
			if c != nil {
				return errors.New("Create with nobody on one side")
			}
		} else if err := errors.Join(meets(c, a, b), c.Free()); err != nil {
			return err
		}
		return nil
	})
}

func TestMerge(t *testing.T) {
	eachCut(t, func(w, inter, local *ompi.Comm, k int) error {
		first, last := upTo(w.Size())[:k], upTo(w.Size())[k:]
		inFirst := w.Rank() < k
		for _, c := range []struct {
			highFirst, highLast bool
			want                []int
		}{
			{false, true, slices.Concat(first, last)}, {true, false, slices.Concat(last, first)},
			{false, false, slices.Concat(first, last)}, {true, true, slices.Concat(first, last)},
		} {
			m, err := inter.Merge(inFirst && c.highFirst || !inFirst && c.highLast)
			if err != nil {
				return err
			}
			if err := errors.Join(works(m, c.want), m.Free()); err != nil {
				return fmt.Errorf("%+v: %w", c, err)
			}
		}
		return nil
	})
}

func TestIntercommErrors(t *testing.T) {
	job(t, 4, func(w *ompi.Comm) error {
		color := w.Rank() / 2
		local, err := w.Split(color, 0)
		if err != nil {
			return err
		}
		for what, call := range map[error]func() error{
			ompi.ErrRank: func() error { return second(local.CreateIntercomm(2, w, 0, 0)) },
		} {
			if err := call(); !errors.Is(err, what) {
				return fmt.Errorf("%v, want %v", err, what)
			}
		}
		// What the leader does wrong the others hear of.
		for i, call := range []func(bridge *ompi.Comm) error{
			func(*ompi.Comm) error { return second(local.CreateIntercomm(0, nil, 0, 0)) },
			func(b *ompi.Comm) error { return second(local.CreateIntercomm(0, b, 9, 0)) },
			func(b *ompi.Comm) error { return second(local.CreateIntercomm(0, b, 2-2*color, -1)) },
			func(b *ompi.Comm) error { return second(local.CreateIntercomm(0, b, 2*color, 0)) }, // itself
		} {
			err := call(w)
			class := []ompi.ErrorClass{ompi.ErrComm, ompi.ErrRank, ompi.ErrTag, ompi.ErrRank}[i]
			if err == nil || errors.Is(err, class) != (local.Rank() == 0) {
				return fmt.Errorf("call %d: %v", i, err)
			}
		}
		// Groups that overlap: rank 2 is in both.
		low, err := w.Split(w.Rank()/3, 0) // 0 1 2 | 3
		if err != nil {
			return err
		}
		high, err := w.Split(w.Rank()/2, 0) // 0 1 | 2 3
		if err != nil {
			return err
		}
		return threads(2, func(k int) error {
			var err error
			switch {
			case k == 0 && w.Rank() <= 2:
				err = second(low.CreateIntercomm(0, w, 3, 7))
			case k == 1 && w.Rank() >= 2:
				err = second(high.CreateIntercomm(1, w, 0, 7))
			default:
				return nil
			}
			if !errors.Is(err, ompi.ErrGroup) {
				return fmt.Errorf("groups with a common member: %v", err)
			}
			return nil
		})
	})
}

// TestManyIntercomms: goroutines make intercommunicators over one bridge at the same time, by tag.
func TestManyIntercomms(t *testing.T) {
	const ranks, goroutines = 5, 6
	job(t, ranks, func(w *ompi.Comm) error {
		locals := make([]*ompi.Comm, goroutines)
		color := w.Rank() % 2
		for k := range locals {
			var err error
			if locals[k], err = w.Split(color, 0); err != nil {
				return err
			}
		}
		mine := slices.DeleteFunc(upTo(ranks), func(r int) bool { return r%2 != color })
		theirs := slices.DeleteFunc(upTo(ranks), func(r int) bool { return r%2 == color })
		return threads(goroutines, func(k int) error {
			for range 5 {
				c, err := locals[k].CreateIntercomm(0, w, 1-color, k)
				if err != nil {
					return err
				}
				m, err := c.Merge(color == 1)
				if err != nil {
					return err
				}
				if err := works(m, slices.Concat([]int{0, 2, 4}, []int{1, 3})); err != nil {
					return err
				}
				if err := errors.Join(meets(c, mine, theirs), m.Free(), c.Free()); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// TestIntercommCancelled: the end of the job ends what waits on an intercommunicator and on agreements.
func TestIntercommCancelled(t *testing.T) {
	over := errors.New("over")
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	err := ompi.Run(ctx, 4, func(w *ompi.Comm) error {
		inter, _, err := halves(w, 2, 0)
		if err != nil {
			return err
		}
		if w.Rank() == 3 {
			time.AfterFunc(50*time.Millisecond, func() { cancel(over) })
			_, err = w.Recv(ompi.Buffer{}, 0, 0)
			return err
		}
		switch w.Rank() {
		case 0:
			_, err = inter.Merge(false)
		case 1:
			_, err = inter.Dup()
		case 2:
			_, err = w.CreateGroup(w.Group(), 0)
		}
		if !errors.Is(err, over) {
			return fmt.Errorf("rank %d: %v", w.Rank(), err)
		}
		return nil
	})
	if !errors.Is(err, over) {
		t.Errorf("Run: %v", err)
	}
}

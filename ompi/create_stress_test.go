package ompi_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ompi-go/ompi-go/ompi"
)

func TestCreateGroup(t *testing.T) {
	eachSize(t, func(w *ompi.Comm) error {
		n, me := w.Size(), w.Rank()
		for _, ranks := range [][]int{{0}, {n - 1}, upTo(n), upTo((n + 1) / 2)} {
			slices.Reverse(ranks)
			g, err := w.Group().Incl(ranks)
			if err != nil {
				return err
			}
			c, err := w.CreateGroup(g, w.TagUB())
			if err != nil || (c != nil) != slices.Contains(ranks, me) {
				return fmt.Errorf("%v: %v, %w", ranks, c, err)
			}
			if c != nil {
				if err := errors.Join(works(c, ranks), c.Free()); err != nil {
					return err
				}
			}
		}
		none, err := w.Group().Incl(nil)
		if err != nil {
			return err
		}
		if c, err := w.CreateGroup(none, 0); c != nil || err != nil {
			return fmt.Errorf("of nobody: %v, %v", c, err)
		}
		if _, err := w.CreateGroup(nil, 0); !errors.Is(err, ompi.ErrGroup) {
			return fmt.Errorf("nil: %v", err)
		}
		if _, err := w.CreateGroup(w.Group(), -1); !errors.Is(err, ompi.ErrTag) {
			return fmt.Errorf("tag -1: %v", err)
		}
		return nil
	})
}

// TestConcurrentCreateGroup: goroutines of all ranks make communicators of random overlapping groups at the same time, each kind of
// call with its own tags, in orders that differ from rank to rank.
func TestConcurrentCreateGroup(t *testing.T) {
	const ranks, groups = 5, 60
	job(t, ranks, func(w *ompi.Comm) error {
		rnd := rand.New(rand.NewPCG(1, 2)) // the same on all
		sets := make([][]int, groups)
		for i := range sets {
			sets[i] = rnd.Perm(ranks)[:1+rnd.IntN(ranks)]
		}
		order := rand.New(rand.NewPCG(3, uint64(w.Rank()))).Perm(groups)
		return threads(groups, func(k int) error {
			i := order[k]
			g, err := w.Group().Incl(sets[i])
			if err != nil {
				return err
			}
			for round := range 3 {
				var c *ompi.Comm
				if i%2 == 0 {
					c, err = w.CreateGroup(g, i*1000+round%2)
				} else if g.Rank() != ompi.Undefined {
					c, err = w.Instance().CommFromGroup(g, fmt.Sprint("set ", i))
				}
				if err != nil {
					return fmt.Errorf("group %d %v: %w", i, sets[i], err)
				}
				if c == nil {
					continue
				}
				if err := errors.Join(works(c, sets[i]), c.Free()); err != nil {
					return fmt.Errorf("group %d %v: %w", i, sets[i], err)
				}
			}
			return nil
		})
	})
}

func TestCommFromGroup(t *testing.T) {
	eachSize(t, func(w *ompi.Comm) error {
		i, n := w.Instance(), w.Size()
		g, err := i.GroupFromPset("mpi://WORLD")
		if err != nil {
			return err
		}
		c, err := i.CommFromGroup(g, "org.example.all")
		if err != nil {
			return err
		}
		if err := errors.Join(works(c, upTo(n)), c.Free()); err != nil {
			return err
		}
		none, err := g.Incl(nil)
		if err != nil {
			return err
		}
		if c, err := i.CommFromGroup(none, ""); c != nil || err != nil {
			return fmt.Errorf("of nobody: %v, %v", c, err)
		}
		if _, err := i.CommFromGroup(nil, ""); !errors.Is(err, ompi.ErrGroup) {
			return fmt.Errorf("nil: %v", err)
		}
		if n > 1 {
			others, err := g.Excl([]int{w.Rank()})
			if err != nil {
				return err
			}
			if _, err := i.CommFromGroup(others, ""); !errors.Is(err, ompi.ErrGroup) {
				return fmt.Errorf("of others: %v", err)
			}
		}
		return nil
	})
}

// TestManyIdups: many duplicates of one communicator and of several are made at once, while other collectives and messages go on.
func TestManyIdups(t *testing.T) {
	eachSize(t, func(w *ompi.Comm) error {
		const parents, each = 4, 8
		n := w.Size()
		comms := make([]*ompi.Comm, parents)
		for p := range comms {
			var err error
			if comms[p], err = w.Dup(); err != nil {
				return err
			}
		}
		return errors.Join(threads(parents, func(p int) error {
			dups := make([]*ompi.Comm, each)
			reqs := make([]ompi.Request, each)
			for k := range dups {
				var err error
				if dups[k], reqs[k], err = comms[p].Idup(); err != nil {
					return err
				}
				if k%3 == 0 { // other creations and collectives go between them
					if err := comms[p].Barrier(); err != nil {
						return err
					}
					x, err := comms[p].Dup()
					if err != nil {
						return err
					}
					if err := x.Free(); err != nil {
						return err
					}
				}
			}
			switch p {
			case 0:
				if err := ompi.WaitAll(reqs...); err != nil {
					return err
				}
			case 1:
				for k := each - 1; k >= 0; k-- {
					for ok := false; !ok; {
						var err error
						if _, ok, err = reqs[k].Test(); err != nil {
							return err
						}
					}
				}
			default:
				for range reqs {
					if i, _, err := ompi.WaitAny(reqs...); err != nil || i == ompi.Undefined {
						return fmt.Errorf("WaitAny: %d, %w", i, err)
					}
				}
			}
			for _, d := range dups {
				if err := works(d, upTo(n)); err != nil {
					return err
				}
			}
			if p == 3 { // freeing the parent first changes nothing
				_, r, err := comms[p].Idup()
				if err := errors.Join(err, comms[p].Free()); err != nil {
					return err
				}
				if _, err := r.Wait(); err != nil {
					return err
				}
			}
			for _, d := range dups {
				if err := d.Free(); err != nil {
					return err
				}
			}
			return nil
		}))
	})
}

// TestIdupBeforeItsTime: a communicator whose request is not done says so.
func TestIdupBeforeItsTime(t *testing.T) {
	job(t, 2, func(w *ompi.Comm) error {
		if w.Rank() == 1 { // the agreement cannot end before this
			if _, err := w.Recv(ompi.Buffer{}, 0, 0); err != nil {
				return err
			}
		}
		c, r, err := w.Idup()
		if err != nil {
			return err
		}
		if w.Rank() == 0 {
			if err := c.Send(ompi.Buffer{}, 1, 0); !errors.Is(err, ompi.ErrComm) {
				return fmt.Errorf("Send: %v", err)
			}
			if err := c.Barrier(); !errors.Is(err, ompi.ErrComm) {
				return fmt.Errorf("Barrier: %v", err)
			}
			if _, ok, err := r.Test(); ok || err != nil {
				return fmt.Errorf("done before the other has come: %w", err)
			}
			if err := r.Cancel(); err == nil {
				return errors.New("it was cancelled")
			}
			if err := w.Send(ompi.Buffer{}, 1, 0); err != nil {
				return err
			}
		}
		if _, err := r.Wait(); err != nil {
			return err
		}
		return errors.Join(works(c, upTo(2)), c.Free())
	})
}

// TestRandomCreations: goroutines make whatever can be made out of communicators of their own, which all overlap.
func TestRandomCreations(t *testing.T) {
	const ranks, goroutines, steps = 4, 6, 25
	for _, btl := range []string{"self,sm", "self,tcp"} {
		t.Run(btl, func(t *testing.T) {
			job(t, ranks, func(w *ompi.Comm) error {
				comms := make([]*ompi.Comm, goroutines)
				for k := range comms {
					var err error
					if comms[k], err = w.Dup(); err != nil {
						return err
					}
				}
				return threads(goroutines, func(k int) error {
					rnd := rand.New(rand.NewPCG(7, uint64(k))) // the same on all ranks
					c, members := comms[k], upTo(ranks)
					for range steps {
						var x *ompi.Comm
						var err error
						want := members
						switch rnd.IntN(5) {
						case 0:
							x, err = c.Dup()
						case 1:
							x, err = c.Split(0, -c.Rank())
							want = slices.Clone(members)
							slices.Reverse(want)
						case 2:
							var g *ompi.Group
							if g, err = c.Group().RangeIncl([][3]int{{0, c.Size() - 1, 1}}); err == nil {
								x, err = c.Create(g)
							}
						case 3:
							var r ompi.Request
							if x, r, err = c.Idup(); err == nil {
								_, err = r.Wait()
							}
						case 4:
							x, err = c.CreateGroup(c.Group(), k)
						}
						if err != nil {
							return err
						}
						if err := errors.Join(works(x, want), c.Free()); err != nil {
							return err
						}
						c, members = x, want
					}
					return c.Free()
				})
			}, ompi.WithParam("btl", btl))
		})
	}
}

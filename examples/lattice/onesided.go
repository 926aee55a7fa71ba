package main

import "github.com/ompi-go/ompi-go/ompi"

// oneSided puts rows into the neighbours' windows. A window is two rows: what comes from above, then what comes from below. Every step is an exposure
// and an access epoch, to and from the neighbours.
type oneSided struct {
	halo
	window     *ompi.Win
	neighbours *ompi.Group
	// Made once: a step allocates nothing.
	outUp, outDown     ompi.Buffer
	belowUp, aboveDown ompi.Target
}

func newOneSided(world *ompi.Comm, words int) (*oneSided, error) {
	x := &oneSided{halo: newHalo(world, words)}
	window, rows, err := ompi.WinAllocate[uint64](world, 2*words)
	if err != nil {
		return nil, err
	}
	x.window, x.fromUp, x.fromDown = window, rows[:words], rows[words:]
	var ranks []int
	if x.hasUp {
		ranks = append(ranks, world.Rank()-1)
	}
	if x.hasDown {
		ranks = append(ranks, world.Rank()+1)
	}
	if x.neighbours, err = world.Group().Incl(ranks); err != nil {
		return nil, err
	}
	x.outUp, x.outDown = ompi.Slice(x.toUp), ompi.Slice(x.toDown)
	// To the rank above, this row comes from below; to the one below, from above.
	x.belowUp, x.aboveDown = ompi.At(world.Rank()-1, int64(words)), ompi.At(world.Rank()+1, 0)
	return x, nil
}

// begin opens the window to the neighbours and starts to put into theirs.
func (x *oneSided) begin() error {
	if err := x.window.Post(x.neighbours, 0); err != nil {
		return err
	}
	if err := x.window.Start(x.neighbours, 0); err != nil {
		return err
	}
	if x.hasUp {
		if err := x.window.Put(x.outUp, x.belowUp); err != nil {
			return err
		}
	}
	if x.hasDown {
		return x.window.Put(x.outDown, x.aboveDown)
	}
	return nil
}

// end completes both epochs: this rank's rows are there, the neighbours' rows are here.
func (x *oneSided) end() error {
	if err := x.window.Complete(); err != nil {
		return err
	}
	return x.window.Wait()
}

func (x *oneSided) close() error { return x.window.Free() }

package main

import (
	"fmt"

	"github.com/ompi-go/ompi-go/ompi"
)

// The ways that rows travel to the neighbours.
const (
	isTwoSided = "two-sided"
	isOneSided = "one-sided"
)

// exchange brings rows to both neighbours and from them.
type exchange interface {
	rows() *halo
	begin() error // the rows to send are there
	end() error   // the rows that came may be read, those sent be written
	close() error
}

// halo is what travels, one word a cell: what this rank gives and gets.
type halo struct {
	world                          *ompi.Comm
	hasUp, hasDown                 bool
	toUp, toDown, fromUp, fromDown []uint64
}

func (h *halo) rows() *halo { return h }

func newHalo(world *ompi.Comm, words int) halo {
	h := halo{world: world, hasUp: world.Rank() > 0, hasDown: world.Rank() < world.Size()-1}
	h.toUp, h.toDown = make([]uint64, words), make([]uint64, words)
	return h
}

func newExchange(way string, world *ompi.Comm, words int) (exchange, error) {
	switch way {
	case isTwoSided:
		return newTwoSided(world, words), nil
	case isOneSided:
		return newOneSided(world, words)
	}
	return nil, fmt.Errorf("no exchange %q", way)
}

package ompi

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/pml"
)

// The PML is chosen once for the whole job. Each rank opens what its parameters say, before the job's first Fence, and rank 0 publishes
// its choice. After the Fence each other rank compares its own with that, which is one card to fetch: who differs ends with an error
// that names both, and with it the job. Nothing of a PML fences before, so that nobody waits in a Fence that others have not.
//
// Limits are those of rank 0: ranks that have more lower theirs, and who has less ends like who differs.

// openPML opens the PML of the highest priority that works.
func (i *Instance) openPML(reg *mca.Registry, env *btl.Env) error {
	type candidate struct {
		c        pml.Component
		priority int
	}
	var list []candidate
	for _, c := range reg.Components("pml") {
		if !i.params.Selection("pml").Allows(c.Name()) {
			continue
		}
		c := c.(pml.Component)
		priority, err := c.Priority(i.params)
		if err != nil {
			return err
		}
		list = append(list, candidate{c, priority})
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return cmp.Compare(b.priority, a.priority) })
	why := []string{"none is allowed"}
	for n, x := range list {
		m, err := x.c.Open(env)
		if err == nil {
			if n > 0 {
				env.Upcalls.Say("pml", fmt.Sprintf("using pml %s instead: %s", m.Name(), strings.Join(why, "; ")))
			}
			i.pml = m
			return nil
		}
		if n == 0 {
			why = nil
		}
		why = append(why, strings.ReplaceAll(err.Error(), btl.ErrUnavailable.Error()+": ", ""))
	}
	return fmt.Errorf("no pml can be used: %s; check the parameter pml", strings.Join(why, "; "))
}

// agreeOnPML is the job's first Fence, and has all ranks use the same PML or none.
func (i *Instance) agreeOnPML() error {
	if i.job.Size() == 1 {
		return nil
	}
	mine := pmlChoiceOf(i.pml)
	if i.job.Rank() == 0 {
		if err := i.job.Put(choiceKey, mine.append(nil)); err != nil {
			return err
		}
	}
	if err := i.job.Fence(); err != nil || i.job.Rank() == 0 {
		return err
	}
	card, err := i.job.Get(0, choiceKey)
	if err != nil {
		return err
	}
	first, err := parsePMLChoice(card)
	if err != nil {
		return err
	}
	if err := mine.fits(first); err != nil {
		return err
	}
	if l, ok := i.pml.(pml.Limiter); ok {
		l.Limit(int(first.maxTag), first.maxContext)
	} else if mine != first {
		return core.NewError(ErrOther, "rank 0's limits are lower: %v; this rank has %v, and pml %s cannot lower its own", first, mine, i.pml.Name())
	}
	return nil
}

// pmlChoice is what a rank says of the PML that it has chosen.
type pmlChoice struct {
	maxTag     uint64
	maxContext uint32
	words      string // its name, and what else must be the same
}

func pmlChoiceOf(m pml.Module) pmlChoice {
	c := pmlChoice{uint64(m.MaxTag()), m.MaxContext(), "pml " + m.Name()}
	if t, ok := m.(pml.Termed); ok {
		c.words += " over " + t.Terms()
	}
	return c
}

func (c pmlChoice) String() string {
	return fmt.Sprintf("%s, with tags to %d and contexts to %d", c.words, c.maxTag, c.maxContext)
}

// fits says why a rank with this choice cannot be in a job whose rank 0 has chosen first. The error does not name the rank, so that a launcher
// can report those of all such ranks as one.
func (c pmlChoice) fits(first pmlChoice) error {
	switch {
	case c.words != first.words:
		return core.NewError(ErrOther, "the ranks have chosen different transports: rank 0 uses %s, this one %s; set the parameters pml, mtl and theirs alike in all ranks", first.words, c.words)
	case c.maxTag < first.maxTag || c.maxContext < first.maxContext:
		return core.NewError(ErrOther, "the limits of this rank are lower than rank 0's: rank 0 uses %v, this one %v; set the parameters of both alike", first, c)
	}
	return nil
}

// choiceKey is the key of the card that rank 0 publishes:
//
//	0        1         4            8         16
//	+--------+---------+------------+---------+-------
//	|version | zero    | maxContext | maxTag  | words
//	+--------+---------+------------+---------+-------
//
// Numbers are little-endian; words goes to the end.
const (
	choiceKey     = "pml"
	choiceVersion = 1
	choiceHead    = 16
	choiceWords   = 1024 // most bytes of words
)

func (c pmlChoice) append(b []byte) []byte {
	b = append(b, choiceVersion, 0, 0, 0)
	b = binary.LittleEndian.AppendUint32(b, c.maxContext)
	b = binary.LittleEndian.AppendUint64(b, c.maxTag)
	return append(b, c.words...)
}

func parsePMLChoice(b []byte) (pmlChoice, error) {
	switch {
	case len(b) > 0 && b[0] != choiceVersion:
		return pmlChoice{}, fmt.Errorf("rank 0 says its pml in version %d, this rank knows version %d: all ranks must run the same program", b[0], choiceVersion)
	case len(b) < choiceHead || len(b) > choiceHead+choiceWords || !bytes.Equal(b[1:4], []byte{0, 0, 0}):
		return pmlChoice{}, errors.New("what rank 0 says of its pml makes no sense")
	}
	c := pmlChoice{binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint32(b[4:]), string(b[choiceHead:])}
	if c.maxTag > pml.PairTags-1 {
		return pmlChoice{}, fmt.Errorf("rank 0 says that its pml has tags to %d: they end below %d", c.maxTag, pml.PairTags)
	}
	return c, nil
}

package osc

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ompi-go/ompi-go/core"
)

// wrong is ErrRMASync, which names the target, if there is one, the reason, and what is open.
func (e *epochs) wrong(rank int, format string, args ...any) *core.Error {
	err := core.NewError(core.ErrRMASync, "%s; open: %s", fmt.Sprintf(format, args...), e.describe())
	if rank != AllTargets {
		err.Peer = rank
	}
	return err
}

// describe says which epochs are open.
func (e *epochs) describe() string {
	var open []string
	switch e.access {
	case accessFence:
		open = append(open, "an access epoch for all ranks ("+callFence+")")
	case accessStart:
		open = append(open, "an access epoch for "+rankList(e.start)+" ("+callStart+")")
	case accessLockAll:
		open = append(open, "a lock of all ranks ("+callLockAll+")")
	}
	if len(e.locks) > 0 {
		ranks := make([]int, len(e.locks))
		for i, l := range e.locks {
			ranks[i] = l.rank
		}
		open = append(open, "a lock of "+rankList(ranks)+" ("+callLock+")")
	}
	if e.exposed {
		open = append(open, "an exposure epoch for "+rankList(e.post)+" ("+callPost+")")
	}
	if len(open) == 0 {
		return "nothing"
	}
	return strings.Join(open, ", ")
}

// rankListed bounds how many ranks a message names.
const rankListed = 8

// rankList names ranks in a few words.
func rankList(ranks []int) string {
	switch len(ranks) {
	case 0:
		return "no ranks"
	case 1:
		return "rank " + strconv.Itoa(ranks[0])
	}
	var b strings.Builder
	b.WriteString("ranks ")
	for i, r := range ranks {
		if i == rankListed {
			fmt.Fprintf(&b, " and %d more", len(ranks)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.Itoa(r))
	}
	return b.String()
}

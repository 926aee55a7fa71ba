package sm

import (
	"math/bits"
	"unsafe"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/osc"
	"github.com/ompi-go/ompi-go/osc/elem"
	"github.com/ompi-go/ompi-go/osc/words"
)

// The memory of a window, as rank 0 makes it. All is zero in the beginning.
//
//	line 0       arrived: fences that members have come to, added up
//	line 1       over: fences that all have come to
//	each member  a line with its lock, lines with what it waits for itself, then elem.Locks
//	parts        of Allocate and Shared windows each member's memory, from a page on; of Shared ones without a gap from the first, unless all
//	             members allow for gaps
const (
	line = 64
	page = 4096

	overAt    = line
	membersAt = 2 * line
)

// waitedAt is where a member has the words behind the first two, which all others change to get its lock.
const lockWords = words.QueueWord

func align(n, to int64) int64 { return (n + to - 1) &^ (to - 1) }

// memberBytes is what each of n members has before the parts.
func memberBytes(n int) int64 {
	return line + align(int64(words.Number(n)-lockWords)*8, line) + elem.LocksSize
}

// wordAt is where a member has a word.
func wordAt(word int) int64 {
	if word < lockWords {
		return int64(word) * 8
	}
	return line + int64(word-lockWords)*8
}

func locksAt(n int) int64 { return memberBytes(n) - elem.LocksSize }

// part is a member's memory as it is mapped here.
type part struct {
	base unsafe.Pointer // nil where size is 0
	size int64
	unit int64
}

// card is what a member tells all others.
type card struct {
	size, unit int64
	slot, gen  int64 // of registered memory of its own; where there is none, 0
}

const cardWords = int64(unsafe.Sizeof(card{}) / 8)

// places gives where parts begin and how large the whole is.
func places(cards []card, flavor osc.Flavor, gaps bool) (at []int64, total int64, err error) {
	total = align(membersAt+int64(len(cards))*memberBytes(len(cards)), page)
	if flavor != osc.Allocate && flavor != osc.Shared {
		return nil, total, nil
	}
	at = make([]int64, len(cards))
	for i, c := range cards {
		at[i] = total
		sum, over := bits.Add64(uint64(total), uint64(c.size), 0)
		if over != 0 || c.size < 0 || sum > 1<<61 {
			return nil, 0, core.NewError(core.ErrNoMem, "a window of so many bytes, %d at rank %d alone, is more than any machine has", c.size, i)
		}
		if total = int64(sum); flavor == osc.Allocate || gaps {
			total = align(total, page)
		}
	}
	return at, total, nil
}

package osc

import (
	"strings"

	"github.com/ompi-go/ompi-go/core"
)

// Hints are the info keys that all members understand alike (MPI-3.1 §11.2.1); where members differ, the weaker promise holds.
type Hints struct {
	NoLocks    bool     // no_locks: there are no passive target epochs
	Ordering   Ordering // accumulate_ordering
	SameOpNoOp bool     // accumulate_ops is same_op_no_op (the default) rather than same_op
	SameSize   bool     // same_size, as promised
	SameUnit   bool     // same_disp_unit, as promised
	// NotContiguous is alloc_shared_noncontig: the members' parts of shared memory need not follow one another.
	NotContiguous bool
	// Recover is ompi_lock_recovery: a lock whose holder died is given to the next, who is told by nothing but this hint having been set.
	Recover bool
}

// Ordering says which accumulates of one origin to one place happen in program order (MPI-3.1 §11.7.2).
type Ordering uint8

// Orderings; the default is all of them.
const (
	OrderRAR Ordering = 1 << iota
	OrderRAW
	OrderWAR
	OrderWAW
	OrderNone Ordering = 0
	OrderAll           = OrderRAR | OrderRAW | OrderWAR | OrderWAW
)

// Info keys of windows (MPI-3.1 §11.2.1, §11.2.3); the last is our own.
const (
	keyNoLocks    = "no_locks"
	keyOrdering   = "accumulate_ordering"
	keyOps        = "accumulate_ops"
	keySameSize   = "same_size"
	keySameUnit   = "same_disp_unit"
	keyNotPacked  = "alloc_shared_noncontig"
	keyRecover    = "ompi_lock_recovery"
	opsSame       = "same_op"
	opsSameOrNone = "same_op_no_op"
)

var orderings = [...]struct {
	name string
	bit  Ordering
}{{"rar", OrderRAR}, {"raw", OrderRAW}, {"war", OrderWAR}, {"waw", OrderWAW}}

// ParseHints reads the hints of an info. Keys that mean nothing to windows are left alone; a value that makes no sense is ErrInfoValue.
func ParseHints(info *core.Info) (Hints, error) {
	h := Hints{Ordering: OrderAll, SameOpNoOp: true}
	for _, b := range []struct {
		key string
		to  *bool
	}{{keyNoLocks, &h.NoLocks}, {keySameSize, &h.SameSize}, {keySameUnit, &h.SameUnit}, {keyNotPacked, &h.NotContiguous}, {keyRecover, &h.Recover}} {
		switch v, ok := info.Get(b.key); {
		case !ok || v == "false":
		case v == "true":
			*b.to = true
		default:
			return h, core.NewError(core.ErrInfoValue, "%s is %q; true and false are allowed", b.key, v)
		}
	}
	switch v, ok := info.Get(keyOps); {
	case !ok || v == opsSameOrNone:
	case v == opsSame:
		h.SameOpNoOp = false
	default:
		return h, core.NewError(core.ErrInfoValue, "%s is %q; %s and %s are allowed", keyOps, v, opsSame, opsSameOrNone)
	}
	if v, ok := info.Get(keyOrdering); ok {
		o, err := parseOrdering(v)
		if err != nil {
			return h, err
		}
		h.Ordering = o
	}
	return h, nil
}

func parseOrdering(v string) (Ordering, error) {
	if v == "none" {
		return OrderNone, nil
	}
	var o Ordering
next:
	for _, word := range strings.Split(v, ",") {
		for _, x := range orderings {
			if strings.TrimSpace(word) == x.name {
				o |= x.bit
				continue next
			}
		}
		return 0, core.NewError(core.ErrInfoValue, "%s is %q; none, or a list of rar, raw, war and waw, is allowed", keyOrdering, v)
	}
	return o, nil
}

// inForce is what the program is told of: its own keys, with the values that all members go by.
func (h *Hints) inForce(given *core.Info, f Flavor) *core.Info {
	info := given.Dup()
	set := func(key, value string) { _ = info.Set(key, value) } // both are within the limits
	word := map[bool]string{true: "true", false: "false"}
	set(keyNoLocks, word[h.NoLocks])
	var o []string
	for _, x := range orderings {
		if h.Ordering&x.bit != 0 {
			o = append(o, x.name)
		}
	}
	if o == nil {
		o = []string{"none"}
	}
	set(keyOrdering, strings.Join(o, ","))
	set(keyOps, map[bool]string{true: opsSameOrNone, false: opsSame}[h.SameOpNoOp])
	set(keySameSize, word[h.SameSize])
	set(keySameUnit, word[h.SameUnit])
	if f == Shared {
		set(keyNotPacked, word[h.NotContiguous])
	}
	set(keyRecover, word[h.Recover])
	return info
}

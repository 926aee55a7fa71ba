package bml

// Fragments are shared out by weight: the path that has carried the least in relation to its weight is next. That is deterministic,
// needs no floating point and no history, since only the differences between paths are kept.

const (
	// small is what is too little to be worth weighing, in bytes: such fragments go in turn.
	small = 4 << 10
	// fine is how finely a byte's cost on a path is told: the cost on a path of all the weight.
	fine = 1 << 10
	// mostUneven bounds how unequal weights may be, so that sums do not overflow.
	mostUneven = 1 << 16
)

// Weigh gives the bulk paths their weights, in any unit. A path without one gets the least.
func (e *Endpoint) Weigh(weight func(*Path) int) {
	total := 0
	for _, p := range e.Bulk {
		total += max(weight(p), 0)
	}
	for _, p := range e.Bulk {
		w := max(weight(p), 1, (total+mostUneven-1)/mostUneven)
		p.Weight = 1 / float64(len(e.Bulk))
		if total > 0 {
			p.Weight = float64(w) / float64(total)
		}
		p.cost, p.due = uint64(max(fine*max(total, 1)/w, 1)), 0
	}
}

// NextBulk gives the path for the next fragment of a message of which left bytes remain, as its position in Bulk, among those whose bit in
// tried is not set; -1 when there is none.
func (e *Endpoint) NextBulk(left int64, tried uint64) int {
	if left <= small {
		for range e.Bulk {
			if e.next++; e.next >= len(e.Bulk) {
				e.next = 0
			}
			if tried>>e.next&1 == 0 {
				return e.next
			}
		}
		return -1
	}
	best := -1
	for i, p := range e.Bulk {
		if tried>>i&1 == 0 && (best < 0 || p.due < e.Bulk[best].due) {
			best = i
		}
	}
	return best
}

// Took notes that a path has taken a fragment of n bytes.
func (e *Endpoint) Took(path *Path, n int64) {
	if len(e.Bulk) == 1 {
		return
	}
	path.due += uint64(n) * path.cost
	least := path.due
	for _, p := range e.Bulk {
		least = min(least, p.due)
	}
	if least > 0 { // what all have carried says nothing
		for _, p := range e.Bulk {
			p.due -= least
		}
	}
}

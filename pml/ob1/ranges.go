package ob1

// ranges is a set of bytes of a message: spans in order that neither overlap nor touch. Mostly it is one span that grows at its end.
type ranges struct{ list []span }

// reset makes it [0, n), and keeps its memory.
func (r *ranges) reset(n int64) {
	if r.list = r.list[:0]; n > 0 {
		r.list = append(r.list, span{0, n})
	}
}

// after gives the first span that ends at from or behind it.
func (r *ranges) after(from int64) int {
	if n := len(r.list); n == 0 || r.list[n-1].end < from {
		return n
	}
	lo, hi := 0, len(r.list)-1
	for lo < hi {
		if mid := (lo + hi) / 2; r.list[mid].end < from {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// covers reports whether all of [from, to) is in the set.
func (r *ranges) covers(from, to int64) bool {
	i := r.after(from)
	if from >= to {
		return true
	}
	if i < len(r.list) && r.list[i].end == from {
		i++ // it only touches
	}
	return i < len(r.list) && r.list[i].off <= from && to <= r.list[i].end
}

// add puts [from, to) into the set and returns how many bytes were not there.
func (r *ranges) add(from, to int64) int64 {
	if from >= to {
		return 0
	}
	i := r.after(from)
	j, old, all := i, int64(0), span{from, to}
	for ; j < len(r.list) && r.list[j].off <= to; j++ {
		s := r.list[j]
		old += s.end - s.off
		all = span{min(all.off, s.off), max(all.end, s.end)}
	}
	if i == j {
		r.list = append(r.list, span{})
		copy(r.list[i+1:], r.list[i:])
		r.list[i] = all
		return to - from
	}
	r.list[i] = all
	r.list = append(r.list[:i+1], r.list[j:]...)
	return all.end - all.off - old
}

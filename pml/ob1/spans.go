package ob1

// span is a range of a message: [off, end).
type span struct{ off, end int64 }

// maxSpans bounds how scattered a peer may ask for a message: as many parts as it may have under way.
const maxSpans = 1024

// leastSpan is how long parts must be of which more may wait to be sent, as many as could not be written: what they take is little beside them.
const leastSpan = 512

// spans is a set of bytes of a message, as sorted ranges that do not touch.
type spans struct {
	list  []span
	bytes int64
}

func (s *spans) reset() { s.list, s.bytes = s.list[:0], 0 }

// end is where the last range ends.
func (s *spans) end() int64 {
	if n := len(s.list); n > 0 {
		return s.list[n-1].end
	}
	return 0
}

// add enters n bytes at off; false when some are there already, or it would be too scattered.
func (s *spans) add(off, n int64) bool {
	i := len(s.list) // of the first range behind the new one
	for i > 0 && s.list[i-1].off >= off+n {
		i--
	}
	below := i > 0 && s.list[i-1].end == off
	above := i < len(s.list) && s.list[i].off == off+n
	switch {
	case i > 0 && s.list[i-1].end > off:
		return false
	case below && above:
		s.list[i-1].end = s.list[i].end
		s.list = append(s.list[:i], s.list[i+1:]...)
	case below:
		s.list[i-1].end = off + n
	case above:
		s.list[i].off = off
	case len(s.list) == maxSpans:
		return false
	default:
		s.list = append(s.list, span{})
		copy(s.list[i+1:], s.list[i:])
		s.list[i] = span{off, off + n}
	}
	s.bytes += n
	return true
}

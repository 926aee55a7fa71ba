package unimem

import (
	"fmt"
	"slices"
	"sync"
)

// heap gives out ranges of the dmable memory: first fit, neighbours joined. It is not for the hot path, and any goroutine may use it.
type heap struct {
	mu    sync.Mutex // a leaf
	size  int64
	spare []span // free ranges by offset, never adjacent
	taken map[int64]int64
}

type span struct{ off, n int64 }

func (h *heap) init(size int64) {
	h.size, h.spare, h.taken = size, []span{{0, size}}, make(map[int64]int64)
}

// alloc takes n bytes; what is a page or more begins with one, the rest with a line.
func (h *heap) alloc(n int64) (int64, error) {
	if n < 0 || n > h.size {
		return 0, h.none(n)
	}
	unit := int64(line)
	if n >= Page {
		unit = Page
	}
	need := max((n+unit-1)&^(unit-1), unit)
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, s := range h.spare {
		off := (s.off + unit - 1) &^ (unit - 1)
		if off+need > s.off+s.n {
			continue
		}
		var rest []span
		if off > s.off {
			rest = append(rest, span{s.off, off - s.off})
		}
		if end := off + need; end < s.off+s.n {
			rest = append(rest, span{end, s.off + s.n - end})
		}
		h.spare = slices.Replace(h.spare, i, i+1, rest...)
		h.taken[off] = need
		return off, nil
	}
	return 0, h.none(n)
}

func (h *heap) none(n int64) error {
	return fmt.Errorf("unimem: no room for %d of %d bytes of dmable memory; raise btl_unimem_memory", n, h.size)
}

// free gives back the range that begins at off; it reports false when none does.
func (h *heap) free(off int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	n, ok := h.taken[off]
	if !ok {
		return false
	}
	delete(h.taken, off)
	i, _ := slices.BinarySearchFunc(h.spare, off, func(s span, off int64) int { return int(min(max(s.off-off, -1), 1)) })
	h.spare = slices.Insert(h.spare, i, span{off, n})
	if i+1 < len(h.spare) && h.spare[i+1].off == off+n {
		h.spare[i].n += h.spare[i+1].n
		h.spare = slices.Delete(h.spare, i+1, i+2)
	}
	if i > 0 && h.spare[i-1].off+h.spare[i-1].n == off {
		h.spare[i-1].n += h.spare[i].n
		h.spare = slices.Delete(h.spare, i, i+1)
	}
	return true
}

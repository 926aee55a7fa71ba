package elem

import (
	"sync/atomic"
	"unsafe"

	"github.com/ompi-go/ompi-go/datatype"
)

// blockWords is how many words are computed at once: all are loaded, then the operation runs over them as a plain loop, then each is stored by compare-and-swap. A word
// that changed meanwhile is done again alone.
const blockWords = 32

// change does n elements; old may be nil.
func (c Code) change(mem, operand, old unsafe.Pointer, n int64, l *Locks) {
	size := c.Size()
	switch {
	case n <= 0:
	case c.Pair():
		c.pairs(mem, operand, old, n, size, l)
	case size > 8 || uintptr(mem)&uintptr(size-1) != 0:
		c.underLock(mem, operand, old, n, size, l)
	case size == 8:
		c.words(mem, operand, old, n)
	default:
		c.small(mem, operand, old, n, size)
	}
}

// small does aligned elements of 1, 2 or 4 bytes: in whole words of eight bytes, and in words of four before the first and after the last of these.
func (c Code) small(mem, operand, old unsafe.Pointer, n, size int64) {
	for n > 0 {
		m := min(n, (4-int64(uintptr(mem)&3))/size)
		if w := n * size / 8; w > 0 && uintptr(mem)&7 == 0 {
			c.words(mem, operand, old, w)
			m = w * 8 / size
		} else {
			c.part(mem, operand, old, m*size, size)
		}
		if n -= m; n == 0 {
			return // behind the last element there may be other memory, which must not be pointed at
		}
		mem, operand, old = unsafe.Add(mem, m*size), behind(operand, m*size), behind(old, m*size)
	}
}

// part does the elements in bytes bytes at mem, which lie in one aligned word of four.
func (c Code) part(mem, operand, old unsafe.Pointer, bytes, size int64) {
	at := int64(uintptr(mem) & 3)
	p := (*uint32)(unsafe.Add(mem, -at))
	var with, mask, was uint32
	if operand != nil {
		move(unsafe.Add(unsafe.Pointer(&with), at), operand, bytes)
	}
	if bytes == 4 && c.plainSum() {
		was = atomic.AddUint32(p, with) - with
	} else {
		ones := ^uint32(0)
		move(unsafe.Add(unsafe.Pointer(&mask), at), unsafe.Pointer(&ones), bytes)
		for {
			was = atomic.LoadUint32(p)
			now := was
			c.calc(unsafe.Pointer(&with), unsafe.Pointer(&now), 4/size)
			now = now&mask | was&^mask
			if now == was || atomic.CompareAndSwapUint32(p, was, now) {
				break
			}
		}
	}
	if old != nil {
		move(old, unsafe.Add(unsafe.Pointer(&was), at), bytes)
	}
}

// plainSum tells sums of integers of 4 or 8 bytes, for which there is an instruction.
func (c Code) plainSum() bool {
	switch c {
	case code(opSum, datatype.KindInt64), code(opSum, datatype.KindUint64), code(opSum, datatype.KindInt32), code(opSum, datatype.KindUint32):
		return true
	}
	return false
}

// words does n aligned words of eight bytes, each one element or several.
func (c Code) words(mem, operand, old unsafe.Pointer, n int64) {
	switch op := c.op(); {
	case c.Size() == 8 && c.plainSum():
		for i := range n {
			v := load64(unsafe.Add(operand, i*8))
			was := atomic.AddUint64((*uint64)(unsafe.Add(mem, i*8)), v) - v
			if old != nil {
				store64(unsafe.Add(old, i*8), was)
			}
		}
		return
	case op == opReplace && old == nil:
		for i := range n {
			atomic.StoreUint64((*uint64)(unsafe.Add(mem, i*8)), load64(unsafe.Add(operand, i*8)))
		}
		return
	case op == opReplace:
		for i := range n {
			was := atomic.SwapUint64((*uint64)(unsafe.Add(mem, i*8)), load64(unsafe.Add(operand, i*8)))
			store64(unsafe.Add(old, i*8), was)
		}
		return
	case op == opNoOp:
		for i := int64(0); old != nil && i < n; i++ {
			store64(unsafe.Add(old, i*8), atomic.LoadUint64((*uint64)(unsafe.Add(mem, i*8))))
		}
		return
	case n == 1:
		was := c.word((*uint64)(mem), load64(operand))
		if old != nil {
			store64(old, was)
		}
		return
	}
	for n > 0 {
		m := min(n, blockWords)
		c.block(mem, operand, old, m)
		if n -= m; n == 0 {
			return
		}
		mem, operand, old = unsafe.Add(mem, m*8), behind(operand, m*8), behind(old, m*8)
	}
}

// word does one word and returns what it was.
func (c Code) word(p *uint64, with uint64) uint64 {
	lanes := 8 / c.Size()
	for {
		was := atomic.LoadUint64(p)
		now := was
		c.calc(unsafe.Pointer(&with), unsafe.Pointer(&now), lanes)
		if now == was || atomic.CompareAndSwapUint64(p, was, now) {
			return was
		}
	}
}

// block does at most blockWords words.
func (c Code) block(mem, operand, old unsafe.Pointer, n int64) {
	var with, was, now [blockWords]uint64
	move(unsafe.Pointer(&with), operand, n*8)
	for i := range n {
		was[i] = atomic.LoadUint64((*uint64)(unsafe.Add(mem, i*8)))
	}
	now = was
	c.calc(unsafe.Pointer(&with), unsafe.Pointer(&now), n*8/c.Size())
	for i := range n {
		p := (*uint64)(unsafe.Add(mem, i*8))
		if now[i] != was[i] && !atomic.CompareAndSwapUint64(p, was[i], now[i]) {
			was[i] = c.word(p, with[i])
		}
	}
	if old != nil {
		move(old, unsafe.Pointer(&was), n*8)
	}
}

// underLock does elements without an instruction, those that begin in the same stripe together.
func (c Code) underLock(mem, operand, old unsafe.Pointer, n, size int64, l *Locks) {
	var with, was, now [(stripeBytes + 16) / 8]uint64
	for n > 0 {
		room := stripeBytes - int64(uintptr(mem)&(stripeBytes-1))
		m := min(n, (room+size-1)/size)
		bytes := m * size
		if operand != nil {
			move(unsafe.Pointer(&with), operand, bytes)
		}
		s := l.of(mem)
		s.lock()
		move(unsafe.Pointer(&was), mem, bytes)
		if c.op() != opNoOp {
			now = was
			c.calc(unsafe.Pointer(&with), unsafe.Pointer(&now), m)
			move(mem, unsafe.Pointer(&now), bytes)
		}
		s.unlock()
		if old != nil {
			move(old, unsafe.Pointer(&was), bytes)
		}
		if n -= m; n == 0 {
			return
		}
		mem, operand, old = unsafe.Add(mem, bytes), behind(operand, bytes), behind(old, bytes)
	}
}

// pair is one pair out of memory: what no operation looks at stays 0.
type pair struct {
	words [2]uint64
}

// get and put move the value and the index, and leave the gaps.
func (p *pair) get(mem unsafe.Pointer, value, index int64) {
	b := unsafe.Pointer(&p.words)
	move(b, mem, value)
	move(unsafe.Add(b, index), unsafe.Add(mem, index), 4)
}

func (p *pair) put(mem unsafe.Pointer, value, index int64) {
	b := unsafe.Pointer(&p.words)
	move(mem, b, value)
	move(unsafe.Add(mem, index), unsafe.Add(b, index), 4)
}

// pairs does pairs one after the other, under lock.
func (c Code) pairs(mem, operand, old unsafe.Pointer, n, size int64, l *Locks) {
	value, index := int64(c.kind().Size()), indexOf(c.kind())
	for i := range n {
		var with, was, now pair
		if operand != nil {
			with.get(unsafe.Add(operand, i*size), value, index)
		}
		p := unsafe.Add(mem, i*size)
		s := l.of(p)
		s.lock()
		was.get(p, value, index)
		if c.op() != opNoOp {
			now = was
			c.calc(unsafe.Pointer(&with), unsafe.Pointer(&now), 1)
			now.put(p, value, index)
		}
		s.unlock()
		if old != nil {
			was.put(unsafe.Add(old, i*size), value, index)
		}
	}
}

// CompareSwap puts value into mem if compare is there; old gets what was there. For codes of Swap. Bits are compared: a NaN equals itself, and -0 is not 0.
func (c Code) CompareSwap(mem, compare, value, old unsafe.Pointer, l *Locks) {
	size := c.Size()
	aligned := uintptr(mem)&uintptr(size-1) == 0
	switch {
	case size == 8 && aligned:
		p, test, then := (*uint64)(mem), load64(compare), load64(value)
		for {
			was := atomic.LoadUint64(p)
			if was != test || atomic.CompareAndSwapUint64(p, was, then) {
				store64(old, was)
				return
			}
		}
	case size <= 4 && aligned:
		swapPart(mem, compare, value, old, size)
	default:
		swapLocked(mem, compare, value, old, size, l)
	}
}

// swapPart is CompareSwap of an element within an aligned word of four bytes.
func swapPart(mem, compare, value, old unsafe.Pointer, size int64) {
	at := int64(uintptr(mem) & 3)
	p := (*uint32)(unsafe.Add(mem, -at))
	var test, then, mask uint32
	ones := ^uint32(0)
	move(unsafe.Add(unsafe.Pointer(&test), at), compare, size)
	move(unsafe.Add(unsafe.Pointer(&then), at), value, size)
	move(unsafe.Add(unsafe.Pointer(&mask), at), unsafe.Pointer(&ones), size)
	for {
		was := atomic.LoadUint32(p)
		if was&mask != test || atomic.CompareAndSwapUint32(p, was, was&^mask|then) {
			move(old, unsafe.Add(unsafe.Pointer(&was), at), size)
			return
		}
	}
}

func swapLocked(mem, compare, value, old unsafe.Pointer, size int64, l *Locks) {
	var test, then, was [2]uint64
	move(unsafe.Pointer(&test), compare, size)
	move(unsafe.Pointer(&then), value, size)
	s := l.of(mem)
	s.lock()
	move(unsafe.Pointer(&was), mem, size)
	if was == test {
		move(mem, unsafe.Pointer(&then), size)
	}
	s.unlock()
	move(old, unsafe.Pointer(&was), size)
}

// behind is p+n, and nil where there is no memory.
func behind(p unsafe.Pointer, n int64) unsafe.Pointer {
	if p == nil {
		return nil
	}
	return unsafe.Add(p, n)
}

// move copies n bytes.
func move(dst, src unsafe.Pointer, n int64) {
	copy(unsafe.Slice((*byte)(dst), n), unsafe.Slice((*byte)(src), n))
}

// load64 and store64 are for memory of the origin, which need not be aligned.
func load64(p unsafe.Pointer) (v uint64) {
	move(unsafe.Pointer(&v), p, 8)
	return v
}

func store64(p unsafe.Pointer, v uint64) { move(p, unsafe.Pointer(&v), 8) }

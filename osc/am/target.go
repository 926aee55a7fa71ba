package am

import (
	"math"
	"unsafe"

	"github.com/ompi-go/ompi-go/osc/elem"
)

// Target is a window's memory at the member where commands are carried out.
type Target struct {
	Base     unsafe.Pointer // of a dynamic window nil
	Size     int64          // in bytes
	Attached *Attached      // of a dynamic window; else nil
	Locks    *elem.Locks    // shared by all who change the memory through package elem
}

// Execute carries c out: Put, Get, Accumulate, Fetch or Swap. What is read goes to reply, of c.N bytes (nil for commands without a reply). When the status is not
// OK nothing was touched.
func (t *Target) Execute(c *Command, reply []byte) Status {
	if c.Kind == 0 || c.Kind > Swap {
		return BadForm
	}
	if c.N == 0 {
		return OK
	}
	mem, low, ok := t.memory(c)
	if !ok {
		return BadRange
	}
	j := job{c: c, locks: t.Locks, data: c.Data, reply: reply}
	if c.Runs == nil {
		j.apply(mem, c.N)
		return OK
	}
	for i := 0; i < len(c.Runs); i += RunSize {
		r := runAt(c.Runs[i:])
		for k, off := int64(0), r.off; k < r.count; k, off = k+1, off+r.stride {
			j.apply(unsafe.Add(mem, off-low), r.length)
		}
	}
	return OK
}

// memory gives the memory that c touches, and the offset low at which it begins, if all of it is there.
func (t *Target) memory(c *Command) (mem unsafe.Pointer, low int64, ok bool) {
	low, high, ok := c.span()
	if !ok {
		return nil, 0, false
	}
	mem, ok = t.Find(low, high-low)
	return mem, low, ok
}

// Find gives n bytes at off, if they lie inside the window, of a dynamic one in one attached piece.
func (t *Target) Find(off, n int64) (unsafe.Pointer, bool) {
	if t.Attached != nil {
		return t.Attached.Find(off, n)
	}
	if off < 0 || n < 0 || n > t.Size || off > t.Size-n {
		return nil, false
	}
	return unsafe.Add(t.Base, off), true
}

// span gives the bytes [low, high) that c touches; false when they are nowhere.
func (c *Command) span() (low, high int64, ok bool) {
	if c.Runs == nil {
		return c.Off, c.Off + c.N, c.Off <= math.MaxInt64-c.N
	}
	low, high = math.MaxInt64, math.MinInt64
	for i := 0; i < len(c.Runs); i += RunSize {
		r := runAt(c.Runs[i:])
		last, ok := r.last()
		if !ok {
			return 0, 0, false
		}
		low = min(low, r.off, last)
		high = max(high, r.off+r.length, last+r.length)
	}
	if low < 0 && high > math.MaxInt64+low { // wider than any memory
		return 0, 0, false
	}
	return low, high, true
}

// last is where the last of the run's blocks begins, if all of them end at numbers.
func (r *run) last() (int64, bool) {
	const end = math.MaxInt64
	if r.off > end-r.length {
		return 0, false
	}
	n := r.count - 1
	if n == 0 || r.stride == 0 {
		return r.off, true
	}
	if r.stride == math.MinInt64 {
		return 0, false
	}
	if step := max(r.stride, -r.stride); n > end/step {
		return 0, false
	}
	d := n * r.stride
	if d > 0 && r.off > end-d || d < 0 && r.off < math.MinInt64-d {
		return 0, false
	}
	last := r.off + d
	return last, last <= end-r.length
}

// job is a command under way: its data and its reply from the next run on.
type job struct {
	c           *Command
	locks       *elem.Locks
	data, reply []byte
}

// apply does a run.
func (j *job) apply(mem unsafe.Pointer, n int64) {
	c := j.c
	switch c.Kind {
	case Put:
		if n == 8 {
			*(*[8]byte)(mem) = [8]byte(j.data)
		} else {
			copy(unsafe.Slice((*byte)(mem), n), j.data[:n])
		}
		j.data = j.data[n:]
	case Get:
		copy(j.reply[:n], unsafe.Slice((*byte)(mem), n))
		j.reply = j.reply[n:]
	case Accumulate:
		c.Code.Apply(mem, unsafe.Pointer(unsafe.SliceData(j.data)), n/c.Code.Size(), j.locks)
		j.data = j.data[n:]
	case Fetch:
		var operand unsafe.Pointer
		if j.data != nil {
			operand = unsafe.Pointer(unsafe.SliceData(j.data))
			j.data = j.data[n:]
		}
		c.Code.Fetch(mem, operand, unsafe.Pointer(unsafe.SliceData(j.reply)), n/c.Code.Size(), j.locks)
		j.reply = j.reply[n:]
	case Swap:
		compare := unsafe.Pointer(unsafe.SliceData(j.data))
		c.Code.CompareSwap(mem, compare, unsafe.Add(compare, n), unsafe.Pointer(unsafe.SliceData(j.reply)), j.locks)
	}
}

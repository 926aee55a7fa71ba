package am

import (
	"unsafe"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/osc/elem"
)

// Spec is an operation to be cut into commands. Its buffers are the program's.
type Spec struct {
	Kind    Kind        // Put, Get, Accumulate, Fetch or Swap
	Code    elem.Code   // of accumulating kinds
	Origin  core.Buffer // of Put, Accumulate, Swap; of Fetch the zero Buffer for NoOp
	Compare core.Buffer // of Swap
	Off     int64       // where the first element of Type begins in the target's window
	Count   int64
	Type    *datatype.Type // at the target
	ID      uint64
	Arch    datatype.Arch // in which the target has its memory
}

// Cutter cuts an operation into commands. It allocates nothing, and may be part of a longer-lived object, which keeps the operation's memory alive.
type Cutter struct {
	spec  Spec
	runs  datatype.Runs
	conv  datatype.Convertor // of the origin's memory
	whole bool               // elements go as they lie at the target, gaps included: see Whole
	unit  int64              // commands end at multiples of it
	off   int64              // of the run at the target that is next,
	n     int64              // of so many bytes
	pos   int64              // of the operation's data, this has gone
	total int64              // of so much
}

// mostCut is where a put may be cut inside a run.
const mostCut = 16

// Whole reports whether elements of t travel as they lie in memory, gaps included, when they are accumulated by code: the pairs of MaxLoc and MinLoc do, which
// change as a whole.
func Whole(code elem.Code, t *datatype.Type) bool {
	if code == 0 {
		return false
	}
	k, ok := t.Homogeneous()
	return !ok && code.Size() > 1 || ok && int64(k.Size()) != code.Size()
}

// Init begins with s. The sizes of its buffers agree with Count and Type; a type of which Whole is true has the extent of the code's elements (else false).
func (c *Cutter) Init(s *Spec) (ok bool) {
	c.spec = *s
	c.whole, c.pos, c.off, c.n = Whole(s.Code, s.Type), 0, 0, 0
	c.unit = mostCut
	if s.Code != 0 {
		c.unit = s.Code.Size()
	}
	if c.whole {
		lb, extent := s.Type.Extent()
		if extent != c.unit || lb != 0 {
			return false
		}
		c.total = s.Count * extent
		c.n = c.total
	} else {
		c.total = s.Count * s.Type.Size()
		c.runs.Init(s.Type, s.Count)
	}
	if s.Kind != Get && s.Origin.Type() != nil {
		c.conv.PrepareFor(s.Origin.Type(), s.Origin.Count(), s.Origin.Addr(), s.Arch)
	}
	return true
}

// Total is the number of bytes of the operation as they travel: what replies add up to.
func (c *Cutter) Total() int64 { return c.total }

// Left is how many of them no command has yet.
func (c *Cutter) Left() int64 { return c.total - c.pos }

// Least is how long a command is at most that carries a single element to the target.
const Least = HeaderSize + RunSize + 32

// Next writes the next command into b, and gives its length: 0 when there is none, or b is too short for one that takes the operation on (Least is enough). Its
// reply will not be longer than reply.
func (c *Cutter) Next(b []byte, reply int) int {
	if c.pos == c.total {
		return 0
	}
	h := Command{Kind: c.spec.Kind, Code: c.spec.Code, ID: c.spec.ID, Pos: c.pos}
	if c.spec.Kind == Swap {
		return c.swap(&h, b, reply)
	}
	room, back := int64(len(b)-HeaderSize)&^(align-1), c.total
	if c.spec.Kind == Get || c.spec.Kind == Fetch {
		back = int64(reply-HeaderSize) &^ (align - 1)
	}
	carries := c.spec.Kind != Get && c.spec.Origin.Type() != nil
	if room < 0 {
		return 0
	}
	c.fill()
	runs := 0
	if c.n == c.total-c.pos { // all that is left is one run
		take := c.cut(c.n, back)
		if carries {
			take = c.cut(take, room)
		}
		h.Off, h.N = c.spec.Off+c.off, take
		c.skip(take)
	} else {
		runs = c.list(&h, b[HeaderSize:], room, back, carries)
	}
	if h.N == 0 {
		return 0
	}
	data := 0
	if carries {
		at := HeaderSize + runs*RunSize
		c.pack(b[at : at+int(h.N)])
		data = int(h.N)
	}
	c.pos += h.N
	return h.putHeader(b, runs, data)
}

// list writes runs to b until room is used up by them and the data, if it is carried, or the reply has back bytes.
func (c *Cutter) list(h *Command, b []byte, room, back int64, carries bool) (runs int) {
	var last run
	for h.N < back {
		c.fill()
		if c.n == 0 {
			break
		}
		off := c.spec.Off + c.off
		more := runs > 0 && c.n == last.length && (last.count == 1 || off == last.off+last.stride*last.count)
		take := c.cut(c.n, back-h.N)
		if more && (take < c.n || carries && c.n > room) {
			more = false
		}
		if !more {
			if room < RunSize || runs == maxRuns {
				break
			}
			if carries {
				take = c.cut(take, room-RunSize)
			}
			if take == 0 {
				break
			}
			room -= RunSize
			last = run{off: off, length: take, count: 1}
			runs++
		} else {
			if last.count == 1 {
				last.stride = off - last.off
			}
			last.count++
		}
		if carries {
			room -= take
		}
		last.put(b[(runs-1)*RunSize:])
		h.N += take
		c.skip(take)
	}
	return runs
}

// fill looks up the next run when the last is used up.
func (c *Cutter) fill() {
	if c.n == 0 && !c.whole {
		c.off, c.n = c.runs.Next(1 << 62)
	}
}

func (c *Cutter) skip(n int64) {
	c.off += n
	c.n -= n
}

// cut is n, or if that is more than most, as many whole units as most has room for.
func (c *Cutter) cut(n, most int64) int64 {
	if n <= most {
		return n
	}
	return most - most%c.unit
}

// swap writes the command of a compare-and-swap.
func (c *Cutter) swap(h *Command, b []byte, reply int) int {
	n := c.unit
	if int64(len(b)) < HeaderSize+(2*n+align-1)&^(align-1) || int64(reply) < HeaderSize+(n+align-1)&^(align-1) {
		return 0
	}
	c.fill()
	h.Off, h.N = c.spec.Off+c.off, n
	var compare datatype.Convertor
	compare.PrepareFor(c.spec.Compare.Type(), c.spec.Compare.Count(), c.spec.Compare.Addr(), c.spec.Arch)
	compare.Pack(b[HeaderSize : HeaderSize+n])
	c.conv.Pack(b[HeaderSize+n : HeaderSize+2*n])
	c.pos = c.total
	return h.putHeader(b, 0, int(2*n))
}

// pack writes the next bytes of the origin's data to b.
func (c *Cutter) pack(b []byte) {
	if !c.whole {
		c.conv.Pack(b)
		return
	}
	clear(b) // the gaps
	t := c.spec.Type
	var packed [mostCut]byte
	for at := int64(0); at < int64(len(b)); at += c.unit {
		n := c.conv.Pack(packed[:t.Size()])
		var to datatype.Convertor
		to.Prepare(t, 1, unsafe.Pointer(&b[at]))
		to.Unpack(packed[:n])
	}
}

// SetID gives the operation its name, before the first Next.
func (c *Cutter) SetID(id uint64) { c.spec.ID = id }

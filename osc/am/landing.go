package am

import (
	"unsafe"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/osc/elem"
)

// Landing is where the replies to an operation go at the origin. It may be part of a longer-lived object; the result buffer's memory is kept alive by it until Reset.
type Landing struct {
	buf   core.Buffer
	typ   *datatype.Type // of the target
	arch  datatype.Arch
	whole bool
	unit  int64
	total int64
	left  int64
}

// Init begins to wait for total bytes (Cutter.Total), for result, which has the signature of the target's type t.
func (l *Landing) Init(result core.Buffer, t *datatype.Type, code elem.Code, total int64, arch datatype.Arch) {
	*l = Landing{buf: result, typ: t, arch: arch, whole: Whole(code, t), total: total, left: total}
	if code != 0 {
		l.unit = code.Size()
	}
}

// Reset lets go of the buffer.
func (l *Landing) Reset() { *l = Landing{} }

// Left is how many bytes have not come.
func (l *Landing) Left() int64 { return l.left }

// Put stores the data of the reply c, or notes that there is none. It reports false when the reply does not belong to the operation.
func (l *Landing) Put(c *Command) bool {
	n := c.N
	if n <= 0 || c.Pos > l.total || n > l.total-c.Pos || n > l.left || l.whole && (c.Pos%l.unit != 0 || n%l.unit != 0) {
		return false
	}
	l.left -= n
	if c.Status != OK {
		return true
	}
	var conv datatype.Convertor
	conv.PrepareFor(l.buf.Type(), l.buf.Count(), l.buf.Addr(), l.arch)
	if !l.whole {
		conv.SetPosition(c.Pos)
		conv.Unpack(c.Data)
		return true
	}
	size := l.typ.Size()
	conv.SetPosition(c.Pos / l.unit * size)
	var packed [mostCut]byte
	for at := int64(0); at < n; at += l.unit {
		var from datatype.Convertor
		from.Prepare(l.typ, 1, unsafe.Pointer(&c.Data[at]))
		from.Pack(packed[:size])
		conv.Unpack(packed[:size])
	}
	return true
}

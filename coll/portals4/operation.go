package portals4

import (
	"github.com/ompi-go/ompi-go/coll/alg"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	p4 "github.com/ompi-go/ompi-go/portals4"
)

// operation is a barrier, bcast or allreduce at one rank. Everything belongs to the token.
type operation struct {
	req     core.Request
	f       *factory
	m       *module
	waited  bool // its caller waits in the call; nobody holds a handle
	running bool
	kind    alg.Kind
	root    int
	atomic  p4.AtomicOp
	typ     p4.Type
	header  uint64
	bytes   int64
	armed   int64 // bytes in rounds that are armed
	toArm   int   // rounds
	left    int   // rounds whose data has not come
	from    datatype.Convertor
	to      datatype.Convertor
	err     error
	traced  int64
	next    *operation // in module.queue
}

// Start implements core.Operation; there are no persistent ones.
func (o *operation) Start(*core.Request) error {
	return core.NewError(core.ErrRequest, "the request is not persistent")
}

// Cancel implements core.Operation: collective operations cannot be cancelled (MPI-3.1 §5.12).
func (o *operation) Cancel(*core.Request) error {
	return core.NewError(core.ErrRequest, "a collective operation cannot be cancelled")
}

// pack copies the rank's own data to a slot.
func (o *operation) pack(at int64, dst []byte) {
	if len(dst) > 0 {
		o.from.SetPosition(at)
		o.from.Pack(dst)
	}
}

// unpack copies the result from a slot.
func (o *operation) unpack(at int64, src []byte) {
	if len(src) > 0 {
		o.to.SetPosition(at)
		o.to.Unpack(src)
	}
}

// barrier, bcast and allreduce prepare o.
func (o *operation) barrier() { o.describe(alg.Barrier, 0, 0) }

func (o *operation) bcast(b core.Buffer, root int) {
	o.root = root
	o.describe(alg.Bcast, uint32(root), b.Bytes())
	o.from.Prepare(b.Type(), b.Count(), b.Addr())
	o.to = o.from
}

func (o *operation) allreduce(send, recv core.Buffer, op p4.AtomicOp, typ p4.Type) {
	if send.IsInPlace() {
		send = recv
	}
	o.atomic, o.typ = op, typ
	o.describe(alg.Allreduce, uint32(op)<<8|uint32(typ), send.Bytes())
	o.from.Prepare(send.Type(), send.Count(), send.Addr())
	o.to.Prepare(recv.Type(), send.Count(), recv.Addr()) // it may have room for more
}

func (o *operation) describe(k alg.Kind, code uint32, bytes int64) {
	seg := o.m.f.opts.Segment
	o.kind, o.bytes, o.armed, o.err = k, bytes, 0, nil
	o.header = uint64(k+1)<<56 | uint64(code&(1<<24-1))<<32 | uint64(uint32(bytes))
	o.toArm = max(1, int((bytes+seg-1)/seg))
	o.left = o.toArm
}

// disagree notes that the sender of a message is in another operation than this one.
func (o *operation) disagree(h uint64) {
	if o.err != nil {
		return
	}
	if got := h & (1<<32 - 1); o.kind == alg.Bcast && h>>32 == o.header>>32 && int64(got) > o.bytes {
		o.err = core.NewError(core.ErrTruncate, "bcast of %d bytes to a buffer of %d bytes", got, o.bytes)
		return
	}
	o.err = core.NewError(core.ErrArg, "the ranks did not call the same operation with the same size and operator or root; this one called %s of %d bytes", o.kind, o.bytes)
}

var triggered = [...]*alg.Algorithm{alg.Barrier: triggeredBarrier, alg.Bcast: triggeredBcast, alg.Allreduce: triggeredAllreduce}

// end completes o, with the error of the communicator or that of o.
func (o *operation) end(err error) {
	if err == nil {
		err = o.err
	}
	g := triggered[o.kind]
	o.running = false
	o.from, o.to = datatype.Convertor{}, datatype.Convertor{}
	if o.waited {
		o.f.Uses.End(o.traced, g, o.bytes)
		o.err = err
		o.m.comm.Engine.Complete(&o.req.Completion)
		return
	}
	o.f.Uses.EndBeside(o.traced, g, o.bytes)
	o.finish(err)
	o.m.comm.Release()
}

// finish ends the request, and keeps o for another operation.
func (o *operation) finish(err error) {
	o.req.Buf = core.Buffer{}
	o.req.Status = core.EmptyStatus()
	if len(o.f.spare) < maxSpare {
		o.f.spare = append(o.f.spare, o)
	}
	o.req.FinishErr(err)
}

// maxSpare bounds the ended operations that are kept.
const maxSpare = 256

// take gives an operation that nobody uses, with a request that is pending.
func (f *factory) take(m *module) *operation {
	o := f.unused()
	o.f, o.m = f, m
	o.req.Renew(m.comm, "", core.Undefined, core.Buffer{})
	o.req.Engine, o.req.Owner = m.comm.Engine, o
	return o
}

func (f *factory) unused() *operation {
	for i, o := range f.spare {
		if o.req.Retired() {
			last := len(f.spare) - 1
			f.spare[i], f.spare[last] = f.spare[last], nil
			f.spare = f.spare[:last]
			return o
		}
		if i == 8 { // users that keep many complete requests pay with memory, not with time
			break
		}
	}
	return new(operation)
}

package pt2pt

import (
	"unsafe"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/osc"
	"github.com/ompi-go/ompi-go/osc/am"
	"github.com/ompi-go/ompi-go/osc/elem"
)

// operation is one whose result is awaited.
type operation struct {
	p       *peer
	landing am.Landing
	req     *core.Request // of request-based operations
	status  am.Status
	gen     uint32
	index   uint32
	live    bool
}

// opTable gives operations the names that travel: index and generation.
type opTable struct {
	all  []*operation
	free []*operation
}

func (t *opTable) add() *operation {
	var o *operation
	if n := len(t.free); n > 0 {
		o = t.free[n-1]
		t.free = t.free[:n-1]
	} else {
		o = &operation{index: uint32(len(t.all))}
		t.all = append(t.all, o)
	}
	o.gen++
	o.live, o.status = true, am.OK
	return o
}

func (o *operation) id() uint64 { return uint64(o.index)<<32 | uint64(o.gen) }

// find gives the operation that a peer speaks of; nil when there is none.
func (t *opTable) find(id uint64, p *peer) *operation {
	i := id >> 32
	if i >= uint64(len(t.all)) {
		return nil
	}
	if o := t.all[i]; o.live && o.gen == uint32(id) && o.p == p {
		return o
	}
	return nil
}

func (t *opTable) remove(o *operation) {
	o.live, o.p, o.req = false, nil, nil
	o.landing.Reset()
	t.free = append(t.free, o)
}

// Issue implements osc.Module.
func (m *module) Issue(op *osc.Op) (done bool, err error) {
	if m.comm.Fault() != nil || m.broken != nil {
		if err := m.faultWith(m.peer(op.Rank)); err != nil {
			return false, err
		}
	}
	var s am.Spec
	if err := m.describe(op, &s); err != nil {
		return false, err
	}
	var c am.Cutter
	if !c.Init(&s) {
		return false, core.NewError(core.ErrType, "elements of the target's datatype cannot be accumulated as a whole; use the type of the pairs themselves")
	}
	if c.Total() == 0 {
		return true, nil
	}
	if op.Rank == m.me {
		return true, m.issueSelf(op, &s, &c)
	}
	p := m.peer(op.Rank)
	p.touch()
	if m.isLong(op, c.Total()) {
		return false, m.issueLong(op, p, c.Total())
	}
	return false, m.issueShort(op, &s, &c, p)
}

// describe says what is to be cut.
func (m *module) describe(op *osc.Op, s *am.Spec) error {
	*s = am.Spec{Origin: op.Origin, Compare: op.Compare, Off: op.Off, Count: op.Count, Type: op.Type, Arch: m.arch(op.Rank)}
	ok := true
	switch op.Kind {
	case osc.Put:
		s.Kind = am.Put
	case osc.Get:
		s.Kind = am.Get
	case osc.Accumulate:
		s.Kind = am.Accumulate
		s.Code, ok = codeOf(op.Acc, op.Type)
	case osc.GetAccumulate:
		s.Kind = am.Fetch
		s.Code, ok = codeOf(op.Acc, op.Type)
	case osc.CompareAndSwap:
		s.Kind = am.Swap
		s.Code, ok = elem.Swap(op.Type)
	}
	if !ok {
		return core.NewError(core.ErrOp, "the operation is not defined on elements of the target's datatype")
	}
	if s.Kind == am.Fetch && op.Acc == core.NoOp {
		s.Origin = core.Buffer{}
	}
	return nil
}

// codeOf is elem.Of. Elements of different kinds together are no business of accumulates (MPI-3.1 §11.3.4); their bytes can be replaced or read all the same.
func codeOf(op *core.Op, t *datatype.Type) (elem.Code, bool) {
	if c, ok := elem.Of(op, t); ok {
		return c, true
	}
	if _, same := t.Homogeneous(); !same && (op == core.Replace || op == core.NoOp) {
		return elem.Of(op, datatype.Byte)
	}
	return 0, false
}

// resultOf is where the result of an operation goes.
func resultOf(op *osc.Op) core.Buffer {
	if op.Kind == osc.Get {
		return op.Origin
	}
	return op.Result
}

// issueShort queues an operation.
func (m *module) issueShort(op *osc.Op, s *am.Spec, c *am.Cutter, p *peer) error {
	var o *operation
	var id uint64
	if s.Kind != am.Put && s.Kind != am.Accumulate {
		o = m.ops.add()
		o.p, o.req = p, op.Request
		o.landing.Init(resultOf(op), op.Type, s.Code, c.Total(), s.Arch)
		id = o.id()
		c.SetID(id)
		p.pending++
	}
	for c.Left() > 0 {
		k := p.packet()
		n := c.Next(k.room(), m.size-packetHeader)
		if n > 0 {
			k.n += n
			if o != nil {
				k.answers = true
			} else {
				p.dirty = true
			}
			continue
		}
		if err := p.makeRoom(); err != nil {
			return m.giveUp(p, id, err)
		}
	}
	switch {
	case op.Request == nil:
	case o == nil:
		op.Request.Status = core.EmptyStatus()
		op.Request.Finish()
	default: // whoever waits for the request sends nothing
		p.flush()
	}
	return nil
}

// giveUp ends an operation, called id if it has a result, that cannot be sent as a whole. What of it has gone will find nobody.
func (m *module) giveUp(p *peer, id uint64, err error) error {
	if id == 0 {
		return err
	}
	o := m.ops.find(id, p)
	if o == nil { // bury has been faster, and has told whoever has a request
		return nil
	}
	p.pending--
	m.ops.remove(o)
	return err
}

// issueSelf carries an operation on this member's own memory out.
func (m *module) issueSelf(op *osc.Op, s *am.Spec, c *am.Cutter) error {
	if s.Kind == am.Put || s.Kind == am.Get {
		if _, ok := m.target.Find(op.Off+op.Low, op.High-op.Low); !ok {
			return rangeError()
		}
		base := m.target.Base
		if m.target.Attached != nil {
			mem, _ := m.target.Find(op.Off+op.Low, op.High-op.Low)
			base = unsafe.Add(mem, -op.Low)
		} else {
			base = unsafe.Add(base, op.Off)
		}
		var here, there datatype.Convertor
		here.Prepare(op.Origin.Type(), op.Origin.Count(), op.Origin.Addr())
		there.Prepare(op.Type, op.Count, base)
		if s.Kind == am.Put {
			datatype.Copy(&there, &here)
		} else {
			datatype.Copy(&here, &there)
		}
		return nil
	}
	var landing am.Landing
	landing.Init(op.Result, op.Type, s.Code, c.Total(), datatype.ArchNative)
	command, reply := m.scratch[:m.size], m.scratch[m.size:]
	for c.Left() > 0 {
		var cmd am.Command
		if _, err := cmd.Parse(command[:c.Next(command, m.size)]); err != nil {
			return core.NewError(core.ErrIntern, "osc/pt2pt cannot read its own command: %v", err)
		}
		r := reply[:0]
		if cmd.ReplySize() > 0 {
			r = reply[:cmd.N]
		}
		if st := m.target.Execute(&cmd, r); st != am.OK {
			return errorOf(st)
		}
		if len(r) > 0 {
			landing.Put(&am.Command{Kind: am.Reply, Pos: cmd.Pos, N: cmd.N, Data: r})
		}
	}
	return nil
}

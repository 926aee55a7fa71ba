package portals4

import "github.com/ompi-go/ompi-go/btl"

// Payloads that are sent piece by piece.

// flow is a payload that is sent piece by piece.
type flow struct {
	l       *link
	next    *flow
	tag     btl.Tag
	word    uint64
	mem     *memory
	base    uint64 // in mem
	at, end uint64 // of the payload
	flying  int
	op      *op
	in      *arrival
	err     error // of a piece
}

// flowDepth is how many pieces of a payload the NAL has at a time.
const flowDepth = 8

// stream sends n bytes of mem from base piece by piece, for op or in.
func (i *Interface) stream(l *link, tag btl.Tag, word uint64, mem *memory, base, n uint64, op *op, in *arrival) {
	f := i.spare
	if f != nil {
		i.spare = f.next
	} else {
		f = new(flow)
	}
	*f = flow{l: l, tag: tag, word: word, mem: mem, base: base, end: n, op: op, in: in}
	i.linkFlow(f)
	i.pushFlows(l)
}

func (i *Interface) linkFlow(f *flow) {
	at := &f.l.flows
	for *at != nil {
		at = &(*at).next
	}
	*at = f
	f.l.wait()
}

// pushFlows sends pieces as there is room.
func (i *Interface) pushFlows(l *link) int {
	n := 0
	for at := &l.flows; *at != nil; {
		f := *at
		for f.at < f.end && f.flying < flowDepth && l.dead == nil {
			b := f.mem.at(f.base+f.at, min(f.end-f.at, uint64(l.body)))
			o := i.newOut(l, f.tag, f.word, f.at)
			o.payload(b)
			o.flow = f
			f.flying++
			f.at += uint64(len(b))
			if !i.offer(o) {
				f.flying--
				f.at -= uint64(len(b))
				o.flow, o.l = nil, nil
				o.next, i.outs = i.outs, o
				return n
			}
			n++
		}
		if f.at == f.end || l.dead != nil {
			*at = f.next // what flies ends it
			f.at = f.end
			if f.err == nil {
				f.err = l.dead
			}
			if f.flying == 0 {
				i.flowOver(f)
			}
			continue
		}
		at = &f.next
	}
	return n
}

// flowOn is the end of a piece.
func (i *Interface) flowOn(f *flow, err error) {
	if err != nil {
		f.at, f.err = f.end, err
	}
	if f.at == f.end && f.flying == 0 && !f.queued() {
		i.flowOver(f)
	}
}

func (f *flow) queued() bool {
	for g := f.l.flows; g != nil; g = g.next {
		if g == f {
			return true
		}
	}
	return false
}

// flowOver tells that all pieces are out. f is nobody's then.
func (i *Interface) flowOver(f *flow) {
	op, in, l, err := f.op, f.in, f.l, f.err
	*f = flow{next: i.spare}
	i.spare = f
	switch {
	case op != nil && op.live && op.link == l:
		i.opSent(op, err)
	case in != nil && in.live && in.l == l:
		i.replySent(in, err)
	}
}

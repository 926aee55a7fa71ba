package ompi_test

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/ompi"
)

// The steps of the metamorphic program. Every rank draws everything from the plan, in the same order, and does its part.

// message is one planned message.
type message struct {
	id, from, to, tag, size int
	mode                    int
	gaps                    bool // the receiver puts every 4 bytes into 12
}

const (
	modeStandard = iota
	modeSynchronous
	modeBuffered
	modeCount
)

func (x *player) message(w *ompi.Comm, tag int) *message {
	m := &message{id: x.id, tag: tag, from: x.plan.IntN(w.Size()), to: x.plan.IntN(w.Size()), size: x.size(), mode: x.plan.IntN(modeCount), gaps: x.plan.IntN(4) == 0}
	x.id++
	if m.mode == modeBuffered && m.size > 5000 {
		m.mode = modeStandard
	}
	return m
}

// isend starts sending a message.
func (m *message) isend(w *ompi.Comm) ompi.Request {
	b := make([]byte, m.size)
	fillMessage(b, m.id)
	switch m.mode {
	case modeSynchronous:
		return w.Issend(ompi.Slice(b), m.to, m.tag)
	case modeBuffered:
		return w.Ibsend(ompi.Slice(b), m.to, m.tag)
	}
	return w.Isend(ompi.Slice(b), m.to, m.tag)
}

// inbox is where a message is received.
type inbox struct {
	m    *message
	mem  []byte
	buf  ompi.Buffer
	gaps bool
}

func (m *message) inbox() (*inbox, error) {
	in := &inbox{m: m, gaps: m.gaps && m.size > 0 && m.size%4 == 0}
	if !in.gaps {
		in.mem = make([]byte, m.size)
		in.buf = ompi.Slice(in.mem)
		return in, nil
	}
	n := m.size / 4
	v, err := datatype.Vector(n, 4, 12, datatype.Byte)
	if err != nil {
		return nil, err
	}
	in.mem = slices.Repeat([]byte{0xEE}, 12*n)
	in.buf = ompi.Typed(in.mem, 1, v)
	return in, in.buf.Err()
}

// data is what was received, in one piece.
func (in *inbox) data() ([]byte, error) {
	if !in.gaps {
		return in.mem, nil
	}
	out := make([]byte, 0, in.m.size)
	for i := 0; i < len(in.mem); i += 12 {
		out = append(out, in.mem[i:i+4]...)
		if slices.ContainsFunc(in.mem[i+4:i+12], func(b byte) bool { return b != 0xEE }) {
			return nil, fmt.Errorf("message %d was written into a gap", in.m.id)
		}
	}
	return out, nil
}

func (x *player) take(in *inbox, st ompi.Status) error {
	b, err := in.data()
	if err != nil {
		return err
	}
	return x.checkMessage(in.m, st, b)
}

// Ways of receiving a batch.
const (
	postedExact  = iota // receives before sends
	postedSource        // the same, from AnySource: tags tell messages apart
	lateExact           // sends first; receives in an order of their own
	anyTag              // AnyTag from each source: in the order sent
	probed              // Probe, then Recv
	matchProbed         // Mprobe, then Recv
	wayCount
)

// batch sends a number of messages at once, each rank to any.
func (x *player) batch(w *ompi.Comm) error {
	way := x.plan.IntN(wayCount)
	var mine, out []*message
	base := x.id // a rank that is ahead sends the next step's messages already: AnySource must not take them
	for tag := range 1 + x.plan.IntN(12) {
		if way == anyTag {
			tag = x.plan.IntN(3)
		}
		m := x.message(w, base+tag)
		if m.to == w.Rank() {
			mine = append(mine, m)
		}
		if m.from == w.Rank() {
			out = append(out, m)
		}
	}
	order := x.plan.Uint64()
	var reqs []ompi.Request
	var boxes []*inbox
	if way == postedExact || way == postedSource {
		for _, m := range mine {
			in, err := m.inbox()
			if err != nil {
				return err
			}
			from := m.from
			if way == postedSource {
				from = ompi.AnySource
			}
			boxes = append(boxes, in)
			reqs = append(reqs, w.Irecv(in.buf, from, m.tag))
		}
	}
	var sends []ompi.Request
	for _, m := range out {
		sends = append(sends, m.isend(w))
	}
	if err := x.receive(w, way, mine, order); err != nil {
		return err
	}
	for i, r := range reqs {
		st, err := r.Wait()
		if err == nil {
			err = x.take(boxes[i], st)
		}
		if err != nil {
			return err
		}
	}
	return ompi.WaitAll(sends...)
}

// receive takes a batch's messages after they were sent.
func (x *player) receive(w *ompi.Comm, way int, mine []*message, order uint64) error {
	switch way {
	case postedExact, postedSource:
		return nil
	case anyTag:
		slices.SortStableFunc(mine, func(a, b *message) int { return a.from - b.from })
	default:
		slices.SortFunc(mine, func(a, b *message) int { return int(uint64(a.tag+1)*order>>40) - int(uint64(b.tag+1)*order>>40) })
	}
	for _, m := range mine {
		in, err := m.inbox()
		if err != nil {
			return err
		}
		var st ompi.Status
		switch way {
		case anyTag:
			st, err = w.Recv(in.buf, m.from, ompi.AnyTag)
		case probed:
			if st, err = w.Probe(ompi.AnySource, m.tag); err == nil && (st.Bytes() != int64(m.size) || st.Source != m.from) {
				err = fmt.Errorf("message %d is announced as %+v", m.id, st)
			}
			if err == nil {
				st, err = w.Recv(in.buf, st.Source, st.Tag)
			}
		case matchProbed:
			var h *ompi.Message
			if h, _, err = w.Mprobe(m.from, m.tag); err == nil {
				st, err = h.Recv(in.buf)
			}
		default:
			st, err = w.Recv(in.buf, m.from, m.tag)
		}
		if err == nil {
			err = x.take(in, st)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// pairs sends messages one after the other with blocking calls.
func (x *player) pairs() error {
	w := x.w
	for range 1 + x.plan.IntN(8) {
		m := x.message(w, x.id) // AnySource below
		if m.from == m.to {
			continue
		}
		switch w.Rank() {
		case m.from:
			b := make([]byte, m.size)
			fillMessage(b, m.id)
			send := [...]func(ompi.Buffer, int, int) error{w.Send, w.Ssend, w.Bsend}[m.mode]
			if err := send(ompi.Slice(b), m.to, m.tag); err != nil {
				return err
			}
		case m.to:
			in, err := m.inbox()
			if err != nil {
				return err
			}
			st, err := w.Recv(in.buf, ompi.AnySource, m.tag)
			if err == nil {
				err = x.take(in, st)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (x *player) numbers(n, rank int) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = int64(x.id*7 + rank*1000 + i*i)
	}
	return out
}

func (x *player) addNumbers(s []int64) {
	for _, v := range s {
		x.add(uint64(v))
	}
}

// collective does one collective operation.
func (x *player) collective(w *ompi.Comm) error {
	x.id++
	kind, root, n := x.plan.IntN(8), x.plan.IntN(x.w.Size())%w.Size(), []int{0, 1, 3, 100, 3000, 20_000}[x.plan.IntN(6)]
	op := []*ompi.Op{ompi.Sum, ompi.Max, ompi.Min, ompi.BXor}[x.plan.IntN(4)]
	in := x.numbers(n, w.Rank())
	whole := x.numbers(n*w.Size(), w.Rank())
	out, all := make([]int64, n), make([]int64, n*w.Size())
	var err error
	switch kind {
	case 0:
		err = w.Barrier()
	case 1:
		if err = w.Bcast(ompi.Slice(in), root); err == nil && !slices.Equal(in, x.numbers(n, root)) {
			err = errors.New("Bcast brought something else")
		}
		x.addNumbers(in)
	case 2:
		err = w.Reduce(ompi.Slice(in), ompi.Slice(out), op, root)
		if w.Rank() == root {
			x.addNumbers(out)
		}
	case 3:
		err = w.Allreduce(ompi.Slice(in), ompi.Slice(out), op)
		x.addNumbers(out)
	case 4:
		err = w.Gather(ompi.Slice(in), ompi.Slice(all), root)
		if w.Rank() == root {
			x.addNumbers(all)
		}
	case 5:
		err = w.Scatter(ompi.Slice(whole), ompi.Slice(out), root)
		x.addNumbers(out)
	case 6:
		err = w.Allgather(ompi.Slice(in), ompi.Slice(all))
		x.addNumbers(all)
	case 7:
		err = w.Alltoall(ompi.Slice(whole), ompi.Slice(all))
		x.addNumbers(all)
	}
	if err != nil {
		return fmt.Errorf("kind %d root %d count %d: %w", kind, root, n, err)
	}
	return nil
}

// split works on parts of the world for a while; each part draws the same plan, whose messages differ by its members.
func (x *player) split() error {
	colors := make([]int, x.w.Size())
	for i := range colors {
		if colors[i] = x.plan.IntN(3); colors[i] == 2 && x.plan.IntN(2) == 0 {
			colors[i] = ompi.Undefined
		}
	}
	key := []int{1, -1}[x.plan.IntN(2)]
	c, err := x.w.Split(colors[x.w.Rank()], key*x.w.Rank())
	if err != nil {
		return err
	}
	// The plan goes on alike at all ranks, in the communicator or not.
	plan := *x
	next := x.plan.Uint64()
	if c != nil {
		x.plan = newPlan(next)
		x.add(uint64(c.Rank())<<8 | uint64(c.Size()))
		err = x.collective(c)
		if err == nil {
			err = x.batch(c)
		}
		if e := c.Free(); err == nil {
			err = e
		}
	}
	x.plan, x.id = plan.plan, plan.id+100
	return err
}

// persistent starts the same requests several times.
func (x *player) persistent() error {
	w := x.w
	n, rounds, tag := x.size(), 1+x.plan.IntN(4), x.plan.IntN(10)
	shift := 1 + x.plan.IntN(w.Size())
	x.id += rounds
	to, from := (w.Rank()+shift)%w.Size(), (w.Rank()-shift+2*w.Size())%w.Size()
	out, in := make([]byte, n), make([]byte, n)
	init := [...]func(ompi.Buffer, int, int) ompi.Request{w.SendInit, w.SsendInit}[x.plan.IntN(2)]
	s, r := init(ompi.Slice(out), to, tag), w.RecvInit(ompi.Slice(in), from, tag)
	for round := range rounds {
		m := &message{id: x.id - round, from: from, to: w.Rank(), tag: tag, size: n}
		fillMessage(out, m.id)
		if err := ompi.StartAll(r, s); err != nil {
			return err
		}
		st := make([]ompi.Status, 2)
		if err := ompi.WaitAllStatus([]ompi.Request{r, s}, st); err != nil {
			return err
		}
		if err := x.checkMessage(m, st[0], in); err != nil {
			return err
		}
	}
	return errors.Join(s.Free(), r.Free())
}

// shift passes blocks around with Sendrecv and SendrecvReplace.
func (x *player) shift() error {
	w := x.w
	n, by, tag := x.size(), x.plan.IntN(2*w.Size()), x.plan.IntN(10)
	id := x.id
	x.id += 2 * w.Size()
	to, from := (w.Rank()+by)%w.Size(), (w.Rank()-by+2*w.Size())%w.Size()
	out, in := make([]byte, n), make([]byte, n)
	fillMessage(out, id+w.Rank())
	st, err := w.Sendrecv(ompi.Slice(out), to, tag, ompi.Slice(in), from, tag)
	if err == nil {
		err = x.checkMessage(&message{id: id + from, from: from, to: w.Rank(), tag: tag, size: n}, st, in)
	}
	if err != nil {
		return err
	}
	st, err = w.SendrecvReplace(ompi.Slice(out), to, tag, from, ompi.AnyTag)
	if err == nil {
		err = x.checkMessage(&message{id: id + from, from: from, to: w.Rank(), tag: tag, size: n}, st, out)
	}
	return err
}

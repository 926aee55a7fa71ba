package portalstest

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/ompi-go/ompi-go/portals4"
	"github.com/ompi-go/ompi-go/rte"
)

// Rank is the suite for processes of their own: each rank of the job calls it with its interface, at the same time. Between its steps the ranks wait in fences of the
// job, in which they call nothing of the interface: targets answer because the interface does.
func Rank(i *portals4.Interface, job rte.Job) (err error) {
	for _, f := range flavours {
		r := &rig{reporter: new(process), flavour: f, src: job.Rank(), dst: (job.Rank() + 1) % job.Size()}
		p := &ranked{rig: r, job: job, n: job.Size(), me: job.Rank()}
		if err := p.run(i); err != nil {
			return fmt.Errorf("rank %d, %s: %w", job.Rank(), f.name, err)
		}
	}
	return nil
}

// process reports by panicking, which run turns into an error.
type process struct{}

type failure string

func (*process) Helper()                           {}
func (*process) Log(...any)                        {}
func (*process) Cleanup(func())                    {}
func (*process) Error(args ...any)                 { panic(failure(fmt.Sprint(args...))) }
func (*process) Errorf(format string, args ...any) { panic(failure(fmt.Sprintf(format, args...))) }
func (*process) Fatal(args ...any)                 { panic(failure(fmt.Sprint(args...))) }
func (*process) Fatalf(format string, args ...any) { panic(failure(fmt.Sprintf(format, args...))) }
func (*process) Skip(args ...any)                  { panic(failure(fmt.Sprint(args...))) }
func (*process) Skipf(format string, args ...any)  { panic(failure(fmt.Sprintf(format, args...))) }

// ranked is a rig of which only one rank is in this process.
type ranked struct {
	*rig
	job   rte.Job
	n, me int
	step  string
}

func (p *ranked) run(i *portals4.Interface) (err error) {
	defer func() {
		if f, ok := recover().(failure); ok {
			err = fmt.Errorf("%s: %s", p.step, string(f))
		}
	}()
	p.nis = make([]*portals4.NI, p.n)
	ni, err := i.NI(p.options(), portals4.AnyPID, nil)
	if err != nil {
		return err
	}
	p.nis[p.me] = ni
	if p.logical {
		p.must(ni.SetJobMap())
	}
	for _, s := range []struct {
		name string
		do   func()
	}{{"first contact", p.contact}, {"put and get", p.moves}, {"tickets", p.tickets}, {"unexpected messages", p.unexpected}, {"a ring of triggered operations", p.ring}, {"flow control", p.flow}} {
		p.step = s.name
		s.do()
	}
	p.fence()
	p.must(ni.Close())
	return p.job.Fence() // nobody goes on to the next while others still are here
}

// fence waits for all ranks, and for what the engine has done to memory.
func (p *ranked) fence() {
	p.must(p.job.Fence())
	p.must(p.nis[p.me].AtomicSync())
}

// table makes a portal table entry of that index, the same at all ranks.
func (p *ranked) table(index uint32, o portals4.PTOptions, q *portals4.EQ) *portals4.PT {
	pt, err := p.nis[p.me].PTAlloc(o, q, index)
	p.must(err)
	return pt
}

func (p *ranked) name(rank int) portals4.Process { return p.nis[p.me].ProcessOf(rank) }

// contact speaks for the first time to a rank that is in a fence already: it answers, though the launcher answers it nothing then.
func (p *ranked) contact() {
	p.link(p.table(6, 0, nil), entry(make([]byte, 8), portals4.OpPut), nil)
	p.fence()
	if p.me > 0 {
		time.Sleep(50 * time.Millisecond)
		q := p.newEQ(p.me, 4)
		md := p.bind(p.me, portals4.MD{Start: make([]byte, 8), EQ: q, Options: portals4.MDEventSendDisable})
		p.must(md.Put(&portals4.Transfer{Length: 8, Target: p.name(0), PT: 6, Ack: portals4.Ack}))
		p.want(q, portals4.EventAck)
	}
	p.fence()
}

// moves puts to every rank, gets it back, and looks at what others have put here.
func (p *ranked) moves() {
	sizes := []int{0, 1, 8, 100, 4096, 70_000, 1<<20 + 3}
	room := 0
	for _, n := range sizes {
		room += n
	}
	mem := make([]byte, room*p.n)
	pt := p.table(1, 0, nil)
	p.link(pt, entry(mem, portals4.OpPut|portals4.OpGet), nil)
	p.fence()
	q := p.newEQ(p.me, 64)
	for to := range p.n {
		data, back := pattern(room, byte(p.me*16+to)), make([]byte, room)
		md := p.bind(p.me, portals4.MD{Start: data, EQ: q, Options: portals4.MDEventSendDisable})
		into := p.bind(p.me, portals4.MD{Start: back, EQ: q})
		for k, at := 0, 0; k < len(sizes); k++ {
			x := &portals4.Transfer{Offset: uint64(at), Length: uint64(sizes[k]), Target: p.name(to), PT: 1, RemoteOffset: uint64(p.me*room + at), Ack: portals4.Ack, UserPtr: k}
			p.must(md.Put(x))
			check(p.rig, "MLength", p.want(q, portals4.EventAck).MLength, x.Length)
			p.must(into.Get(x))
			check(p.rig, "MLength", p.want(q, portals4.EventReply).MLength, x.Length)
			at += sizes[k]
		}
		p.same("what was got back", back, data)
	}
	p.fence()
	for from := range p.n {
		p.same("what a rank has put", mem[from*room:][:room], pattern(room, byte(from*16+p.me)))
	}
}

// tickets are numbers that each is given to one: all ranks draw them from rank 0.
func (p *ranked) tickets() {
	const each = 100
	mem := make([]byte, 8)
	pt := p.table(2, 0, nil)
	p.link(pt, entry(mem, portals4.OpPut|portals4.OpGet), nil)
	p.fence()
	got, c := make([]byte, 8*each), p.newCT(p.me)
	md := p.bind(p.me, portals4.MD{Start: binary.NativeEndian.AppendUint64(nil, 1)})
	into := p.bind(p.me, portals4.MD{Start: got, CT: c, Options: portals4.MDEventCTReply})
	sum := p.bind(p.me, portals4.MD{Anywhere: true, CT: c, Options: portals4.MDEventCTAck})
	for k := range each {
		p.must(md.FetchAtomic(&portals4.Transfer{Length: 8, Target: p.name(0), PT: 2}, &portals4.Into{MD: into, Offset: uint64(8 * k)}, portals4.Sum, portals4.Uint64))
	}
	p.reach(c, each, 0)
	total, last := uint64(0), -1
	for k := range each {
		v := binary.NativeEndian.Uint64(got[8*k:])
		check(p.rig, "tickets grow", int(v) > last, true)
		total, last = total+v, int(v)
	}
	p.fence()
	// What all have drawn adds up to the sum of all numbers, in a counter that begins where the tickets ended.
	x := &portals4.Transfer{Mem: binary.NativeEndian.AppendUint64(nil, total), Target: p.name(0), PT: 2, Ack: portals4.CTAck}
	p.must(sum.Atomic(x, portals4.Sum, portals4.Uint64))
	p.reach(c, each+1, 0)
	p.fence()
	if p.me == 0 {
		n := uint64(each * p.n)
		check(p.rig, "sum of all tickets", binary.NativeEndian.Uint64(mem), n+n*(n-1)/2)
	}
}

// unexpected sends to the next rank, which looks for the messages later, in another order where entries match.
func (p *ranked) unexpected() {
	const each = 20
	q := p.newEQ(p.me, 256)
	pt := p.table(3, 0, q)
	mem := make([]byte, 64<<10)
	o := portals4.OpPut | portals4.EventLinkDisable | portals4.EventCommDisable
	if p.matching {
		o |= portals4.MEManageLocal
	}
	p.linkOverflow(pt, entry(mem, o), nil)
	p.fence()
	sent := p.newEQ(p.me, 2*each)
	for k := range each {
		md := p.bind(p.me, portals4.MD{Start: pattern(50*k, byte(k)), EQ: sent, Options: portals4.MDEventSendDisable})
		p.must(md.Put(&portals4.Transfer{Length: uint64(50 * k), Target: p.name(p.dst), PT: 3, MatchBits: uint64(k), HdrData: uint64(k), Ack: portals4.Ack}))
		check(p.rig, "List", p.want(sent, portals4.EventAck).List, portals4.OverflowList)
	}
	p.fence()
	for k := range each {
		want := k
		if p.matching {
			want = (k*7 + 3) % each
		}
		p.link(pt, exact(nil, portals4.OpPut|portals4.UseOnce|quiet, uint64(want)), want)
		ev := p.want(q, portals4.EventPutOverflow)
		check(p.rig, "HdrData", ev.HdrData, uint64(want))
		if p.matching {
			p.same("what came", ev.Start, pattern(50*want, byte(want)))
		}
	}
}

// ring passes a token around by operations that were armed before, while all ranks wait for their own count alone.
func (p *ranked) ring() {
	const laps = 30
	c := p.newCT(p.me)
	pt := p.table(4, 0, nil)
	e := entry(make([]byte, 8), portals4.OpPut|portals4.EventCTComm)
	e.CT = c
	p.link(pt, e, nil)
	md := p.bind(p.me, portals4.MD{Start: make([]byte, 8)})
	for lap := range laps {
		if p.me < p.n-1 || lap < laps-1 {
			p.must(md.TriggeredPut(&portals4.Transfer{Length: 8, Target: p.name(p.dst), PT: 4}, c, uint64(lap+1)))
		}
	}
	p.fence()
	if p.me == 0 {
		p.must(c.Inc(one))
	}
	p.reach(c, laps, 0)
	p.fence()
}

// flow has all ranks send more to rank 0 than its queue has room for, again and again until all is there.
func (p *ranked) flow() {
	const each = 60
	var pt *portals4.PT
	var q *portals4.EQ
	if p.me == 0 {
		q = p.newEQ(p.me, 16)
		pt = p.table(5, portals4.PTFlowCtrl, q)
		p.link(pt, entry(make([]byte, 8), portals4.OpPut|quiet), nil)
	}
	p.fence()
	sent := p.newEQ(p.me, 8)
	md := p.bind(p.me, portals4.MD{Start: make([]byte, 8), EQ: sent, Options: portals4.MDEventSendDisable})
	next, came := 0, make([]int, p.n)
	all := 0
	drain := func() {
		var ev portals4.Event
		for q != nil && q.Get(&ev) == nil {
			if ev.Type == portals4.EventPTDisabled {
				p.must(pt.Enable())
				continue
			}
			from := int(ev.HdrData >> 32)
			check(p.rig, "the next of its rank", int(uint32(ev.HdrData)), came[from])
			came[from]++
			all++
		}
	}
	for next < each {
		p.must(md.Put(&portals4.Transfer{Length: 8, Target: p.name(0), PT: 5, HdrData: uint64(p.me)<<32 | uint64(next), Ack: portals4.Ack}))
		var ev portals4.Event
		p.until("an acknowledgement", func() bool { return sent.Get(&ev) == nil })
		if ev.NIFail == portals4.OK {
			next++
		} else {
			check(p.rig, "end", ev.NIFail, portals4.PTDisabled)
			drain()
		}
	}
	p.until("all messages", func() bool { drain(); return p.me != 0 || all == each*p.n })
	p.fence()
}

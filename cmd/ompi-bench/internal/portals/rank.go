package portals

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/suite"
	"github.com/ompi-go/ompi-go/portals4"
	"github.com/ompi-go/ompi-go/rte"
)

// rank is what one rank has made for a test.
type rank struct {
	o     Options
	test  Test
	job   rte.Job
	ni    *portals4.NI
	other portals4.Process // the peer, or this rank when it is alone
	alone bool

	data, control          *portals4.PT
	dataEntry, ctlEntry    portals4.Entry
	arrived, told, fetched *notice // at the data entry, at the control entry, and at the initiator of what fetches
	mem, from, into        []byte  // the entry's memory; what is sent or brought; what atomic operations fetch
	word, wordOut          []byte  // of the control entry; sent to it
	md, intoMD, ctlMD      *portals4.MDHandle
	transfer, ctl          portals4.Transfer
	dest                   portals4.Into
	freed                  bool
}

// matchBits of the data entry; those of the control entry are one more.
const matchBits = 0x4f4d50490000

// number of events that queues have room for.
const queueSize = 4 * suite.Window

// newRank makes what a test needs; both ranks do so, and meet.
func newRank(o Options, t Test, job rte.Job, iface *portals4.Interface) (r *rank, err error) {
	r = &rank{o: o, test: t, job: job, alone: job.Size() == 1}
	defer func() {
		if err != nil {
			_ = r.free() // the first error is the one to tell
		}
	}()
	flavour := portals4.Matching | portals4.Logical
	if o.NoMatching {
		flavour = portals4.NoMatching | portals4.Logical
	}
	if r.ni, err = iface.NI(flavour, portals4.AnyPID, desired()); err != nil {
		return r, err
	}
	if err = r.ni.SetJobMap(); err != nil && !errors.Is(err, portals4.ErrIgnored) { // another test may have set it
		return r, err
	}
	r.other = r.ni.ProcessOf(job.Rank())
	if !r.alone {
		r.other = r.ni.ProcessOf(1 - job.Rank())
	}
	if t.op == matching {
		return r, r.openMatching()
	}
	_, most := t.Bounds(o.Params)
	r.mem, r.from, r.into = make([]byte, most), make([]byte, most), make([]byte, most)
	r.word, r.wordOut = make([]byte, number), make([]byte, number)
	if r.arrived, err = r.newNotice(); err != nil {
		return r, err
	}
	if r.told, err = r.newNotice(); err != nil {
		return r, err
	}
	if r.fetched, err = r.newNotice(); err != nil {
		return r, err
	}
	if r.data, r.dataEntry, err = r.open(r.mem, matchBits, r.arrived, t.op.passive()); err != nil {
		return r, err
	}
	if r.control, r.ctlEntry, err = r.open(r.word, matchBits+1, r.told, false); err != nil {
		return r, err
	}
	if err = r.bind(); err == nil && !r.alone {
		err = r.greet()
	}
	return r, err
}

// greet finds out whether the peer can be reached: what is measured makes no events that would tell.
func (r *rank) greet() (err error) {
	if err := r.job.Fence(); err != nil { // the peer's entries are there
		return err
	}
	answer, err := r.ni.EQAlloc(1)
	if err != nil {
		return err
	}
	md, err := r.ni.MDBind(&portals4.MD{Start: r.wordOut, Options: portals4.MDEventSendDisable, EQ: answer})
	if err != nil {
		return errors.Join(err, answer.Free())
	}
	t := r.ctl
	t.Ack, t.Length = portals4.Ack, 0
	var ev portals4.Event
	if err = md.Put(&t); err == nil {
		err = answer.Wait(&ev)
	}
	if err == nil && ev.NIFail != portals4.OK {
		err = fmt.Errorf("rank %d cannot be reached: %v; see portals4_nal", 1-r.job.Rank(), ev.NIFail)
	}
	err = errors.Join(err, md.Release(), answer.Free())
	if err == nil {
		err = r.hear()
	}
	if err == nil {
		err = r.meet() // the peer has its answer, too
	}
	return err
}

// desired are limits with room for the longest lists of the match test.
func desired() *portals4.Limits {
	const many = 1 << 21
	return &portals4.Limits{MaxEntries: many, MaxUnexpectedHeaders: 1 << 10, MaxMDs: 64, MaxCTs: 64, MaxEQs: 64, MaxPTIndex: 63, MaxIovecs: 16, MaxListSize: many,
		MaxTriggeredOps: 64, MaxMsgSize: 1 << 31, MaxAtomicSize: 1 << 31, MaxFetchAtomicSize: 1 << 31, MaxWAWOrderedSize: 1 << 31, MaxWAROrderedSize: 1 << 31,
		MaxVolatileSize: 1 << 10}
}

// open makes a portal table entry with one entry, which stays; quietly, where the target is to hear nothing.
func (r *rank) open(mem []byte, bits uint64, n *notice, quietly bool) (pt *portals4.PT, e portals4.Entry, err error) {
	pt, err = r.ni.PTAlloc(0, n.eq, portals4.AnyPT)
	if err != nil {
		return nil, e, err
	}
	options := portals4.OpPut | portals4.OpGet | portals4.EventLinkDisable | portals4.EventUnlinkDisable
	ct := n.ct
	switch {
	case quietly:
		options |= portals4.EventCommDisable
		ct = nil
	case ct != nil:
		options |= portals4.EventCommDisable | portals4.EventCTComm
	}
	if r.o.NoMatching {
		e, err = pt.LEAppend(&portals4.LE{Start: mem, CT: ct, UID: portals4.AnyUID, Options: options}, portals4.PriorityList, nil)
	} else {
		e, err = pt.MEAppend(&portals4.ME{Start: mem, CT: ct, UID: portals4.AnyUID, Options: options, MatchID: portals4.AnyProcess, MatchBits: bits}, portals4.PriorityList, nil)
	}
	return pt, e, err
}

// bind makes the memory descriptors and the transfers. Portal table entries are made in the same order by both ranks, so that
// they have the same indices.
func (r *rank) bind() (err error) {
	silent := &portals4.MD{Start: r.from, Options: portals4.MDEventSendDisable}
	noisy := &portals4.MD{Start: r.from, Options: portals4.MDEventSendDisable, EQ: r.fetched.eq, CT: r.fetched.ct}
	if r.fetched.ct != nil {
		noisy.Options |= portals4.MDEventCTReply
	}
	if r.test.op == get {
		silent = noisy
	}
	if r.md, err = r.ni.MDBind(silent); err != nil {
		return err
	}
	if r.test.op == fetch {
		noisy.Start = r.into
		if r.intoMD, err = r.ni.MDBind(noisy); err != nil {
			return err
		}
		r.dest = portals4.Into{MD: r.intoMD}
	}
	if r.ctlMD, err = r.ni.MDBind(&portals4.MD{Start: r.wordOut, Options: portals4.MDEventSendDisable}); err != nil {
		return err
	}
	r.transfer = portals4.Transfer{Target: r.other, PT: r.data.Index(), MatchBits: matchBits}
	r.ctl = portals4.Transfer{Target: r.other, PT: r.control.Index(), MatchBits: matchBits + 1}
	return nil
}

// fitting are the sizes that the interface can do; those that the user asked for must be.
func (r *rank) fitting(sizes []int64, asked bool) ([]int64, error) {
	l := r.ni.Limits()
	most := l.MaxMsgSize
	switch r.test.op {
	case atomic:
		most = l.MaxAtomicSize
	case fetch:
		most = l.MaxFetchAtomicSize
	case matching:
		most = uint64(min(l.MaxEntries, l.MaxListSize))
	}
	for i, size := range sizes {
		if uint64(size) <= most {
			continue
		}
		if asked || i == 0 {
			return nil, fmt.Errorf("-m %d: this interface goes up to %d here", size, most)
		}
		return sizes[:i], nil
	}
	return sizes, nil
}

// agree gives both ranks the number of rank 0.
func (r *rank) agree(n uint64) (uint64, error) {
	switch {
	case r.alone:
		return n, nil
	case r.job.Rank() == 0:
		binary.LittleEndian.PutUint64(r.wordOut, n)
		r.ctl.Length = number
		return n, r.ctlMD.Put(&r.ctl)
	}
	if err := r.hear(); err != nil {
		return 0, err
	}
	n = binary.LittleEndian.Uint64(r.word)
	return n, r.handOver()
}

// nudge tells the peer that something is over, and hear waits for that.
func (r *rank) nudge() error {
	r.ctl.Length = 0
	return r.ctlMD.Put(&r.ctl)
}

func (r *rank) hear() error { return r.told.wait(1) }

// meet is a barrier, in which the interface moves, also where it has no agent.
func (r *rank) meet() error {
	if r.alone {
		return nil
	}
	if err := r.nudge(); err != nil {
		return err
	}
	return r.hear()
}

// handOver tells Go's memory model that what this goroutine has read of and written to memory comes before what the interface will
// write there: the peer knows, but the news takes a way that Go cannot see. Any call does.
func (r *rank) handOver() error {
	_, err := r.ni.Status(portals4.DropCount)
	return err
}

// free gives everything back. The interface itself stays.
func (r *rank) free() error {
	if r.freed {
		return nil
	}
	r.freed = true
	var errs []error
	for _, md := range []*portals4.MDHandle{r.md, r.intoMD, r.ctlMD} {
		if md != nil {
			errs = append(errs, md.Release())
		}
	}
	for _, e := range []portals4.Entry{r.dataEntry, r.ctlEntry} {
		if e != (portals4.Entry{}) {
			errs = append(errs, e.Unlink())
		}
	}
	for _, pt := range []*portals4.PT{r.data, r.control} {
		if pt != nil {
			errs = append(errs, pt.Free())
		}
	}
	for _, n := range []*notice{r.arrived, r.told, r.fetched} {
		if n != nil {
			errs = append(errs, n.free())
		}
	}
	return errors.Join(errs...)
}

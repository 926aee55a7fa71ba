package portals4

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/ompi-go/ompi-go/core"
)

// victim prepares an interface with entries, an announced put and a get under way, as somebody might attack it.
func victim(i *Interface) (*link, error) {
	ni, err := i.NI(Matching|Logical, AnyPID, nil)
	if err != nil {
		return nil, err
	}
	if err := ni.SetJobMap(); err != nil {
		return nil, err
	}
	eq, err := ni.EQAlloc(16)
	if err != nil {
		return nil, err
	}
	pt, err := ni.PTAlloc(0, eq, 4)
	if err != nil {
		return nil, err
	}
	for k, list := range []List{PriorityList, OverflowList} {
		if _, err := pt.MEAppend(&ME{Start: make([]byte, 4096), UID: AnyUID, Options: OpPut | OpGet, MatchID: AnyProcess, MatchBits: uint64(k)}, list, nil); err != nil {
			return nil, err
		}
	}
	md, err := ni.MDBind(&MD{Start: make([]byte, 1<<16), EQ: eq})
	if err != nil {
		return nil, err
	}
	x := Transfer{Length: 1 << 16, Ack: Ack, Target: Rank(1), PT: 9}
	if err := md.Put(&x); err != nil {
		return nil, err
	}
	if err := md.Get(&x); err != nil {
		return nil, err
	}
	i.engine.Lock()
	defer i.engine.Unlock()
	i.links[1].greet = true
	return i.links[1], nil
}

// FuzzPeer: whatever a peer sends, nothing fails but the trust in it.
func FuzzPeer(f *testing.F) {
	f.Add([]byte{2, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) > 4096 {
			return
		}
		together(t, 2, "local", func(i *Interface, rank int) error {
			if rank != 0 {
				return nil
			}
			l, err := victim(i)
			if err != nil {
				return err
			}
			i.engine.Lock()
			defer i.engine.Unlock()
			for len(script) > 2 {
				tag, n := script[0]%9, min(int(script[1]), len(script)-2)
				msg := script[2 : 2+n]
				script = script[2+n:]
				hdr, payload := msg, []byte(nil)
				if len(msg) > 16 && tag&1 == 0 {
					hdr, payload = msg[:16], msg[16:]
				}
				if len(hdr) >= 8 && tag == uint8(tagRequest) { // a number that is expected
					binary.LittleEndian.PutUint16(hdr[6:], l.await)
				}
				if h := i.nals.Dispatch.Handlers[tag]; h != nil {
					h.Receive(1, hdr, payload)
				}
				l.dead = nil
			}
			i.failed(l, errors.New("done with it"))
			return nil
		})
	})
}

// TestPeerFails: everything under way with a process that is gone ends as undeliverable, and later operations at once.
func TestPeerFails(t *testing.T) {
	together(t, 2, "local", func(i *Interface, rank int) error {
		if rank != 0 {
			return nil
		}
		ni, err := i.NI(Matching|Logical, AnyPID, nil)
		if err != nil {
			return err
		}
		if err := ni.SetJobMap(); err != nil {
			return err
		}
		eq, err := ni.EQAlloc(16)
		if err != nil {
			return err
		}
		ct, err := ni.CTAlloc()
		if err != nil {
			return err
		}
		md, err := ni.MDBind(&MD{Start: make([]byte, 1<<16), EQ: eq, CT: ct, Options: MDEventCTAck | MDEventCTReply | MDEventCTSend})
		if err != nil {
			return err
		}
		told := 0
		i.OnFailure(func(p *core.Proc, _ error) { told += p.Rank })
		x := Transfer{Length: 1 << 16, Ack: Ack, Target: Rank(1), PT: 9}
		i.engine.Lock() // the peer shall not answer in time
		i.held = true
		for range 2 {
			if err := errors.Join(md.Put(&x), md.Get(&x)); err != nil {
				return err
			}
			i.ProcFailed(i.env.Procs[1])
		}
		i.held = false
		i.engine.Unlock()
		var ev Event
		for k := range 4 {
			if err := eq.Wait(&ev); err != nil || ev.NIFail != Undeliverable || ev.Type != EventSend && ev.Type != EventReply {
				t.Errorf("event %d: %v, %v", k, &ev, err)
			}
		}
		v, err := ct.Wait(4)
		if err != nil || v != (CTEvent{Failure: 4}) || told != 1 {
			t.Errorf("counted %+v, %v; told %d", v, err, told)
		}
		return md.Release()
	})
}

// TestNoAllocations: a message costs no allocation at either end.
func TestNoAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	together(t, 2, "local", func(i *Interface, rank int) error {
		ni, err := i.NI(Matching|Logical, AnyPID, nil)
		if err != nil {
			return err
		}
		if err := ni.SetJobMap(); err != nil {
			return err
		}
		eq, err := ni.EQAlloc(256)
		if err != nil {
			return err
		}
		pt, err := ni.PTAlloc(0, eq, 4)
		if err != nil {
			return err
		}
		me := ME{Start: make([]byte, 1<<16), UID: AnyUID, Options: OpPut | OpGet | UseOnce | EventLinkDisable | EventUnlinkDisable, MatchID: AnyProcess}
		md, err := ni.MDBind(&MD{Start: make([]byte, 1<<16), EQ: eq})
		if err != nil {
			return err
		}
		var ev Event
		step := func(n uint64) error {
			x := Transfer{Length: n, Ack: Ack, Target: Rank(1 - rank), PT: 4}
			if _, err := pt.MEAppend(&me, PriorityList, nil); err != nil {
				return err
			}
			if rank == 0 {
				if err := md.Put(&x); err != nil {
					return err
				}
			}
			for seen := 0; ; { // rank 0: SEND, ACK and PUT; rank 1: PUT, then the same way back
				if err := eq.Wait(&ev); err != nil {
					return err
				}
				if ev.NIFail != OK {
					return errors.New(ev.String())
				}
				if seen++; ev.Type == EventPut && rank == 1 {
					if err := md.Put(&x); err != nil {
						return err
					}
				}
				if seen == 3 {
					return nil
				}
			}
		}
		if _, err := pt.MEAppend(&me, PriorityList, nil); err != nil { // so that there is always one
			return err
		}
		if err := i.env.Job.Fence(); err != nil {
			return err
		}
		for _, n := range []uint64{8, 2000, 50000} {
			var failed error
			run := func() {
				if err := step(n); err != nil && failed == nil {
					failed = err
				}
			}
			for range 200 {
				run()
			}
			if got := testing.AllocsPerRun(300, run); got > 0.1 {
				t.Errorf("rank %d: %v allocations a round of %d bytes", rank, got, n)
			}
			if failed != nil {
				return failed
			}
		}
		return nil
	})
}

// Portals4 uses the Portals 4 interface without MPI: neither package ompi nor a PML is linked in. Every rank sends the next a greeting,
// which is one put with events at both ends. Then a token goes once around all ranks by triggered puts: nobody but the interfaces passes it
// on, while all ranks but the first wait for something else.
//
//	mpirun -n 2 ./examples/portals4
//	mpirun -n 4 --mca portals4_nal tcp ./examples/portals4
package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	_ "github.com/ompi-go/ompi-go/btl/sm" // what may carry the messages
	_ "github.com/ompi-go/ompi-go/btl/tcp"
	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/portals4"
	"github.com/ompi-go/ompi-go/rte"
)

// The portal table entries that all ranks agree upon.
const (
	greetings = 5
	tokens    = 6
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "portals4:", err)
		os.Exit(1)
	}
}

func run() error {
	job, err := rte.Join(rte.Options{})
	if err != nil {
		return err
	}
	if job.Size() < 2 {
		return errors.New("the job has one rank; start it by mpirun -n 2")
	}
	reg, err := mca.NewRegistry()
	if err != nil {
		return err
	}
	params, err := mca.Load(reg, mca.DefaultInput())
	if err != nil {
		return err
	}
	iface, err := portals4.Open(portals4.Config{Job: job, Registry: reg, Params: params})
	if err != nil {
		return err
	}
	ni, err := iface.NI(portals4.Matching|portals4.Logical, portals4.AnyPID, nil)
	if err != nil {
		return err
	}
	if err := ni.SetJobMap(); err != nil { // rank N of the interface is rank N of the job
		return err
	}
	for _, part := range []func(rte.Job, *portals4.NI) error{greet, pass} {
		if err := part(job, ni); err != nil {
			return err
		}
	}
	if err := job.Fence(); err != nil { // nobody needs this rank's interface any more
		return err
	}
	if err := iface.Close(); err != nil {
		return err
	}
	return job.Finalize()
}

// greet has every rank put a greeting into memory of the next.
func greet(job rte.Job, ni *portals4.NI) error {
	eq, err := ni.EQAlloc(16)
	if err != nil {
		return err
	}
	pt, err := ni.PTAlloc(0, eq, greetings)
	if err != nil {
		return err
	}
	const kind = 0x6700 // of match bits; the lowest byte, which is not compared, is the sender's
	if _, err := pt.MEAppend(&portals4.ME{
		Start: make([]byte, 64), UID: portals4.AnyUID, MatchID: portals4.AnyProcess, MatchBits: kind, IgnoreBits: 0xff, Options: portals4.OpPut | portals4.UseOnce,
	}, portals4.PriorityList, "the guest book"); err != nil {
		return err
	}
	var ev portals4.Event
	if err := eq.Wait(&ev); err != nil || ev.Type != portals4.EventLink {
		return fmt.Errorf("linking the entry: %v, %w", ev.Type, err)
	}
	if err := job.Fence(); err != nil { // all entries are there
		return err
	}
	me := job.Rank()
	text := fmt.Appendf(nil, "greetings from rank %d", me)
	md, err := ni.MDBind(&portals4.MD{Start: text, EQ: eq})
	if err != nil {
		return err
	}
	if err := md.Put(&portals4.Transfer{Length: uint64(len(text)), Ack: portals4.Ack, Target: portals4.Rank((me + 1) % job.Size()), PT: greetings,
		MatchBits: kind | uint64(me&0xff), UserPtr: "our text"}); err != nil {
		return err
	}
	// SEND: the text is ours again; ACK: it has come; PUT: and so has the other's; AUTO_UNLINK: the entry was used up.
	for range 4 {
		if err := eq.Wait(&ev); err != nil {
			return err
		}
		if ev.NIFail != portals4.OK {
			return fmt.Errorf("%v: %v", ev.Type, ev.NIFail)
		}
		switch ev.Type {
		case portals4.EventPut:
			fmt.Printf("rank %d: %v, match bits %#x, in %v at %d: %s\n", me, ev.Type, ev.MatchBits, ev.UserPtr, ev.Offset, ev.Start)
		case portals4.EventAck:
			fmt.Printf("rank %d: %v of %v, %d bytes\n", me, ev.Type, ev.UserPtr, ev.MLength)
		}
	}
	return errors.Join(md.Release(), pt.Free(), eq.Free())
}

// pass lets a token go around. Each rank says beforehand what is to happen when it comes: a put to the next rank, which it has talked to
// before. (The first message to a process asks the launcher where it is, and the launcher does not answer who waits for a Fence.)
func pass(job rte.Job, ni *portals4.NI) error {
	ct, err := ni.CTAlloc()
	if err != nil {
		return err
	}
	pt, err := ni.PTAlloc(0, nil, tokens)
	if err != nil {
		return err
	}
	token := make([]byte, 8)
	entry, err := pt.MEAppend(&portals4.ME{
		Start: token, CT: ct, UID: portals4.AnyUID, MatchID: portals4.AnyProcess, Options: portals4.OpPut | portals4.EventCTComm,
	}, portals4.PriorityList, nil)
	if err != nil {
		return err
	}
	md, err := ni.MDBind(&portals4.MD{Start: token})
	if err != nil {
		return err
	}
	me := job.Rank()
	next := &portals4.Transfer{Length: 8, Target: portals4.Rank((me + 1) % job.Size()), PT: tokens}
	if me == 0 {
		binary.LittleEndian.PutUint64(token, 0x70617373)
	} else if err := md.TriggeredPut(next, ct, 1); err != nil { // what it sends is read when it is triggered
		return err
	}
	if err := job.Fence(); err != nil { // all are prepared
		return err
	}
	if me == 0 {
		if err := md.Put(next); err != nil {
			return err
		}
		v, err := ct.Wait(1)
		if err != nil {
			return err
		}
		if v != (portals4.CTEvent{Success: 1}) || binary.LittleEndian.Uint64(token) != 0x70617373 {
			return fmt.Errorf("the token came back as %x, counted %+v", token, v)
		}
		fmt.Printf("the token went around %d ranks\n", job.Size())
	}
	if err := job.Fence(); err != nil { // here the others wait, and only for mpirun
		return err
	}
	return errors.Join(entry.Unlink(), pt.Free(), md.Release(), ct.Free())
}

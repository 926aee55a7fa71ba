package portals4

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/rte"
	"github.com/ompi-go/ompi-go/shm"
)

// TestWaiters: who is woken for an event and takes another, or none, leaves it to the next; and a queue may be freed before who was woken runs.
func TestWaiters(t *testing.T) {
	together(t, 1, "local", func(i *Interface, _ int) error {
		ni, err := i.NI(Matching|PhysicalAddresses, AnyPID, nil)
		if err != nil {
			return err
		}
		var q [4]*EQ
		for k := range q {
			if q[k], err = ni.EQAlloc(4); err != nil {
				return err
			}
		}
		done := make(chan error, 4)
		wait := func(f func(ev *Event) error, on *EQ, n int) {
			go func() {
				var ev Event
				done <- f(&ev)
			}()
			for seen := false; !seen; time.Sleep(50 * time.Microsecond) {
				i.engine.Lock()
				seen = len(on.waiters) == n
				i.engine.Unlock()
			}
		}
		post := func(q *EQ) {
			*q.slot() = Event{Type: EventPut}
			q.posted()
		}
		wait(func(ev *Event) error { _, err := EQPoll([]*EQ{q[1], q[0]}, time.Minute, ev); return err }, q[0], 1)
		wait(q[0].Wait, q[0], 2)
		wait(q[2].Wait, q[2], 1)
		wait(func(ev *Event) error { _, err := EQPoll([]*EQ{q[3]}, time.Minute, ev); return err }, q[3], 1)
		i.engine.Lock()
		i.robin = 0
		post(q[0])
		post(q[1])
		for _, q := range q[2:] {
			post(q)
			q.end()
		}
		i.engine.Unlock()
		interrupted := 0
		for range 4 {
			select {
			case err := <-done:
				if errors.Is(err, ErrInterrupted) {
					interrupted++
				} else if err != nil {
					return err
				}
			case <-time.After(20 * time.Second):
				return errors.New("a wake-up is lost")
			}
		}
		if interrupted != 2 {
			t.Errorf("%d were interrupted, want 2", interrupted)
		}
		return nil
	})
}

// TestCloseServesPeers: a process that closes its interface without an agent still answers those that are not as far.
func TestCloseServesPeers(t *testing.T) {
	for _, nal := range []string{"local", "tcp"} {
		hub, mem := rte.NewHub(2), shm.NewHub(2)
		done := make(chan error, 2)
		start := time.Now()
		for r := range 2 {
			go func() { done <- closeLate(hub.Job(r), mem, nal) }()
		}
		for range 2 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if d := time.Since(start); d > quietTime/2 {
			t.Errorf("%s: closing took %v", nal, d)
		}
	}
}

func closeLate(job rte.Job, mem *shm.Hub, nal string) error {
	reg, err := mca.NewRegistry()
	if err != nil {
		return err
	}
	var in mca.Input
	for name, v := range map[string]string{"portals4_nal": nal, "portals4_application_bypass": "false"} {
		in.Settings = append(in.Settings, mca.Setting{Name: name, Value: v, Layer: mca.LayerAPI, Where: "test"})
	}
	params, err := mca.Load(reg, in)
	if err != nil {
		return err
	}
	i, err := Open(Config{Job: job, Registry: reg, Params: params, Hub: mem})
	if err != nil || job.Rank() == 1 {
		return errors.Join(err, i.Close())
	}
	time.Sleep(20 * time.Millisecond) // the other closes meanwhile; if not, nothing is tested
	ni, err := i.NI(Matching|PhysicalAddresses, AnyPID, nil)
	if err != nil {
		return err
	}
	eq, err := ni.EQAlloc(4)
	if err != nil {
		return err
	}
	md, err := ni.MDBind(&MD{Start: make([]byte, 8), EQ: eq})
	if err != nil {
		return err
	}
	err = md.Put(&Transfer{Length: 8, Ack: Ack, Target: ni.ProcessOf(1)})
	var ev Event
	for _, k := range []Kind{EventSend, EventAck} {
		if _, e := EQPoll([]*EQ{eq}, quietTime/2, &ev); e != nil || ev.Type != k {
			err = errors.Join(err, fmt.Errorf("want %v: %v, %w", k, &ev, e))
		}
	}
	return errors.Join(err, i.Close())
}

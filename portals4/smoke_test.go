package portals4

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"testing"

	_ "github.com/ompi-go/ompi-go/btl/sm"
	_ "github.com/ompi-go/ompi-go/btl/tcp"
	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/progress"
	"github.com/ompi-go/ompi-go/rte"
	"github.com/ompi-go/ompi-go/shm"
)

// together opens an interface for each of n goroutine ranks and has f run with it.
func together(t testing.TB, n int, nal string, f func(i *Interface, rank int) error) {
	t.Helper()
	hub, mem := rte.NewHub(n), shm.NewHub(n)
	run := new(progress.Runnable)
	var wg sync.WaitGroup
	for r := range n {
		run.Enter()
		wg.Add(1)
		go func() {
			defer wg.Done()
			defer run.Leave()
			if err := one(hub.Job(r), mem, run, nal, f); err != nil {
				t.Error(fmt.Errorf("rank %d: %w", r, err))
				hub.Job(r).Abort(1, err.Error())
			}
		}()
	}
	wg.Wait()
}

func one(job rte.Job, mem *shm.Hub, run *progress.Runnable, nal string, f func(i *Interface, rank int) error) error {
	reg, err := mca.NewRegistry()
	if err != nil {
		return err
	}
	in := mca.Input{Settings: []mca.Setting{{Name: "portals4_nal", Value: nal, Layer: mca.LayerAPI, Where: "test"}}}
	params, err := mca.Load(reg, in)
	if err != nil {
		return err
	}
	i, err := Open(Config{Job: job, Registry: reg, Params: params, Hub: mem, Runnable: run})
	if err != nil {
		return err
	}
	err = f(i, job.Rank())
	if e := job.Fence(); err == nil {
		err = e
	}
	return errors.Join(err, i.Close())
}

func TestPutGet(t *testing.T) {
	for _, nal := range []string{"local", "tcp"} {
		for _, size := range []int{0, 1, 8, 100, 5000, 60000, 1 << 20, 9<<20 + 17} {
			t.Run(fmt.Sprintf("%s/%d", nal, size), func(t *testing.T) {
				together(t, 2, nal, func(i *Interface, rank int) error { return putGet(i, rank, size) })
			})
		}
	}
}

func putGet(i *Interface, rank, size int) error {
	ni, err := i.NI(Matching|Logical, AnyPID, nil)
	if err != nil {
		return err
	}
	if err := ni.SetJobMap(); err != nil {
		return err
	}
	eq, err := ni.EQAlloc(64)
	if err != nil {
		return err
	}
	pt, err := ni.PTAlloc(0, eq, 4)
	if err != nil {
		return err
	}
	mem := make([]byte, size)
	if _, err := pt.MEAppend(&ME{Start: mem, UID: AnyUID, Options: OpPut | OpGet, MatchID: AnyProcess, MatchBits: 7}, PriorityList, "me"); err != nil {
		return err
	}
	var ev Event
	if err := eq.Wait(&ev); err != nil || ev.Type != EventLink {
		return fmt.Errorf("%v, %v", &ev, err)
	}
	if err := i.env.Job.Fence(); err != nil {
		return err
	}
	want := bytes.Repeat([]byte{byte(rank + 1), 2, 3}, size/3+1)[:size]
	ieq, err := ni.EQAlloc(64)
	if err != nil {
		return err
	}
	md, err := ni.MDBind(&MD{Start: want, EQ: ieq})
	if err != nil {
		return err
	}
	if err := md.Put(&Transfer{Length: uint64(size), Ack: Ack, Target: Rank(1 - rank), PT: 4, MatchBits: 7, UserPtr: 5}); err != nil {
		return err
	}
	for _, k := range []Kind{EventSend, EventAck} {
		if err := ieq.Wait(&ev); err != nil || ev.Type != k || ev.NIFail != OK || ev.UserPtr != 5 {
			return fmt.Errorf("want %v: %v, %v", k, &ev, err)
		}
	}
	if err := eq.Wait(&ev); err != nil || ev.Type != EventPut || ev.MLength != uint64(size) || ev.UserPtr != "me" {
		return fmt.Errorf("%v, %v", &ev, err)
	}
	peer := bytes.Repeat([]byte{byte(2 - rank), 2, 3}, size/3+1)[:size]
	if !bytes.Equal(mem, peer) {
		return errors.New("wrong data")
	}
	back := make([]byte, size)
	gmd, err := ni.MDBind(&MD{Start: back, EQ: ieq})
	if err != nil {
		return err
	}
	if err := gmd.Get(&Transfer{Length: uint64(size), Target: Rank(1 - rank), PT: 4, MatchBits: 7}); err != nil {
		return err
	}
	if err := ieq.Wait(&ev); err != nil || ev.Type != EventReply || ev.NIFail != OK || ev.MLength != uint64(size) {
		return fmt.Errorf("%v, %v", &ev, err)
	}
	if !bytes.Equal(back, want) {
		return errors.New("wrong data fetched")
	}
	if err := eq.Wait(&ev); err != nil || ev.Type != EventGet {
		return fmt.Errorf("%v, %v", &ev, err)
	}
	return gmd.Release()
}

func BenchmarkPutSelf(b *testing.B) {
	together(b, 1, "local", func(i *Interface, _ int) error {
		ni, _ := i.NI(Matching|PhysicalAddresses, AnyPID, nil)
		eq, _ := ni.EQAlloc(64)
		pt, _ := ni.PTAlloc(0, eq, 4)
		mem := make([]byte, 8)
		if _, err := pt.MEAppend(&ME{Start: mem, UID: AnyUID, Options: OpPut | OpGet | EventLinkDisable, MatchID: AnyProcess, MatchBits: 7}, PriorityList, nil); err != nil {
			return err
		}
		md, _ := ni.MDBind(&MD{Start: make([]byte, 8), EQ: eq, Options: MDEventSendDisable})
		id, _ := ni.PhysID()
		x := Transfer{Length: 8, Target: id, PT: 4, MatchBits: 7}
		var ev Event
		b.ReportAllocs()
		b.ResetTimer()
		for range b.N {
			if err := md.Put(&x); err != nil {
				return err
			}
			if err := eq.Get(&ev); err != nil {
				return err
			}
		}
		return nil
	})
}

package portals

import (
	"time"

	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/report"
	"github.com/ompi-go/ompi-go/portals4"
)

// openMatching makes what the match test needs: a portal table entry with an empty list, and memory for all entries to share.
func (r *rank) openMatching() (err error) {
	r.mem, r.from = make([]byte, number), make([]byte, number)
	if r.arrived, err = r.newNotice(); err != nil {
		return err
	}
	if r.data, err = r.ni.PTAlloc(0, r.arrived.eq, portals4.AnyPT); err != nil {
		return err
	}
	if r.md, err = r.ni.MDBind(&portals4.MD{Start: r.from, Options: portals4.MDEventSendDisable}); err != nil {
		return err
	}
	r.transfer = portals4.Transfer{Target: r.other, PT: r.data.Index(), Length: number}
	return nil
}

// matchRow posts entries with match bits of their own and has the last and the first of them matched, over and over: they stay.
func (r *rank) matchRow(entries int64) (row report.Row, err error) {
	posted := make([]portals4.Entry, 0, entries)
	defer func() {
		for _, e := range posted {
			if e := e.Unlink(); err == nil {
				err = e
			}
		}
	}()
	d := portals4.ME{Start: r.mem, UID: portals4.AnyUID, MatchID: portals4.AnyProcess,
		Options: portals4.OpPut | portals4.EventLinkDisable | portals4.EventUnlinkDisable}
	if r.arrived.ct != nil {
		d.CT = r.arrived.ct
		d.Options |= portals4.EventCTComm | portals4.EventCommDisable
	}
	for i := range entries {
		d.MatchBits = uint64(i)
		e, err := r.data.MEAppend(&d, portals4.PriorityList, nil)
		if err != nil {
			return row, err
		}
		posted = append(posted, e)
	}
	r.transfer.MatchBits = uint64(entries - 1)
	if row, err = r.repeat(entries, r.matched); err != nil {
		return row, err
	}
	r.transfer.MatchBits = 0
	first, err := r.repeat(entries, r.matched)
	row.More = map[string]float64{firstColumn: first.Value}
	return row, err
}

// matched is n puts to one entry, in microseconds each.
func (r *rank) matched(n int) (float64, error) {
	start := time.Now()
	for range n {
		if err := r.md.Put(&r.transfer); err != nil {
			return 0, err
		}
		if err := r.arrived.wait(1); err != nil {
			return 0, err
		}
	}
	return micros(start, n), nil
}

package suite

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Windows lists the kinds of windows (MPI-3.1 §11.2): over the program's memory, over memory that MPI allocates, over memory attached later.
func Windows() []string { return []string{"create", "allocate", "dynamic"} }

// Synchronisations of the one-sided tests, as OSU's: an epoch of its own for every iteration by a lock, by locking all, by post, start, complete and wait,
// by a fence; or one epoch for all, by one lock or by locking all, with a flush in every iteration.
const (
	SyncLock         = "lock"
	SyncLockAll      = "lock_all"
	SyncPSCW         = "pscw"
	SyncFence        = "fence"
	SyncFlush        = "flush"
	SyncFlushLocal   = "flush_local"
	SyncLockAllFlush = "lock_all+flush"
)

// Syncs lists the synchronisations.
func Syncs() []string {
	return []string{SyncLock, SyncFlush, SyncFlushLocal, SyncLockAll, SyncLockAllFlush, SyncPSCW, SyncFence}
}

// OneSided are the options of one-sided tests; what is empty or zero is the test's own.
type OneSided struct {
	Window string // of Windows
	Sync   string // of Syncs
	Calls  int    // of the operation between two synchronisations
}

// Check says why the options cannot be used.
func (o OneSided) Check() error {
	const most = 1_000_000
	switch {
	case o.Window != "" && !slices.Contains(Windows(), o.Window):
		return fmt.Errorf("--window %s: want one of %s", o.Window, strings.Join(Windows(), ", "))
	case o.Sync != "" && !slices.Contains(Syncs(), o.Sync):
		return fmt.Errorf("--sync %s: want one of %s", o.Sync, strings.Join(Syncs(), ", "))
	case o.Calls < 0 || o.Calls > most:
		return fmt.Errorf("--calls %d: want 1 to %d calls of the operation between two synchronisations", o.Calls, most)
	}
	return nil
}

// args are the options that were given, in the form that ompi-bench and the peers' program both take.
func (o OneSided) args() []string {
	var args []string
	if o.Window != "" {
		args = append(args, "--window", o.Window)
	}
	if o.Sync != "" {
		args = append(args, "--sync", o.Sync)
	}
	if o.Calls > 0 {
		args = append(args, "--calls", fmt.Sprint(o.Calls))
	}
	return args
}

// CheckOneSided says why the tests cannot have these options.
func CheckOneSided(tests []Test, o OneSided) error {
	if err := o.Check(); err != nil || o == (OneSided{}) {
		return err
	}
	if !slices.ContainsFunc(tests, func(t Test) bool { return t.Window }) {
		return errors.New("--window, --sync and --calls are for one-sided tests, such as put_latency")
	}
	for _, t := range tests {
		switch {
		case !t.Window:
		case o.Sync != "" && t.Sync == "":
			return fmt.Errorf("--sync %s: test %s has its own synchronisation", o.Sync, t.Name)
		case o.Calls > 0 && t.Sync == "":
			return fmt.Errorf("--calls %d: test %s has its own number of calls", o.Calls, t.Name)
		case o.Sync != "" && t.Active && o.Sync != SyncPSCW && o.Sync != SyncFence:
			return fmt.Errorf("--sync %s: both ranks of %s are origin and target at once, which are synchronised by %s or %s", o.Sync, t.Name, SyncPSCW, SyncFence)
		}
	}
	return nil
}

// OneSidedOf completes the options with what is the test's own.
func (t Test) OneSidedOf(p Params) OneSided {
	o := p.OneSided
	if o.Window == "" {
		o.Window = "allocate"
	}
	if o.Sync == "" {
		o.Sync = t.Sync
	}
	if o.Calls == 0 {
		o.Calls = 1
	}
	return o
}

// Epochs lists the synchronisations whose own cost is measured, each by the test sync_NAME: an epoch with no call, and with one put of eight bytes.
func Epochs() []string {
	return []string{"fence", "pscw", "lock_exclusive", "lock_shared", "lock_all", "flush"}
}

// Headings of the further columns of the tests passive and hammer.
const (
	P99       = "p99(us)"
	Polled    = "Polled(us)"
	PolledP99 = "Polled p99(us)"
	MedianUs  = "Median(us)"
	MaxUs     = "Max(us)"
	MaxMedian = "Max/median"
)

// oneSided lists the tests of one-sided communication.
func oneSided() []Test {
	lat, latL := Loop{10000, 100}, Loop{1000, 10}
	bw, bwL := Loop{1000, 10}, Loop{50, 2}
	const us, mb = "us", "MB/s"
	var all []Test
	for _, name := range []string{"put_latency", "get_latency", "acc_latency", "get_acc_latency"} {
		all = append(all, Test{Name: name, Title: "Latency(us)", Unit: us, Min: 1, Max: 4 << 20, Small: lat, Large: latL, MinRanks: 2, Window: true, Sync: SyncFlush})
	}
	for _, name := range []string{"fop_latency", "cas_latency"} {
		all = append(all, Test{Name: name, Title: "Latency(us)", Unit: us, Min: 8, Max: 8, Small: lat, Large: latL, MinRanks: 2, Window: true, Sync: SyncFlush})
	}
	for _, name := range []string{"put_bw", "get_bw", "put_bibw"} {
		t := Test{
			Name: name, Title: "Bandwidth(MB/s)", Unit: mb, HigherBetter: true, Min: 1, Max: 4 << 20, Small: bw, Large: bwL, MinRanks: 2,
			Window: true, Sync: SyncFlush,
		}
		if name == "put_bibw" {
			t.Sync, t.Active = SyncPSCW, true
		}
		all = append(all, t)
	}
	for _, name := range Epochs() {
		all = append(all, Test{
			Name: "sync_" + name, Title: "Epoch(us)", Unit: us, Size: "Puts", Min: 0, Max: 1, Small: Loop{2000, 50}, MinRanks: 2, Window: true,
			PerPeer: true, // every rank puts to a place of its own
		})
	}
	return append(all,
		Test{
			Name: "sync", Title: "Epoch(us)", Unit: us, Size: "Synchronisation:Puts", Min: 0, Max: 1, Small: Loop{2000, 50}, MinRanks: 2, Window: true,
			OursOnly: true, Course: true, PerPeer: true,
		},
		Test{
			Name: "passive", Title: "Computing(us)", Unit: us, Min: 8, Max: 8, Small: Loop{500, 20}, MinRanks: 2, Window: true,
			OursOnly: true, Course: true, More: []string{P99, Polled, PolledP99},
		},
		Test{
			Name: "hammer", Title: "Operations/s", Unit: "1/s", HigherBetter: true, Size: "Operation:Ranks", Small: Loop{5000, 100}, MinRanks: 1,
			Window: true, OursOnly: true, Course: true, More: []string{MedianUs, MaxUs, MaxMedian},
		},
	)
}

package osctest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/ompi-go/ompi-go/internal/mpiruntest"
	"github.com/ompi-go/ompi-go/ompi"
)

// deathCases are those in which rank 1 dies. The others say "good".
func deathCases() []suite {
	return []suite{
		{"HolderDies", 3, deathOfHolder, anyFlavor},
		{"HolderDiesRecovered", 3, deathRecovered, anyFlavor},
		{"TargetDies", 3, deathOfTarget, anyFlavor},
		{"FenceDies", 3, deathInFence, anyFlavor},
		{"PostStartDies", 3, deathInExposure, anyFlavor},
		{"FreedAfterDeath", 3, freedAfterDeath, anyFlavor},
	}
}

// testDeaths runs each in a job of its own: the launcher lets the living go on, nobody hangs, and no process is left.
func testDeaths(t *testing.T, cfg Config) {
	for _, s := range deathCases() {
		for _, f := range cfg.Flavors {
			if f == CreateMem && raceEnabled {
				continue
			}
			t.Run(fmt.Sprintf("%s/%v", s.name, f), func(t *testing.T) {
				one := cfg
				one.Flavors = []Flavor{f}
				j := launch(t, one, s.ranks, []string{s.name}, "--on-failure", "continue")
				j.Start()
				j.End(mpiruntest.Limit, -1)
				if n := strings.Count(j.Out.String(), "good\n"); n != s.ranks-1 {
					t.Errorf("%d of %d are well\n--- stdout\n%s--- stderr\n%s", n, s.ranks-1, &j.Out, &j.Err)
				}
			})
		}
	}
}

const victim = 1

// die ends this process as a crash does. What was said before comes.
func die() { ok(syscall.Kill(os.Getpid(), syscall.SIGKILL)) }

// survive is the end of a rank that lives: the job is broken, and the process ends without finalizing.
func survive() {
	fmt.Println("good")
	os.Exit(0)
}

func failed(err error, what string) {
	that(errors.Is(err, ompi.ErrProcFailed), "%s: %v, want %v", what, err, ompi.ErrProcFailed)
}

// deathOfHolder: who waits for a lock that a dead process holds gets ErrProcFailed.
func deathOfHolder(r *rank) {
	w := r.window(r.cfg.Flavors[0], 64, 8)
	if r.me == victim {
		ok(w.Lock(ompi.LockExclusive, 0, 0))
		v := int64(1)
		ok(w.Put(ompi.Value(&v), w.at(0, 0)))
		ok(w.Flush(0))
		r.tellOthers()
		die()
	}
	r.hear()
	err := w.Lock(ompi.LockExclusive, 0, 0)
	if err == nil { // the lock may be granted when it is used only
		v := int64(1)
		if err = w.Put(ompi.Value(&v), w.at(0, 0)); err == nil {
			err = w.Unlock(0)
		}
	}
	failed(err, "a lock whose holder died")
	survive()
}

func (r *rank) tellOthers() {
	var none []byte
	for k := range r.n {
		if k != r.me {
			ok(r.Send(ompi.Slice(none), k, 77))
		}
	}
	for k := range r.n {
		if k != r.me { // it has come
			_, err := r.Recv(ompi.Slice(none), k, 78)
			ok(err)
		}
	}
}

func (r *rank) hear() {
	var none []byte
	_, err := r.Recv(ompi.Slice(none), victim, 77)
	ok(err)
	ok(r.Send(ompi.Slice(none), victim, 78))
}

// deathRecovered: with the info key, the next gets the lock, and its operations go on.
func deathRecovered(r *rank) {
	info := ompi.NewInfo()
	ok(info.Set("ompi_lock_recovery", "true"))
	w := r.window(r.cfg.Flavors[0], 64, 8, ompi.WinInfo(info))
	if r.me == victim {
		ok(w.Lock(ompi.LockExclusive, 0, 0))
		v := int64(1)
		ok(w.Put(ompi.Value(&v), w.at(0, 0)))
		ok(w.Flush(0))
		r.tellOthers()
		die()
	}
	r.hear()
	for range 3 {
		ok(w.Lock(ompi.LockExclusive, 0, 0))
		var v int64
		ok(w.Get(ompi.Value(&v), w.at(0, 0)))
		ok(w.Flush(0))
		that(v >= 1, "what the dead one had put is not there: %d", v)
		v++
		ok(w.Put(ompi.Value(&v), w.at(0, 0)))
		ok(w.Unlock(0))
	}
	// Both have had it three times.
	var none []byte
	if r.me == 0 {
		_, err := r.Recv(ompi.Slice(none), 2, 79)
		ok(err)
		ok(w.Lock(ompi.LockExclusive, 0, 0))
		that(words(w.mem)[0] == 7, "%d, want 7", words(w.mem)[0])
		ok(w.Unlock(0))
		ok(r.Send(ompi.Slice(none), 2, 79))
	} else {
		ok(r.Send(ompi.Slice(none), 0, 79))
		_, err := r.Recv(ompi.Slice(none), 0, 79)
		ok(err)
	}
	survive()
}

// deathOfTarget: gets, puts and flushes to a dead process end with ErrProcFailed, sooner or later, and until then do what they are to do.
func deathOfTarget(r *rank) {
	w := r.window(r.cfg.Flavors[0], 1<<16, 8)
	if r.me == victim {
		r.tellOthers()
		die()
	}
	ok(w.LockAll(0))
	buf := bytes.Repeat([]byte{7}, 1<<16)
	got := make([]byte, 8)
	if r.me == 0 {
		got = make([]byte, len(buf))
	}
	ok(w.Put(ompi.Slice(buf), w.at(victim, 0)))
	ok(w.Flush(victim))
	r.hear()
	var err error
	for err == nil {
		clear(got)
		if err = w.Get(ompi.Slice(got), w.at(victim, 0)); err == nil {
			err = w.Flush(victim)
		}
		if err == nil {
			same(got, buf[:len(got)], "a get from who dies")
			if err = w.Put(ompi.Slice(buf), w.at(victim, 0)); err == nil {
				err = w.Flush(victim)
			}
		}
		if err == nil {
			err = r.poke()
		}
	}
	failed(err, "a target that died")
	survive()
}

// deathInFence: nobody waits for the dead.
func deathInFence(r *rank) {
	w := r.window(r.cfg.Flavors[0], 64, 8)
	ok(w.Fence(0))
	v := int64(r.me)
	ok(w.Put(ompi.Value(&v), w.at(0, int64(8*r.me))))
	ok(w.Fence(0))
	if r.me == victim {
		r.tellOthers() // who is in a barrier yet would hear of the death there
		die()
	}
	r.hear()
	failed(w.Fence(0), "a fence that one does not come to")
	survive()
}

// deathInExposure: Start, Complete and Wait end when the other side is dead.
func deathInExposure(r *rank) {
	w := r.window(r.cfg.Flavors[0], 64, 8)
	if r.me == victim {
		r.tellOthers() // who is in a barrier yet would hear of the death there
		die()
	}
	r.hear()
	if r.me == 0 {
		err := w.Post(r.group(victim), 0)
		if err == nil {
			err = w.Wait()
		}
		failed(err, "an exposure to who has died")
		survive()
	}
	err := w.Start(r.group(victim), 0)
	if err == nil {
		v := int64(1)
		if err = w.Put(ompi.Value(&v), w.at(victim, 0)); err == nil {
			err = w.Complete()
		}
	}
	failed(err, "an access to who has died")
	survive()
}

// freedAfterDeath: after a death, members free the window when they like. Who still turns to one that has is told so, if there is nothing any more, and in any case
// does not wait for ever.
func freedAfterDeath(r *rank) {
	info := ompi.NewInfo()
	ok(info.Set("ompi_lock_recovery", "true"))
	w := r.window(r.cfg.Flavors[0], 64, 8, ompi.WinInfo(info))
	if r.me == victim {
		r.tellOthers()
		die()
	}
	r.hear()
	for r.poke() == nil { // until the death is known
	}
	var none []byte
	if r.me == 0 {
		failed(w.Win.Free(), "the end of a window one of whose members died")
		ok(r.Send(ompi.Slice(none), 2, 80))
		_, err := r.Recv(ompi.Slice(none), 2, 81) // the engine moves meanwhile
		ok(err)
		survive()
	}
	_, err := r.Recv(ompi.Slice(none), 0, 80)
	ok(err)
	v := int64(1)
	err = w.Lock(ompi.LockExclusive, 0, 0)
	if err == nil {
		if err = w.Put(ompi.Value(&v), w.at(0, 0)); err == nil {
			err = w.Flush(0)
		}
		if e := w.Unlock(0); err == nil {
			err = e
		}
	}
	if err != nil { // shared memory is there as long as somebody has it
		failed(err, "a lock of who has freed the window")
	}
	ok(r.Send(ompi.Slice(none), 0, 81))
	survive()
}

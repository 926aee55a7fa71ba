package words

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"
)

// Random epochs: in each round every member accesses some and is accessed by some, and finds what belongs to the round.
func TestPSCWModel(t *testing.T) {
	for _, silent := range []bool{false, true} {
		const n, rounds = 6, 150
		w := newWorld(t, n, Config{}, silent)
		data := [n][n]int{} // by target and origin
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		w.run(func(m *member) error {
			plan := rand.New(rand.NewPCG(seed, 1)) // the same at all
			for round := 1; round <= rounds; round++ {
				var to, from []int
				for a := range n {
					for b := range n {
						if plan.IntN(3) == 0 {
							if a == m.rank {
								to = append(to, b)
							}
							if b == m.rank {
								from = append(from, a)
							}
						}
					}
				}
				test := plan.IntN(2) == 0
				if err := m.sync.Post(from, false); err != nil {
					return err
				}
				if err := m.sync.Start(to, false); err != nil {
					return err
				}
				for _, r := range to {
					data[r][m.rank] = round
				}
				if err := m.sync.Complete(); err != nil {
					return err
				}
				for done := false; test && !done; {
					var err error
					if done, err = m.sync.Test(); err != nil {
						return err
					}
				}
				if !test {
					if err := m.sync.Wait(); err != nil {
						return err
					}
				}
				for _, r := range from {
					if data[m.rank][r] != round {
						t.Errorf("round %d: rank %d has %d of %d", round, m.rank, data[m.rank][r], r)
					}
				}
			}
			return nil
		})
		for i := range n {
			for k, v := range w.words[i] {
				if v != 0 {
					t.Errorf("word %d of %d is left as %#x", k, i, v)
				}
			}
		}
	}
}

// Deaths end Start and Wait, if they matter.
func TestDeathsInPSCW(t *testing.T) {
	w := newWorld(t, 4, Config{}, false)
	w.run(func(m *member) error {
		switch m.rank {
		case 0:
			if err := m.sync.Start([]int{1, 3}, false); !procFailed(err) {
				t.Errorf("start: %v", err)
			}
		case 1:
			if err := m.sync.Post([]int{3, 2}, false); err != nil {
				return err
			}
			if err := m.sync.Wait(); !procFailed(err) {
				t.Errorf("wait: %v", err)
			}
		case 2: // knows no dead
			if err := m.sync.Start([]int{1}, false); err != nil {
				return err
			}
			for m.comm.Fault() == nil {
				runtime.Gosched()
			}
			return m.sync.Complete()
		case 3:
			time.Sleep(2 * time.Millisecond)
			w.die(3)
		}
		return nil
	})
}

// Test does not find what is not there.
func TestTest(t *testing.T) {
	w := newWorld(t, 2, Config{}, false)
	a, b := w.members[0], w.members[1]
	if err := errors.Join(a.sync.Post([]int{1}, false), b.sync.Start([]int{0}, false)); err != nil {
		t.Fatal(err)
	}
	if done, err := a.sync.Test(); done || err != nil {
		t.Fatal(done, err)
	}
	if err := b.sync.Complete(); err != nil {
		t.Fatal(err)
	}
	if done, err := a.sync.Test(); !done || err != nil {
		t.Fatal(done, err)
	}
}

package sm

import (
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ompi-go/ompi-go/btl/btltest"
	"github.com/ompi-go/ompi-go/shm"
)

// TestMapsWhatItIsTold: a helper maps what the receiver's number names, and nothing else; else it writes by system call, or not at all.
func TestMapsWhatItIsTold(t *testing.T) {
	for _, w := range []struct {
		name   string
		maps   bool
		spoil  func(local uint64) uint64
		mech   string
		mapped bool // the helper has used the mapping
		state  uint64
	}{
		{"a number", true, func(l uint64) uint64 { return l }, "auto", true, helpGoesOn},
		{"only mapping", true, func(l uint64) uint64 { return l }, "map", true, helpGoesOn},
		{"no mapping", true, func(l uint64) uint64 { return l }, "cma", false, helpGoesOn},
		{"no number", false, func(l uint64) uint64 { return l }, "auto", false, helpGoesOn},
		{"no number, only mapping", false, func(l uint64) uint64 { return l }, "map", false, helpNever},
		{"no such number", true, func(l uint64) uint64 { return l&handleMask | 60000<<handleBits }, "auto", false, helpGoesOn},
		{"no such number, only mapping", true, func(l uint64) uint64 { return l&handleMask | 60000<<handleBits }, "map", false, helpStopped},
		{"an address outside", true, func(l uint64) uint64 { return l - 1 }, "map", false, helpStopped},
		{"an end outside", true, func(l uint64) uint64 { return l + 4096 }, "map", false, helpStopped},
	} {
		t.Run(w.name, func(t *testing.T) {
			c := newCoop(t, world{btltest.Config{Params: map[string]string{"btl_sm_coop_limit": "4k", "btl_sm_coop_chunk": "1k"},
				Shm: mapped(shm.Options{Attach: "auto"}), RawHandles: true}, [2]bool{w.maps, true}})
			if c.ep.noCopy != nil && w.mech != "map" {
				t.Skip("process_vm_readv is refused here")
			}
			c.to.opt.SingleCopy = w.mech
			p, low := c.ask(t)
			local := (*uint64)(unsafe.Add(c.to.rings[0].slots, uintptr(c.to.rings[0].pos)*line+helpLocal))
			*local = w.spoil(*local)
			c.Ranks[1].Do(func() { c.to.Poll() })
			_, got, state := doneAt(p)
			if state != w.state || (got > 0) != (state == helpGoesOn) {
				t.Errorf("%d units, state %d", got, state)
			}
			if m := c.to.mapLocal; state == helpGoesOn && (c.to.helps[0].number != 0 && m(&c.to.helps[0], 0, 1) != nil) != w.mapped {
				t.Errorf("the receiver's memory is mapped: %v", !w.mapped)
			}
			if over, err := c.copyRest(t, p, low); !over || err != nil {
				t.Errorf("over %v, %v", over, err)
			}
			c.check(t)
		})
	}
}

// TestFreedMeanwhile: a helper does not write where the receiver's memory has been freed, and stays alive.
func TestFreedMeanwhile(t *testing.T) {
	c := newCoop(t, world{btltest.Config{Params: map[string]string{"btl_sm_coop_limit": "4k", "btl_sm_coop_chunk": "1k"},
		Shm: mapped(shm.Options{Attach: "auto"}), RawHandles: true}, [2]bool{false, true}})
	c.to.opt.SingleCopy = "map"
	for range mapTrials + 2 {
		m, err := c.Ranks[0].Env.Shm.NewMemory(coopN, 64)
		if err != nil {
			t.Fatal(err)
		}
		c.dst = unsafe.Slice((*byte)(m.Base()), coopN)
		c.register(t, c.src)
		c.ep.skip, c.ep.misses = 0, 0
		p, low := c.ask(t)
		c.Ranks[1].Do(func() { c.to.Poll() })
		_, first, _ := doneAt(p)
		if err := m.Free(); err != nil {
			t.Fatal(err)
		}
		c.Ranks[1].Do(func() { c.to.help() })
		want := uint64(helpStopped)
		if c.to.rings[0].unmapped >= mapTrials {
			want = helpNever
		}
		if _, got, state := doneAt(p); got != first || state != want {
			t.Errorf("%d units are done, %d before the memory was freed; state %d", got, first, state)
		}
		if over, err := c.copyRest(t, p, low); !over || err != nil {
			t.Errorf("over %v, %v", over, err)
		}
		c.check(t)
		base, n := m.Range()
		if err := unix.MunmapPtr(base, uintptr(n)); err != nil {
			t.Fatal(err)
		}
		if c.ep.noHelpMap {
			break
		}
	}
	if !c.ep.noHelpMap {
		t.Error("it is asked for ever")
	}
}

// TestSharedWithoutCMA: where the kernel refuses all copying both ends still share memory that they map, and the receiver copies alone into other.
func TestSharedWithoutCMA(t *testing.T) {
	for _, maps := range []bool{true, false} {
		c := newCoop(t, world{btltest.Config{Params: map[string]string{"btl_sm_coop_limit": "4k", "btl_sm_coop_chunk": "1k", "btl_sm_single_copy_mechanism": "map"},
			Shm: mapped(shm.Options{Attach: "auto"}), RawHandles: true}, [2]bool{maps, true}})
		asked := c.ep.ring.pos
		c.Ranks[0].Do(func() {
			if done, err := c.ep.Get(&c.x); !done || err != nil {
				t.Errorf("Get: %v, %v", done, err)
			}
		})
		if (c.ep.ring.pos != asked) != maps || c.ep.m.mapped != 1 {
			t.Errorf("help was asked for: %v; %d mapped copies", !maps, c.ep.m.mapped)
		}
		c.check(t)
	}
}

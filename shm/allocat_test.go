package shm

import (
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestAllocAt: what a rank writes into a piece of its peer's segment is there when the rank is not.
func TestAllocAt(t *testing.T) {
	both(t, func(t *testing.T, inProcess bool) {
		d := pair(t, inProcess, Options{Attach: "auto"})
		fds := descriptors(t)
		peer, err := d[0].Attach(1)
		if err != nil {
			t.Fatal(err)
		}
		own, _, err := d[1].Alloc(64)
		if err != nil {
			t.Fatal(err)
		}
		var pieces [2]Piece
		for i := range pieces { // the second time the segment is opened anew
			p, mem, err := d[0].AllocAt(peer, 100)
			if err != nil || uintptr(mem)%lineSize != 0 || bytesAt(mem, 100)[0] != 0 || p == own {
				t.Fatalf("AllocAt: piece %d, %v", p, err)
			}
			copy(bytesAt(mem, 100), "last words")
			pieces[i] = p
		}
		if n := descriptors(t); n != fds {
			t.Errorf("%d descriptors are left", n-fds)
		}
		if q, _, err := d[1].Alloc(64); err != nil || q == pieces[0] || q == pieces[1] || pieces[0] == pieces[1] {
			t.Errorf("the pieces %d and %d, then the owner's %d, %v", pieces[0], pieces[1], q, err)
		}
		d[0].engine.Lock()
		d[0].Close()
		d[0].engine.Unlock()
		for _, p := range pieces {
			mem, err := d[1].Own(p, 100)
			if err != nil || string(bytesAt(mem, 10)) != "last words" {
				t.Errorf("Own(%d): %v", p, err)
			}
		}
		p := pieces[0]
		for _, c := range []struct {
			p Piece
			n int64
		}{{p, 1 << 40}, {p, -1}, {^p, 100}, {1 << 63, 64}, {0, 64}, {64, 64}} {
			if _, err := d[1].Own(c.p, c.n); err == nil {
				t.Errorf("Own(%#x, %d) succeeded", c.p, c.n)
			}
		}
	})
}

// TestAllocAtBadTop: what peers write about how much of a segment is used is not believed.
func TestAllocAtBadTop(t *testing.T) {
	d := pair(t, false, Options{Attach: "auto"})
	peer, err := d[0].Attach(1)
	if err != nil {
		t.Fatal(err)
	}
	for _, top := range []int64{-1, 0, -1 << 63, 1<<63 - 1, pageSize + 1, d[1].seg.size + 64, d[1].seg.size} {
		d[1].seg.top.Store(top)
		if _, _, err := d[0].AllocAt(peer, 64); err == nil || !strings.Contains(err.Error(), "shm_segment_size") {
			t.Errorf("AllocAt with top %d: %v", top, err)
		}
		if _, _, err := d[1].Alloc(64); err == nil {
			t.Errorf("Alloc with top %d succeeded", top)
		}
	}
	d[1].seg.top.Store(pageSize)
	d[0].sys = &kernel{fallocate: func(int, uint32, int64, int64) error { return unix.ENOSPC }}
	if _, _, err := d[0].AllocAt(peer, 64); err == nil || !strings.Contains(err.Error(), "shm: no memory") {
		t.Errorf("AllocAt without memory: %v", err)
	}
	if top := d[1].seg.top.Load(); top != pageSize {
		t.Errorf("top is %d afterwards", top)
	}
}

// TestAllocAtAnothersFile: when the peer's process has ended and another has its number, that one's files are left alone.
func TestAllocAtAnothersFile(t *testing.T) {
	d := pair(t, false, Options{Attach: "proc"})
	peer, err := d[0].Attach(1)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := d[0].AllocAt(peer, 64); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.MemfdCreate("another", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	c := d[1].card()
	c.fd = fd
	d[0].job = cardJob{d[0].job, c.append(nil)}
	fds := descriptors(t)
	if _, _, err := d[0].AllocAt(peer, 64); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("AllocAt: %v", err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Size != 0 {
		t.Errorf("the file has %d bytes now, %v", st.Size, err)
	}
	if n := descriptors(t); n != fds {
		t.Errorf("%d descriptors are left", n-fds)
	}
}

// TestAllocAtControl: however many ranks there are, nothing is taken of the control block.
func TestAllocAtControl(t *testing.T) {
	d := pair(t, false, Options{Attach: "auto"})
	low := heapStart(1000)
	if low < controlSize(1000) || low <= pageSize {
		t.Fatalf("the heap begins at %d, the control block has %d bytes", low, controlSize(1000))
	}
	d[1].seg.heap = low
	for _, top := range []int64{pageSize, low - lineSize} {
		d[1].seg.top.Store(top)
		if _, _, err := d[1].Alloc(64); err == nil {
			t.Errorf("Alloc with top %d of a heap that begins at %d succeeded", top, low)
		}
	}
}

package shm

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

func newMemory(t testing.TB, d *Domain, n, align int64) *Memory {
	t.Helper()
	m, err := d.NewMemory(n, align)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func free(t testing.TB, m *Memory) {
	t.Helper()
	base, n := m.Range()
	if err := m.Free(); err != nil {
		t.Fatal(err)
	}
	if n > 0 {
		if err := unix.MunmapPtr(base, uintptr(n)); err != nil {
			t.Fatal(err)
		}
	}
}

func attach(t testing.TB, d *Domain, rank int) *Peer {
	t.Helper()
	p, err := d.Attach(rank)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func addr(m *Memory, off int64) uint64 { return uint64(uintptr(m.Base())) + uint64(off) }

// TestMemoryIsShared: a peer sees what the owner writes, and the other way round, by either way to open it.
func TestMemoryIsShared(t *testing.T) {
	for _, way := range []string{"proc", "socket"} {
		t.Run(way, func(t *testing.T) {
			d := pair(t, false, Options{Attach: way})
			p := attach(t, d[0], 1)
			m := newMemory(t, d[1], 10000, 1)
			defer free(t, m)
			mine := bytesAt(m.Base(), 10000)
			copy(mine[9000:], "from its owner")
			at, err := p.Memory(d[0], m.number, addr(m, 9000), 1000)
			if err != nil || string(bytesAt(at, 14)) != "from its owner" {
				t.Fatalf("Memory: %v", err)
			}
			bytesAt(at, 1000)[999] = 7
			if mine[9999] != 7 {
				t.Error("a peer's write is not seen")
			}
			before := descriptors(t)
			if _, err := p.Memory(d[0], m.number, addr(m, 0), 1); err != nil || descriptors(t) != before {
				t.Errorf("it is mapped again, or a descriptor kept: %v", err)
			}
		})
	}
}

// TestMemoryBounds: nothing outside the memory is given out, whatever is asked for.
func TestMemoryBounds(t *testing.T) {
	d := pair(t, false, Options{Attach: "auto"})
	p := attach(t, d[0], 1)
	m := newMemory(t, d[1], 3*pageSize, 1)
	defer free(t, m)
	a := addr(m, 0)
	for _, c := range []struct {
		number uint32
		addr   uint64
		n      int64
		ok     bool
	}{
		{m.number, a, 3 * pageSize, true}, {m.number, a + 3*pageSize, 0, true}, {m.number, a + 3*pageSize - 1, 1, true},
		{m.number, a, 3*pageSize + 1, false}, {m.number, a + 1, 3 * pageSize, false}, {m.number, a - 1, 1, false},
		{m.number, a + 3*pageSize + 1, 0, false}, {m.number, a, -1, false}, {m.number, ^uint64(0), 1, false},
		{m.number, a, 1<<63 - 1, false}, {m.number, 0, 1, false},
		{0, a, 1, false}, {MemoryNumbers, a, 1, false}, {^uint32(0), a, 1, false}, {MemoryNumbers - 1, a, 1, false},
		{uint32(d[1].seg.fd) + 1, a, 1, false}, // a memfd, but another
		{uint32(os.Stdin.Fd()) + 1, a, 1, false},
	} {
		if _, err := p.Memory(d[0], c.number, c.addr, c.n); (err == nil) != c.ok {
			t.Errorf("memory %d, [%#x,+%d): %v", c.number, c.addr, c.n, err)
		}
	}
	if _, err := attach(t, d[0], 0).Memory(d[0], m.number, a, 1); err == nil {
		t.Error("a rank maps its own memory")
	}
}

// FuzzMemory: a peer's words never lead outside its memory.
func FuzzMemory(f *testing.F) {
	f.Add(uint32(1), int64(0), int64(8))
	f.Add(uint32(0), int64(-1), int64(1))
	f.Add(uint32(1), int64(5000), int64(1<<62))
	d := pair(f, false, Options{Attach: "proc"})
	p := attach(f, d[0], 1)
	m := newMemory(f, d[1], 5000, 1)
	f.Fuzz(func(t *testing.T, number uint32, off, n int64) {
		number %= m.number + 100
		at, err := p.Memory(d[0], number, addr(m, off), n)
		if err != nil {
			return
		}
		x := p.memory[number]
		got := int64(uintptr(at) - uintptr(x.region.Base()))
		if number != m.number || got < 0 || n < 0 || got > x.size || n > x.size-got || got != off {
			t.Errorf("memory %d, offset %d, %d bytes: gave offset %d of %d", number, off, n, got, x.size)
		}
	})
}

// TestMemoryFreed: its name is nobody's afterwards, and when another has it, the peer sees the other. Who holds the old one sees the old.
func TestMemoryFreed(t *testing.T) {
	for _, way := range []string{"proc", "socket"} {
		t.Run(way, func(t *testing.T) {
			d := pair(t, false, Options{Attach: way})
			p := attach(t, d[0], 1)
			old := newMemory(t, d[1], 100, 1)
			copy(bytesAt(old.Base(), 3), "old")
			view, err := p.MapMemory(d[0], old.number, 0)
			if err != nil {
				t.Fatal(err)
			}
			a := addr(old, 0)
			free(t, old)
			if _, err := p.Memory(d[0], old.number, a, 3); err == nil {
				t.Error("freed memory is found")
			}
			m := newMemory(t, d[1], 100, 1)
			defer free(t, m)
			if m.number != old.number {
				t.Skip("the number was not used again")
			}
			copy(bytesAt(m.Base(), 3), "new")
			at, err := p.Memory(d[0], m.number, addr(m, 0), 3)
			if err != nil || string(bytesAt(at, 3)) != "new" {
				t.Errorf("under a number used again: %v", err)
			}
			if b, err := view.Slice(0, 3); err != nil || string(b) != "old" {
				t.Errorf("the view has changed: %q, %v", b, err)
			}
			if err := view.Unref(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestMemoryAt(t *testing.T) {
	d := pair(t, false, Options{Attach: "auto"})[0]
	x := make([]byte, 100)
	if d.MemoryAt(unsafe.Pointer(&x[0]), 100) != 0 {
		t.Error("memory of Go is shared")
	}
	var all []*Memory
	for i := range int64(20) {
		all = append(all, newMemory(t, d, 1+i*3000, 1))
	}
	check := func(m *Memory, want uint32) {
		t.Helper()
		for _, c := range []struct {
			off, n int64
			in     bool
		}{{0, 1, true}, {0, m.size, true}, {m.size - 1, 1, true}, {m.size - 1, 2, false}, {0, m.size + 1, false}, {0, -1, false}, {5, m.size - 5, true}} {
			got := d.MemoryAt(unsafe.Add(m.Base(), c.off), c.n)
			if c.in && got != want || !c.in && got != 0 {
				t.Errorf("[%d,+%d) of %d bytes lies in %d, want %d", c.off, c.n, m.size, got, want)
			}
		}
	}
	for i, m := range all {
		check(m, m.number)
		if d.MemoryAt(unsafe.Pointer(&x[0]), 1) != 0 || uintptr(m.Base())%pageSize != 0 {
			t.Error("memory of Go is shared, or a base is odd")
		}
		if i%2 == 0 {
			if err := m.Free(); err != nil { // its addresses are not used again before the check
				t.Fatal(err)
			}
			check(m, 0)
			base, n := m.Range()
			_ = unix.MunmapPtr(base, uintptr(n))
		}
	}
	for i, m := range all {
		if i%2 != 0 {
			free(t, m)
		}
	}
	if d.memory.table.Load() != nil {
		t.Error("what is free is still looked for")
	}
}

func TestMemoryArguments(t *testing.T) {
	both(t, func(t *testing.T, inProcess bool) {
		d := pair(t, inProcess, Options{Attach: "auto"})[0]
		for _, c := range [][2]int64{{0, 1}, {-1, 1}, {1, 0}, {1, 3}, {1, -8}, {1 << 50, 1}, {1<<63 - 1, 64}} {
			if m, err := d.NewMemory(c[0], c[1]); err == nil {
				t.Errorf("%d bytes at multiples of %d: %+v", c[0], c[1], m)
			}
		}
		for _, align := range []int64{1, 64, 4096, 1 << 16, 2 << 20} {
			m := newMemory(t, d, 5000, align)
			if uintptr(m.Base())%uintptr(align) != 0 {
				t.Errorf("%p is no multiple of %d", m.Base(), align)
			}
			free(t, m)
		}
	})
}

// TestMemoryNone: no room is an error, and nothing is left open.
func TestMemoryNone(t *testing.T) {
	d := pair(t, false, Options{Attach: "auto"})[0]
	before := descriptors(t)
	d.sys = &kernel{memfd: unix.MemfdCreate, fallocate: func(int, uint32, int64, int64) error { return unix.ENOSPC }}
	if _, err := d.NewMemory(100, 1); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("got %v", err)
	}
	d.sys = &kernel{memfd: func(string, int) (int, error) { return -1, unix.EMFILE }}
	if _, err := d.NewMemory(100, 1); !errors.Is(err, unix.EMFILE) {
		t.Errorf("got %v", err)
	}
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
}

// TestMemoryInProcess: goroutine ranks name memory by slot and generation.
func TestMemoryInProcess(t *testing.T) {
	d := pair(t, true, Options{})
	p := attach(t, d[0], 1)
	m := newMemory(t, d[1], 100, 64)
	a, b := m.Name()
	v, err := p.MapMemory(d[0], a, b)
	if err != nil || v.Base() != m.Base() || v.Size() != 100 {
		t.Fatalf("MapMemory: %+v, %v", v, err)
	}
	if d[1].MemoryAt(m.Base(), 1) != 0 {
		t.Error("it has a number")
	}
	free(t, m)
	for _, c := range [][2]uint32{{a, b}, {a, b + 1}, {a + 1, b}, {^uint32(0), 1}} {
		if _, err := p.MapMemory(d[0], c[0], c[1]); err == nil {
			t.Errorf("%v names memory", c)
		}
	}
	if _, err := p.Memory(d[0], 1, 0, 0); err == nil {
		t.Error("a number names memory of goroutine ranks")
	}
}

// TestMemoryStrangers: memory is passed only to who proves to be of the job, and only what is meant for peers.
func TestMemoryStrangers(t *testing.T) {
	d := pair(t, false, Options{Attach: "socket"})
	m := newMemory(t, d[1], 100, 1)
	defer free(t, m)
	good := d[0].memoryToken(0, 1, m.number)
	bad := append([]byte{}, good...)
	bad[20] ^= 1
	for _, c := range []struct {
		name   string
		token  []byte
		number uint32
		ok     bool
	}{
		{"a peer", good, m.number, true},
		{"another number", good, m.number + 1, false},
		{"a wrong MAC", bad, m.number, false},
		{"the segment's token", d[0].passToken(0, 1), m.number, false},
		{"what there is not", d[0].memoryToken(0, 1, 60000), 60000, false},
		{"the segment by its descriptor", d[0].memoryToken(0, 1, uint32(d[1].seg.fd)+1), uint32(d[1].seg.fd) + 1, false},
		{"for another", d[0].memoryToken(0, 0, m.number), m.number, false},
	} {
		if c.name == "the segment's token" {
			c.token = binary.LittleEndian.AppendUint32(nil, wantsMemory)
			c.token = append(c.token, d[0].passToken(0, 1)[4:]...)
		}
		conn := dial(t, d[0])
		if _, err := conn.Write(binary.LittleEndian.AppendUint32(c.token, c.number)); err != nil {
			t.Fatal(err)
		}
		var b [1]byte
		_, err := io.ReadFull(conn, b[:])
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestMapAligned: address space is aligned, and has an end.
func TestMapAligned(t *testing.T) {
	if _, err := MapAligned(1<<62, pageSize, unix.PROT_NONE, 0); err == nil {
		t.Error("more address space than there is")
	}
	p, err := MapAligned(pageSize, 1<<21, unix.PROT_READ, 0)
	if err != nil || uintptr(p)%(1<<21) != 0 {
		t.Fatalf("%v, %v", p, err)
	}
	if err := unix.MunmapPtr(p, pageSize); err != nil {
		t.Error(err)
	}
	if err := withinFileLimit(1 << 62); err != nil && !strings.Contains(err.Error(), "ulimit -f") {
		t.Error(err)
	}
}

func BenchmarkMemoryAt(b *testing.B) {
	d := pair(b, false, Options{Attach: "auto"})[0]
	x := make([]byte, 100)
	mem := unsafe.Pointer(&x[0])
	run := func(name string, p unsafe.Pointer) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				d.MemoryAt(p, 100)
			}
		})
	}
	run("None", mem)
	for range 10 {
		m := newMemory(b, d, 4096, 1)
		defer free(b, m)
	}
	run("Outside", mem)
	run("Inside", d.memory.table.Load().list[5].base)
}

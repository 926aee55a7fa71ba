package shm

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ompi-go/ompi-go/core"
)

// Memory is memory of this rank that its peers can have in their own address space, under the same name for all of them. Between
// processes it is a memfd of its own, named by its descriptor, which peers open in the ways in which they open segments. Between
// goroutine ranks it lies on the Go heap, named by slot and generation (register.go).
type Memory struct {
	d      *Domain
	base   unsafe.Pointer
	size   int64 // a multiple of the page size between processes
	number uint32
	fd     int
	tail   *tail
	slot   uint32 // in-process
	gen    uint32
}

// tail is the last page of a Memory's file. Peers trust it as far as the owner of the file: it tells them what the file is, and when
// its name may be somebody else's.
type tail struct {
	magic  uint64
	rank   uint32
	number uint32
	job    [16]byte
	base   uint64 // address of the first byte in the owner
	freed  atomic.Uint32
}

const (
	memoryMagic = 0x6d656d2d6f672d6f
	tailSize    = pageSize
	// MemoryNumbers bounds the numbers of Memory, which begin at 1.
	MemoryNumbers = 1 << 16
)

// memories is what a Domain has of its rank's Memory.
type memories struct {
	mu    sync.Mutex // a leaf: changes of table, and descriptors while they are passed on
	table atomic.Pointer[memoryTable]
}

// memoryTable is a snapshot that does not change.
type memoryTable struct {
	lo, hi uintptr   // all of list lies inside
	list   []*Memory // by address
}

// NewMemory makes n zeroed bytes, n above 0, that peers can map. Between processes they are committed now, so that touching them later
// cannot fail. The beginning is a multiple of align, a power of two.
func (d *Domain) NewMemory(n, align int64) (*Memory, error) {
	if n <= 0 || align <= 0 || align&(align-1) != 0 {
		return nil, fmt.Errorf("shm: %d bytes at multiples of %d: want a positive number, and a power of two", n, align)
	}
	if d.hub != nil {
		if n > 1<<46-align {
			return nil, fmt.Errorf("shm: %d bytes: %w", n, unix.ENOMEM)
		}
		if err := RoomFor(n + align); err != nil {
			return nil, err
		}
		m := &Memory{d: d, base: alignedHeap(n, max(align, lineSize)), size: n}
		m.slot, m.gen = d.Register(m.base, n)
		return m, nil
	}
	m, err := d.mapMemory(n, align)
	if err != nil {
		return nil, err
	}
	d.memory.change(func(list []*Memory) []*Memory {
		i, _ := slices.BinarySearchFunc(list, m, func(a, b *Memory) int { return cmp.Compare(uintptr(a.base), uintptr(b.base)) })
		return slices.Insert(list, i, m)
	})
	return m, nil
}

func alignedHeap(n, align int64) unsafe.Pointer {
	mem := make([]byte, n+align)
	p := unsafe.Pointer(unsafe.SliceData(mem))
	return unsafe.Add(p, -uintptr(p)&uintptr(align-1))
}

// mapMemory makes a memfd and maps it.
func (d *Domain) mapMemory(n, align int64) (m *Memory, err error) {
	if n > 1<<46 {
		return nil, fmt.Errorf("shm: shared memory of %d bytes: %w", n, unix.ENOMEM)
	}
	size := (n + pageSize - 1) &^ (pageSize - 1)
	if err := withinFileLimit(size + tailSize); err != nil {
		return nil, err
	}
	fd, err := d.sys.memfd("ompi-go-mem", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if errors.Is(err, unix.EMFILE) {
		return nil, tooManyFiles(err)
	}
	if err != nil {
		return nil, fmt.Errorf("shm: memfd_create: %w", err)
	}
	defer func() {
		if err != nil {
			unix.Close(fd)
		}
	}()
	if fd >= MemoryNumbers-1 {
		return nil, fmt.Errorf("shm: descriptor %d is too high for the name of shared memory: %w", fd, unix.EMFILE)
	}
	if err := unix.Ftruncate(fd, size+tailSize); err != nil {
		return nil, fmt.Errorf("shm: ftruncate of shared memory to %d bytes: %w", size, err)
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL); err != nil {
		return nil, fmt.Errorf("shm: sealing shared memory: %w", err)
	}
	if err := d.sys.commitMuch(fd, size+tailSize); err != nil {
		return nil, fmt.Errorf("shm: no memory for %d bytes of shared memory: %w", size, err)
	}
	var base unsafe.Pointer
	flags := unix.MAP_SHARED
	if align > pageSize {
		if base, err = MapAligned(size+tailSize, align, unix.PROT_NONE, unix.MAP_NORESERVE); err != nil {
			return nil, err
		}
		flags |= unix.MAP_FIXED
	}
	// Where mapping fails the kernel may have given up what was there, and somebody else have got it: it is not ours to unmap.
	if base, err = unix.MmapPtr(fd, 0, base, uintptr(size+tailSize), unix.PROT_READ|unix.PROT_WRITE, flags); err != nil {
		return nil, fmt.Errorf("shm: mapping %d bytes of shared memory: %w", size, err)
	}
	m = &Memory{d: d, base: base, size: size, number: uint32(fd) + 1, fd: fd, tail: (*tail)(unsafe.Add(base, size))}
	m.tail.magic, m.tail.rank, m.tail.number, m.tail.job = memoryMagic, uint32(d.job.Rank()), m.number, d.job.ID()
	m.tail.base = uint64(uintptr(base))
	return m, nil
}

// MapAligned maps n bytes of anonymous private memory, beginning at a multiple of align, which mmap does not promise. n and align are
// multiples of the page that flags ask for.
func MapAligned(n, align int64, prot, flags int) (unsafe.Pointer, error) {
	room := n
	if align > pageSize {
		room += align
	}
	p, err := unix.MmapPtr(-1, 0, nil, uintptr(room), prot, unix.MAP_PRIVATE|unix.MAP_ANON|flags)
	if err != nil {
		return nil, fmt.Errorf("shm: mapping %d bytes of memory: %w", n, err)
	}
	if room == n {
		return p, nil
	}
	skip := int64(-uintptr(p) & uintptr(align-1))
	if skip > 0 {
		err = unix.MunmapPtr(p, uintptr(skip))
	}
	if rest := room - n - skip; rest > 0 && err == nil {
		err = unix.MunmapPtr(unsafe.Add(p, skip+n), uintptr(rest))
	}
	if err != nil {
		return nil, fmt.Errorf("shm: giving back address space: %w", err)
	}
	return unsafe.Add(p, skip), nil
}

// change puts a new table in force. f gets a copy of the list, and leaves it in order.
func (x *memories) change(f func([]*Memory) []*Memory) {
	x.mu.Lock()
	defer x.mu.Unlock()
	t := new(memoryTable)
	if old := x.table.Load(); old != nil {
		t.list = append(make([]*Memory, 0, len(old.list)+1), old.list...)
	}
	t.list = f(t.list)
	if len(t.list) == 0 {
		x.table.Store(nil)
		return
	}
	last := t.list[len(t.list)-1]
	t.lo, t.hi = uintptr(t.list[0].base), uintptr(last.base)+uintptr(last.size)
	x.table.Store(t)
}

// Base is the first address.
func (m *Memory) Base() unsafe.Pointer { return m.base }

// Name is how peers name it: its number and 0 between processes, slot and generation between goroutine ranks.
func (m *Memory) Name() (uint32, uint32) {
	if m.d.hub != nil {
		return m.slot, m.gen
	}
	return m.number, 0
}

// Range is the address space that it takes; 0 bytes on the Go heap.
func (m *Memory) Range() (unsafe.Pointer, int64) {
	if m.d.hub != nil {
		return m.base, 0
	}
	return m.base, m.size + tailSize
}

// Free ends its name. Its memory goes when nobody has it mapped any more: this process's mapping, which Range tells, is the caller's
// from now on.
func (m *Memory) Free() error {
	if m.d.hub != nil {
		m.d.Deregister(m.slot, m.gen)
		return nil
	}
	m.d.memory.change(func(list []*Memory) []*Memory { return slices.DeleteFunc(list, func(x *Memory) bool { return x == m }) })
	m.tail.freed.Store(1) // before the number can be another's
	return unix.Close(m.fd)
}

// MemoryAt tells which Memory of this rank n bytes at addr lie in; 0: in none, as ever between goroutine ranks. It is for the hot path:
// of ordinary memory it knows by a comparison.
func (d *Domain) MemoryAt(addr unsafe.Pointer, n int64) (number uint32) {
	t := d.memory.table.Load()
	if t == nil || uintptr(addr) < t.lo || uintptr(addr) >= t.hi {
		return 0
	}
	return t.find(uintptr(addr), n)
}

func (t *memoryTable) find(a uintptr, n int64) uint32 {
	lo, hi := 0, len(t.list) // the first that begins behind a
	for lo < hi {
		if mid := (lo + hi) / 2; uintptr(t.list[mid].base) <= a {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 {
		return 0
	}
	m := t.list[lo-1]
	if off := int64(a - uintptr(m.base)); off >= m.size || n < 0 || n > m.size-off {
		return 0
	}
	return m.number
}

// mapping is a peer's Memory in this process.
type mapping struct {
	region *core.Region // with the tail
	size   int64        // without
	base   uint64       // in the peer
	tail   *tail
}

// Memory gives the address, in this process, of n bytes at address addr of the peer in its Memory of that number, which it maps at
// the first call. All of them come from the peer, and are checked. The token is held.
func (p *Peer) Memory(d *Domain, number uint32, addr uint64, n int64) (unsafe.Pointer, error) {
	m, err := p.mapped(d, number)
	if err != nil {
		return nil, err
	}
	return m.part(p, number, addr, n)
}

func (m *mapping) part(p *Peer, number uint32, addr uint64, n int64) (unsafe.Pointer, error) {
	off := addr - m.base
	if addr < m.base || n < 0 || off > uint64(m.size) || uint64(n) > uint64(m.size)-off {
		return nil, fmt.Errorf("shm: range [%#x,+%d) outside rank %d's memory %d of %d bytes at %#x", addr, n, p.Rank, number, m.size, m.base)
	}
	return unsafe.Add(m.region.Base(), off), nil
}

// MapMemory is the peer's whole Memory of that name (Memory.Name) as a region, which stays what it is until its last user has gone,
// whatever the peer does. The token is held.
func (p *Peer) MapMemory(d *Domain, a, b uint32) (*core.Region, error) {
	if p.domain != nil {
		mem, n, err := p.whole(a, b)
		if err != nil {
			return nil, err
		}
		return core.NewRegion(core.RegionPeer, mem, n, nil), nil
	}
	if b != 0 {
		return nil, fmt.Errorf("shm: rank %d has no memory %d/%d", p.Rank, a, b)
	}
	m, err := p.mapped(d, a)
	if err != nil {
		return nil, err
	}
	return m.view(m.region.Base(), m.size), nil
}

// MapPart is n bytes at address addr of the peer in its Memory of that number, checked as by Memory, as a region of which the same is true.
// The token is held.
func (p *Peer) MapPart(d *Domain, number uint32, addr uint64, n int64) (*core.Region, error) {
	m, err := p.mapped(d, number)
	if err != nil {
		return nil, err
	}
	mem, err := m.part(p, number, addr, n)
	if err != nil {
		return nil, err
	}
	return m.view(mem, n), nil
}

// view is a region inside, which holds on to all of it.
func (m *mapping) view(mem unsafe.Pointer, n int64) *core.Region {
	m.region.Ref()
	return core.NewRegion(core.RegionPeer, mem, n, func(unsafe.Pointer, int64) error { return m.region.Unref() })
}

// whole is Registered for all of a registration.
func (p *Peer) whole(slot, gen uint32) (unsafe.Pointer, int64, error) {
	r := &p.domain.mem
	r.mu.Lock()
	defer r.mu.Unlock()
	if int64(slot) >= int64(len(r.slots)) || r.slots[slot].gen != gen || r.slots[slot].mem == nil {
		return nil, 0, fmt.Errorf("shm: rank %d has no memory %d/%d", p.Rank, slot, gen)
	}
	return r.slots[slot].mem, r.slots[slot].n, nil
}

// mapped gives the mapping of a number, new or old.
func (p *Peer) mapped(d *Domain, number uint32) (*mapping, error) {
	if int64(number) < int64(len(p.memory)) {
		if m := p.memory[number]; m != nil && m.tail.freed.Load() == 0 {
			return m, nil
		}
	}
	return p.attachMemory(d, number)
}

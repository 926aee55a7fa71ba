package shm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/progress"
)

// segment is this rank's memfd and what goes with it.
type segment struct {
	sys          *kernel
	fd           int
	heap, size   int64 // where the heap begins and ends
	region       *core.Region
	top          *atomic.Int64 // in the control block: peers take from the heap, too
	spare        []span
	noMembarrier bool
	bell         int
	bellFD       progress.FD
	event        int
	eventFD      progress.FD
	pass         *passer
	opened       opened
}

// opened is the descriptor of the segment that was attached last: commonly a piece of it is taken next.
type opened struct{ rank, fd int }

func (o *opened) keep(rank, fd int) {
	o.close()
	o.rank, o.fd = rank, fd
}

func (o *opened) close() {
	if o.fd >= 0 {
		unix.Close(o.fd)
	}
	o.fd = -1
}

type span struct{ off, size int64 }

const pageSize = 4096

// kernel is what may fail for want of memory. Tests give a Domain one that does.
type kernel struct {
	memfd     func(name string, flags int) (int, error)
	fallocate func(fd int, mode uint32, off, n int64) error
}

func realKernel() *kernel {
	return &kernel{memfd: unix.MemfdCreate, fallocate: unix.Fallocate}
}

func (d *Domain) openSegment() (err error) {
	d.engine.Lock()
	defer d.engine.Unlock()
	size := d.opt.SegmentSize
	if size <= 0 {
		size = max(64<<20, int64(len(d.local))<<20)
	}
	size = (size + pageSize - 1) &^ (pageSize - 1)
	head := heapStart(len(d.local))
	if size < head+pageSize {
		return fmt.Errorf("shm: shm_segment_size %d is too small for %d local ranks", size, len(d.local))
	}
	if err := withinFileLimit(size); err != nil {
		return fmt.Errorf("%w; raise it or lower shm_segment_size", err)
	}
	fd, err := d.sys.memfd("ompi-go", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return fmt.Errorf("shm: memfd_create: %w", err)
	}
	defer func() {
		switch {
		case err == nil:
		case d.seg == nil:
			unix.Close(fd)
		default:
			_ = d.closeSegment() // the first error is the one to tell
			d.seg = nil
		}
	}()
	if err := unix.Ftruncate(fd, size); err != nil {
		return fmt.Errorf("shm: ftruncate of a shared segment to %d bytes: %w", size, err)
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL); err != nil {
		return fmt.Errorf("shm: sealing a segment: %w", err)
	}
	if err := d.sys.commit(fd, 0, head); err != nil {
		return fmt.Errorf("shm: no memory for a segment's first %d bytes: %w", head, err)
	}
	region, err := mapFD(fd, size, core.RegionMapped)
	if err != nil {
		return err
	}
	d.seg = &segment{sys: d.sys, fd: fd, heap: head, size: size, region: region, bell: -1, event: -1, opened: opened{fd: -1}}
	d.seg.noMembarrier = membarrier(membarrierRegisterGlobalExpedited) != nil || membarrier(membarrierGlobalExpedited) != nil
	d.ctl = controlAt(region.Base(), len(d.local))
	d.seg.top = &d.ctl.top
	d.seg.top.Store(head)
	d.ctl.id = identity{magic: controlMagic, version: controlVersion, rank: uint32(d.job.Rank()), local: uint32(len(d.local)), job: d.job.ID(), self: uint64(uintptr(region.Base()))}
	allowPeers()
	if len(d.local) > 1 {
		if err := d.openBell(); err != nil {
			return err
		}
		if d.seg.pass, err = newPasser(d); err != nil {
			return err
		}
	}
	if err := d.job.Put(d.called(cardKey), d.card().append(nil)); err != nil {
		return err
	}
	d.engine.AddSleeper(d)
	return nil
}

// allowPeers lets the launcher's descendants look into this process where yama forbids it otherwise; elsewhere it does nothing.
func allowPeers() {
	_ = unix.Prctl(unix.PR_SET_PTRACER, uintptr(os.Getppid()), 0, 0, 0) // EINVAL: no yama here
}

func mapFD(fd int, size int64, kind core.RegionKind) (*core.Region, error) {
	base, err := unix.MmapPtr(fd, 0, nil, uintptr(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("shm: mapping a segment of %d bytes: %w", size, err)
	}
	return core.NewRegion(kind, base, size, func(p unsafe.Pointer, n int64) error { return unix.MunmapPtr(p, uintptr(n)) }), nil
}

// heapStart is where the heap begins, behind the control block.
func heapStart(local int) int64 { return (controlSize(local) + pageSize - 1) &^ (pageSize - 1) }

// alloc takes n bytes, a multiple of the line size, from the heap.
func (s *segment) alloc(n int64) (Piece, unsafe.Pointer, error) {
	i := slices.IndexFunc(s.spare, func(f span) bool { return f.size == n })
	var off int64
	if i >= 0 {
		off = s.spare[i].off
		s.spare = slices.Delete(s.spare, i, i+1)
		clear(unsafe.Slice((*byte)(unsafe.Add(s.region.Base(), off)), n))
	} else {
		var err error
		if off, err = s.sys.take(s.top, s.fd, s.heap, s.size, n); err != nil {
			return 0, nil, err
		}
	}
	return Piece(off), unsafe.Add(s.region.Base(), off), nil
}

// take takes n bytes off the unused end of a segment's heap, which begins at heap. Several processes may do so at once.
func (k *kernel) take(top *atomic.Int64, fd int, heap, size, n int64) (int64, error) {
	for {
		off := top.Load()
		if off < heap || off > size || off%lineSize != 0 || n > size-off { // peers write top: it is not believed
			return 0, fmt.Errorf("shm: a shared segment of %d bytes is full; raise shm_segment_size", size)
		}
		if err := committable(n); err != nil {
			return 0, fmt.Errorf("shm: no memory for more of a shared segment: %w", err)
		}
		if !top.CompareAndSwap(off, off+n) {
			continue
		}
		if err := k.commit(fd, off, n); err != nil {
			top.CompareAndSwap(off+n, off) // unless somebody has taken more
			return 0, fmt.Errorf("shm: no memory for %d more bytes of a shared segment: %w", n, err)
		}
		return off, nil
	}
}

// allocAt takes a piece of the heap of a peer's segment.
func (d *Domain) allocAt(p *Peer, n int64) (Piece, unsafe.Pointer, error) {
	o := &d.seg.opened
	if o.fd < 0 || o.rank != p.Rank {
		fd, err := d.openSegmentOf(p.Rank)
		if err != nil {
			return 0, nil, fmt.Errorf("shm: rank %d: %w", p.Rank, err)
		}
		o.keep(p.Rank, fd)
		// It may have ended, and another process have its number: nothing is to be written to that one's files.
		if file, err := fileOf(fd); err != nil || file.id != p.file {
			o.close()
			return 0, nil, fmt.Errorf("shm: rank %d: %w: another process has its number (%v)", p.Rank, os.ErrProcessDone, err)
		}
	}
	off, err := d.sys.take(&p.ctl.top, o.fd, heapStart(len(d.local)), p.region.Size(), n)
	o.close()
	if err != nil {
		return 0, nil, err
	}
	return Piece(off), unsafe.Add(p.region.Base(), off), nil
}

func (d *Domain) openSegmentOf(rank int) (int, error) {
	b, err := d.job.Get(rank, d.called(cardKey))
	if err != nil {
		return -1, err
	}
	c, err := parseCard(b)
	if err != nil {
		return -1, err
	}
	return d.openPeer(rank, c)
}

func (s *segment) free(p Piece, n int64) { s.spare = append(s.spare, span{int64(p), n}) }

// The card tells peers where to find the segment.
//
//	 0      1      5      9           17
//	+------+------+------+-----------+
//	| ver  | pid  | fd   | size      |   little-endian
//	+------+------+------+-----------+
const (
	cardKey     = "shm"
	cardVersion = 1
	cardSize    = 17
)

type card struct {
	pid, fd int
	size    int64
}

func (c card) append(b []byte) []byte {
	b = append(b, cardVersion)
	b = binary.LittleEndian.AppendUint32(b, uint32(c.pid))
	b = binary.LittleEndian.AppendUint32(b, uint32(c.fd))
	return binary.LittleEndian.AppendUint64(b, uint64(c.size))
}

func (d *Domain) card() card { return card{pid: os.Getpid(), fd: d.seg.fd, size: d.seg.size} }

func parseCard(b []byte) (card, error) {
	if len(b) < 1 || b[0] != cardVersion {
		return card{}, errors.New("its shared memory speaks another version; all ranks must run the same release")
	}
	if len(b) != cardSize {
		return card{}, fmt.Errorf("its shared memory card has %d bytes, want %d", len(b), cardSize)
	}
	c := card{
		pid:  int(int32(binary.LittleEndian.Uint32(b[1:]))),
		fd:   int(int32(binary.LittleEndian.Uint32(b[5:]))),
		size: int64(binary.LittleEndian.Uint64(b[9:])),
	}
	if c.pid <= 0 || c.fd < 0 || c.size < pageSize || c.size > 1<<46 {
		return card{}, fmt.Errorf("its shared memory card is bad: %+v", c)
	}
	return c, nil
}

func (d *Domain) attachSegment(rank int) (*Peer, error) {
	if rank == d.job.Rank() {
		d.seg.region.Ref()
		return &Peer{Rank: rank, ctl: d.ctl, region: d.seg.region, pid: os.Getpid(), bell: bell{addr: unix.SockaddrUnix{Name: d.bellName(rank)}}}, nil
	}
	b, err := d.job.Get(rank, d.called(cardKey))
	if err != nil {
		return nil, err
	}
	c, err := parseCard(b)
	if err != nil {
		return nil, err
	}
	fd, err := d.openPeer(rank, c)
	if err != nil {
		return nil, err
	}
	kept := false
	defer func() {
		if !kept {
			unix.Close(fd)
		}
	}()
	// The seals first: from then on the size cannot change.
	if seals, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0); err != nil || seals&unix.F_SEAL_SHRINK == 0 {
		return nil, fmt.Errorf("its segment is not sealed against shrinking (seals %#x, %v)", seals, err)
	}
	file, err := fileOf(fd)
	if err != nil {
		return nil, err
	}
	if file.size < c.size {
		return nil, fmt.Errorf("its segment has %d bytes, its card says %d", file.size, c.size)
	}
	region, err := mapFD(fd, c.size, core.RegionPeer)
	if err != nil {
		return nil, err
	}
	ctl := controlAt(region.Base(), len(d.local))
	if id := ctl.id; id.magic != controlMagic || id.version != controlVersion || id.rank != uint32(rank) || id.job != d.job.ID() || int(id.local) != len(d.local) {
		_ = region.Unref()
		return nil, errors.New("the segment found is not its own")
	}
	d.seg.opened.keep(rank, fd)
	kept = true
	return &Peer{Rank: rank, ctl: ctl, region: region, file: file.id, pid: c.pid, bell: bell{addr: unix.SockaddrUnix{Name: d.bellName(rank)}}}, nil
}

// fileID tells files apart.
type fileID struct{ dev, ino uint64 }

type file struct {
	id   fileID
	size int64
}

func fileOf(fd int) (file, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return file{}, fmt.Errorf("fstat of its segment: %w", err)
	}
	return file{fileID{uint64(st.Dev), st.Ino}, st.Size}, nil
}

// openPeer gets a descriptor of a peer's segment. The caller closes it.
func (d *Domain) openPeer(rank int, c card) (int, error) {
	var procErr error
	if d.opt.Attach != "socket" {
		path := fmt.Sprintf("/proc/%d/fd/%d", c.pid, c.fd)
		fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0)
		if err == nil {
			return fd, nil
		}
		procErr = fmt.Errorf("%s: %w", path, err)
		if d.opt.Attach == "proc" {
			return -1, procErr
		}
	}
	fd, err := d.fetch(rank, c.pid)
	switch {
	case err == nil:
		return fd, nil
	case ended(c.pid):
		return -1, fmt.Errorf("%w: process %d", os.ErrProcessDone, c.pid)
	case procErr != nil:
		return -1, fmt.Errorf("%w; %w", procErr, err)
	}
	return -1, err
}

// ended reports whether a process has ended, perhaps without having been waited for yet.
func ended(pid int) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return errors.Is(err, unix.ESRCH)
	}
	defer unix.Close(fd)
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
	return err == nil && n == 1
}

func (d *Domain) closeSegment() error {
	var errs []error
	d.closeBell()
	if d.seg.pass != nil {
		d.seg.pass.close()
	}
	for _, p := range d.peers {
		if p != nil {
			if p.bell.fd > 0 {
				unix.Close(p.bell.fd)
			}
			errs = append(errs, p.unmapMemory(), p.region.Unref())
		}
	}
	d.seg.opened.close()
	errs = append(errs, d.seg.region.Unref(), unix.Close(d.seg.fd))
	return errors.Join(errs...)
}

func ptr(b *byte) uintptr { return uintptr(unsafe.Pointer(b)) }

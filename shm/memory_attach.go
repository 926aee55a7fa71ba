package shm

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ompi-go/ompi-go/core"
)

// attachMemory maps a peer's Memory. What the peer has freed meanwhile goes: this is when its pages would be missed.
func (p *Peer) attachMemory(d *Domain, number uint32) (*mapping, error) {
	if number == 0 || number >= MemoryNumbers || p.domain != nil {
		return nil, fmt.Errorf("shm: rank %d names memory %d, which cannot be", p.Rank, number)
	}
	if p.Rank == d.job.Rank() {
		return nil, fmt.Errorf("shm: memory %d is this rank's own", number)
	}
	var err error
	if p.fresh++; p.fresh*sweepShare > p.live { // looking at every mapping each time would take longer than the mapping
		err = p.sweep(d)
	}
	if d.mapped >= mappingsMax {
		return nil, fmt.Errorf("shm: memory %d of rank %d: %w", number, p.Rank, ErrManyMapped)
	}
	m, e := d.openMemory(p, number)
	if e != nil {
		return nil, fmt.Errorf("shm: memory %d of rank %d: %w", number, p.Rank, e)
	}
	for int64(len(p.memory)) <= int64(number) {
		p.memory = append(p.memory, nil)
	}
	if old := p.memory[number]; old != nil { // freed, and not swept yet
		err = errors.Join(err, old.region.Unref())
		p.live--
		d.mapped--
	}
	p.memory[number] = m
	p.live++
	d.mapped++
	if err != nil {
		return nil, err
	}
	return m, nil
}

const (
	// sweepShare: of that many mappings one may be of memory that its owner has freed.
	sweepShare = 64
	// mappingsMax bounds the mappings of peers' Memory, a fourth of what the kernel allows a process: where it has no more, Go's runtime ends
	// the program.
	mappingsMax = 1 << 14
)

// ErrManyMapped: other memory of the peer may be mapped still, and this later.
var ErrManyMapped = fmt.Errorf("%d pieces of memory of peers are mapped already, and a process cannot have many more mappings (vm.max_map_count); fewer and larger pieces do with less", mappingsMax)

// sweep lets go of what the peer has freed.
func (p *Peer) sweep(d *Domain) error {
	p.fresh = 0
	var errs []error
	for i, m := range p.memory {
		if m != nil && m.tail.freed.Load() != 0 {
			p.memory[i] = nil
			p.live--
			d.mapped--
			errs = append(errs, m.region.Unref())
		}
	}
	return errors.Join(errs...)
}

// unmapMemory lets go of all Memory of the peer.
func (p *Peer) unmapMemory() error {
	var errs []error
	for _, m := range p.memory {
		if m != nil {
			errs = append(errs, m.region.Unref())
		}
	}
	p.memory = nil
	return errors.Join(errs...)
}

func (d *Domain) openMemory(p *Peer, number uint32) (*mapping, error) {
	fd, err := d.openMemoryFD(p, number)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	// Files that can shrink would kill this process when it touches them, and only a memfd has seals. Looked at before the size, which cannot
	// change from then on.
	if seals, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0); err != nil || seals&unix.F_SEAL_SHRINK == 0 {
		return nil, fmt.Errorf("descriptor %d is no shared memory (seals %#x, %v)", number-1, seals, err)
	}
	file, err := fileOf(fd)
	if err != nil {
		return nil, err
	}
	if file.size <= tailSize || file.size%pageSize != 0 {
		return nil, fmt.Errorf("descriptor %d is no shared memory: it has %d bytes", number-1, file.size)
	}
	region, err := mapFD(fd, file.size, core.RegionPeer)
	if err != nil {
		return nil, err
	}
	size := file.size - tailSize
	t := (*tail)(unsafe.Add(region.Base(), size))
	base := t.base
	if t.magic != memoryMagic || t.rank != uint32(p.Rank) || t.number != number || t.job != d.job.ID() || base > 1<<62 || t.freed.Load() != 0 {
		return nil, errors.Join(fmt.Errorf("descriptor %d is not that memory, or not any more", number-1), region.Unref())
	}
	return &mapping{region: region, size: size, base: base, tail: t}, nil
}

// openMemoryFD gets a descriptor of a peer's Memory. The caller closes it.
func (d *Domain) openMemoryFD(p *Peer, number uint32) (int, error) {
	var procErr error
	if d.opt.Attach != "socket" {
		path := fmt.Sprintf("/proc/%d/fd/%d", p.pid, number-1)
		fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
		if err == nil {
			return fd, nil
		}
		procErr = fmt.Errorf("%s: %w", path, err)
		if d.opt.Attach == "proc" {
			return -1, procErr
		}
	}
	request := binary.LittleEndian.AppendUint32(d.memoryToken(d.job.Rank(), p.Rank, number), number)
	fd, err := d.ask(p.Rank, p.pid, request)
	switch {
	case err == nil:
		return fd, nil
	case ended(p.pid):
		return -1, fmt.Errorf("%w: process %d", os.ErrProcessDone, p.pid)
	case procErr != nil:
		return -1, fmt.Errorf("%w; %w", procErr, err)
	}
	return -1, err
}

// A request for Memory is like one for the segment (pass.go), with the uppermost bit of the asker set, another MAC, and the number
// behind it:
//
//	 0                    4                       36       40
//	+--------------------+-----------------------+--------+
//	| asker | 0x80000000 | MAC                   | number |   little-endian
//	+--------------------+-----------------------+--------+
const wantsMemory = 1 << 31

// memoryToken is passToken for a Memory.
func (d *Domain) memoryToken(asker, owner int, number uint32) []byte {
	secret := d.job.Secret()
	b := binary.LittleEndian.AppendUint32(nil, uint32(asker)|wantsMemory)
	m := hmac.New(sha256.New, secret[:])
	fmt.Fprintf(m, "ompi-go shm %s %s %d of %d for %d", d.called("memory"), d.job.ID(), number, owner, asker)
	return m.Sum(b)
}

// descriptorOf is a descriptor of this rank's Memory, which the caller closes. It is called by goroutines that have no token.
func (d *Domain) descriptorOf(number uint32) (int, error) {
	x := d.memory
	x.mu.Lock()
	defer x.mu.Unlock()
	if t := x.table.Load(); t != nil {
		for _, m := range t.list {
			if m.number == number {
				return unix.FcntlInt(uintptr(m.fd), unix.F_DUPFD_CLOEXEC, 0)
			}
		}
	}
	return -1, fmt.Errorf("shm: there is no memory %d here", number)
}

package mpool

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ompi-go/ompi-go/internal/invariants"
)

// Graveyard keeps the addresses of freed mappings reserved until it is closed, so that who uses freed memory late hits nobody else's.
// The memory itself goes at once. Under the build tag invariants the addresses cannot be touched any more; else a late read sees
// zeros.
type Graveyard struct {
	mu     sync.Mutex // a leaf
	graves []grave    // the oldest first
	bytes  int64
	closed bool
}

type grave struct {
	base unsafe.Pointer
	n    int64
}

// graveyardLimit bounds reserved address space: of 128 TiB that a process has. The oldest go first.
const graveyardLimit = 1 << 42

// gravesLimit bounds their number: the kernel allows a process some 65,000 mappings (vm.max_map_count), and where it has no more Go's runtime
// ends the program.
const gravesLimit = 1 << 13

// Bury takes over a mapping of n bytes at base.
func (g *Graveyard) Bury(base unsafe.Pointer, n int64) error {
	if n == 0 {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return unmap(grave{base, n})
	}
	prot := unix.PROT_READ | unix.PROT_WRITE
	if invariants.On {
		prot = unix.PROT_NONE
	}
	if _, err := unix.MmapPtr(-1, 0, base, uintptr(n), prot, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE|unix.MAP_FIXED); err != nil {
		// The kernel may have given up what was there, and somebody else have got it: it is not ours to unmap.
		return fmt.Errorf("mpool: reserving %d bytes of freed memory: %w", n, err)
	}
	g.graves = append(g.graves, grave{base, n})
	g.bytes += n
	var errs []error
	for g.bytes > graveyardLimit || len(g.graves) > gravesLimit {
		errs = append(errs, g.release())
	}
	return errors.Join(errs...)
}

// release gives back the oldest addresses.
func (g *Graveyard) release() error {
	x := g.graves[0]
	g.graves[0] = grave{}
	g.graves = g.graves[1:]
	g.bytes -= x.n
	return unmap(x)
}

// Retry calls alloc, and once more without the addresses when there is no room: where address space is limited (ulimit -v) they would
// use it up.
func (g *Graveyard) Retry(alloc func() error) error {
	err := alloc()
	if !errors.Is(err, unix.ENOMEM) {
		return err
	}
	g.mu.Lock()
	some := len(g.graves) > 0
	var errs []error
	for len(g.graves) > 0 {
		errs = append(errs, g.release())
	}
	g.mu.Unlock()
	if !some {
		return err
	}
	return errors.Join(append(errs, alloc())...)
}

// Close gives the addresses back; mappings that come later are undone at once.
func (g *Graveyard) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	var errs []error
	for len(g.graves) > 0 {
		errs = append(errs, g.release())
	}
	return errors.Join(errs...)
}

// Bytes is the address space that is reserved.
func (g *Graveyard) Bytes() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.bytes
}

func unmap(x grave) error {
	if err := unix.MunmapPtr(x.base, uintptr(x.n)); err != nil {
		return fmt.Errorf("mpool: unmapping %d bytes: %w", x.n, err)
	}
	return nil
}

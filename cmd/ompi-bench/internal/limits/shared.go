package limits

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// shared is one page that both processes map. Each word has two cache lines to itself, because hardware fetches lines in pairs.
//
//	  0  ball     the cache line that goes to and fro
//	128  address  of the child's buffer, 0 until it exists
//	256  ready    1 once the child serves
type shared struct {
	page []byte
}

const (
	ballAt, addressAt, readyAt = 0, 128, 256
	pageSize                   = 4096
	// stop in the ball ends the child's part of the game.
	stop = ^uint64(0)
)

func mapShared(fd int) (*shared, error) {
	page, err := unix.Mmap(fd, 0, pageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("limits: map shared page: %w", err)
	}
	return &shared{page}, nil
}

func (s *shared) word(at int) *uint64 { return (*uint64)(unsafe.Pointer(&s.page[at])) }

func (s *shared) unmap() error { return unix.Munmap(s.page) }

var errSilent = errors.New("the other process does not answer")

// await spins until the word is want (or, for the child, stop) and returns what it found. The clock is read so rarely that it costs
// nothing.
func await(w *uint64, want uint64, deadline time.Time) (uint64, error) {
	for polls := 1; ; polls++ {
		if v := atomic.LoadUint64(w); v == want || v == stop {
			return v, nil
		}
		if polls%(1<<22) == 0 && time.Now().After(deadline) {
			return 0, errSilent
		}
	}
}

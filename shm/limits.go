package shm

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// What a system says no to only by ending the program is asked before.

// tooManyFiles names the limit that many pieces meet.
func tooManyFiles(err error) error {
	var lim unix.Rlimit
	if e := unix.Getrlimit(unix.RLIMIT_NOFILE, &lim); e != nil {
		return fmt.Errorf("shm: memfd_create: %w", err)
	}
	return fmt.Errorf("shm: each piece of shared memory takes a file descriptor, of which this process may have %d (ulimit -n); take fewer and larger pieces, or raise that: %w", lim.Cur, err)
}

// withinFileLimit: growing a file beyond RLIMIT_FSIZE would not fail but kill the process by SIGXFSZ.
func withinFileLimit(size int64) error {
	var lim unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &lim); err == nil && lim.Cur < uint64(size) {
		return fmt.Errorf("shm: shared memory of %d bytes exceeds this process's file size limit of %d (ulimit -f): %w", size, lim.Cur, unix.EFBIG)
	}
	return nil
}

// RoomFor asks the system whether it would give n more bytes, of which many are meant: where it does not, Go's heap ends the program.
func RoomFor(n int64) error {
	if n < roomAsked {
		return nil
	}
	p, err := unix.MmapPtr(-1, 0, nil, uintptr(n), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err == nil {
		err = unix.MunmapPtr(p, uintptr(n))
	}
	if err != nil {
		return fmt.Errorf("shm: %d bytes of the heap: %w", n, err)
	}
	return nil
}

const roomAsked = 256 << 20

// committable tells whether n bytes can be committed, of which many are meant: the kernel would look for them by ending processes.
func committable(n int64) error {
	if n < roomAsked {
		return nil
	}
	b, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return nil // nobody knows
	}
	if most, ok := available(b); ok && n > most {
		return fmt.Errorf("shm: %d bytes of shared memory, where %d are available: %w", n, most, unix.ENOMEM)
	}
	return nil
}

// available is what meminfo says that processes can have, swap included.
func available(meminfo []byte) (n int64, ok bool) {
	for l := range bytes.Lines(meminfo) {
		f := bytes.Fields(l)
		if len(f) < 2 || string(f[0]) != "MemAvailable:" && string(f[0]) != "SwapFree:" {
			continue
		}
		k, err := strconv.ParseInt(string(f[1]), 10, 64)
		if err != nil || k < 0 || k > 1<<50 {
			return 0, false
		}
		n += k << 10
		ok = ok || string(f[0]) == "MemAvailable:"
	}
	return n, ok
}

// commitStep bounds one fallocate: older kernels undo all of it when a signal comes.
const commitStep = 16 << 20

// commitMuch takes memory for the first n bytes of a file now, as long as there is any: others may be taking theirs.
func (k *kernel) commitMuch(fd int, n int64) error {
	for off := int64(0); off < n; {
		if err := committable(n - off); err != nil {
			return err
		}
		step := min(n-off, roomAsked)
		if err := k.commit(fd, off, step); err != nil {
			return err
		}
		off += step
	}
	return nil
}

// commit takes memory for n bytes at off of a file now.
func (k *kernel) commit(fd int, off, n int64) error {
	for n > 0 {
		step := min(n, commitStep)
		err := k.fallocate(fd, 0, off, step)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return err
		}
		off += step
		n -= step
	}
	return nil
}

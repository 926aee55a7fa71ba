package shm

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// CheckRoom says whether n more bytes of memory are to be had. Asking for more is no error to the kernel: fallocate of a memfd fills the memory
// of the machine and then has some process killed, not always this one, and make ends the program.
func CheckRoom(n int64) error { return checkRoom(n, availableMemory) }

// checkRoom asks only for pieces that can matter: a look at /proc costs more than the pages of a small one.
func checkRoom(n int64, available func() int64) error {
	if n < worthALook || available == nil {
		return nil
	}
	if free := available(); n > free {
		return fmt.Errorf("%d bytes are wanted, and this machine has %d left: %w", n, free, unix.ENOMEM)
	}
	return nil
}

const (
	worthALook = 8 << 20
	// reserveStep: several ranks may ask at once, and each find the same room; so each looks again before it takes so much more.
	reserveStep = 256 << 20
)

// reserve has the kernel set n bytes of a file aside, from its beginning on.
func (k *kernel) reserve(fd int, n int64) error {
	for off := int64(0); off < n; off += reserveStep {
		if err := checkRoom(n-off, k.available); err != nil {
			return err
		}
		if err := k.fallocate(fd, 0, off, min(reserveStep, n-off)); err != nil {
			return err
		}
	}
	return nil
}

// availableMemory is what the kernel takes to be free for new programs, and swap; no bound where it does not tell. A limit of a cgroup is
// not looked at: beyond that one only members of the cgroup are killed.
func availableMemory() int64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return math.MaxInt64
	}
	return parseAvailable(text)
}

func parseAvailable(text []byte) int64 {
	sum, known := int64(0), false
	for line := range bytes.Lines(text) {
		f := bytes.Fields(line)
		if len(f) < 2 || string(f[0]) != "MemAvailable:" && string(f[0]) != "SwapFree:" {
			continue
		}
		kib, err := strconv.ParseInt(string(f[1]), 10, 64)
		if err != nil || kib < 0 || kib > math.MaxInt64>>11 {
			return math.MaxInt64
		}
		sum += kib << 10
		known = known || string(f[0]) == "MemAvailable:"
	}
	if !known {
		return math.MaxInt64
	}
	return sum
}

package limits

import (
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// copies of one timed loop
const copies = 16

// memcpy measures copying size bytes within this process, in MB/s.
func memcpy(size int) func() (float64, error) {
	from, to := make([]byte, size), make([]byte, size)
	for i := range from {
		from[i] = byte(i)
	}
	copy(to, from) // makes the pages exist
	return func() (float64, error) {
		start := time.Now()
		for range copies {
			copy(to, from)
		}
		return rate(size*copies, time.Since(start)), nil
	}
}

// readv measures the kernel copying size bytes out of the child, in MB/s.
func (c *child) readv(size int) (float64, error) {
	local := []unix.Iovec{{Base: &c.local[0]}}
	local[0].SetLen(size)
	remote := []unix.RemoteIovec{{Base: uintptr(atomic.LoadUint64(c.shared.word(addressAt))), Len: size}}
	start := time.Now()
	for range copies {
		n, err := unix.ProcessVMReadv(c.cmd.Process.Pid, local, remote, 0)
		if err != nil {
			return 0, os.NewSyscallError("process_vm_readv", err)
		}
		if n != size {
			return 0, fmt.Errorf("process_vm_readv gave %d of %d bytes", n, size)
		}
	}
	d := time.Since(start)
	if c.local[size-1] != byte(size-1) {
		return 0, fmt.Errorf("process_vm_readv gave wrong data")
	}
	return rate(size*copies, d), nil
}

package progress

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// epollWaitRaw asks with a zero timeout. It never blocks, so it need not tell the scheduler: that would cost more than the call.
func epollWaitRaw(epfd int, buf []unix.EpollEvent) (int, syscall.Errno) {
	return epollWaitHolding(epfd, buf, 0)
}

// epollWaitHolding waits for so many milliseconds and keeps its processor of the Go scheduler: it need not find another one when it goes on, which may
// take a millisecond. The runtime's signals, such as those of the collector, end the wait.
func epollWaitHolding(epfd int, buf []unix.EpollEvent, timeout int) (int, syscall.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(epfd), uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)), uintptr(timeout), 0, 0)
	return int(n), errno
}

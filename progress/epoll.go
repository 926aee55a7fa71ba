package progress

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// epollWaitRaw asks with a zero timeout. It never blocks, so it need not tell the scheduler: that would cost more than the call.
func epollWaitRaw(epfd int, buf []unix.EpollEvent) (int, syscall.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(epfd), uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)), 0, 0, 0)
	return int(n), errno
}

package limits

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// childVariable marks the second process; its value is the port to connect to and the core to run on, -1 for a child that only lends
// its memory.
const childVariable = "OMPI_BENCH_LIMITS_CHILD"

// ServeChild is the whole life of the second process. In any other process it returns at once; main calls it first.
func ServeChild() {
	value, ok := os.LookupEnv(childVariable)
	if !ok {
		return
	}
	if err := serve(value); err != nil {
		fmt.Fprintln(os.Stderr, "ompi-bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func serve(value string) error {
	runtime.LockOSThread()
	var port, core int
	if _, err := fmt.Sscanf(value, "%d,%d", &port, &core); err != nil {
		return fmt.Errorf("limits: %s=%q: %w", childVariable, value, err)
	}
	sh, err := mapShared(3)
	if err != nil {
		return err
	}
	buffer, err := unix.Mmap(-1, 0, largestCopy, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return fmt.Errorf("limits: buffer of the second process: %w", err)
	}
	for i := range buffer {
		buffer[i] = byte(i)
	}
	atomic.StoreUint64(sh.word(addressAt), uint64(uintptr(unsafe.Pointer(&buffer[0]))))
	if core < 0 {
		atomic.StoreUint64(sh.word(readyAt), 1)
		_, err := io.Copy(io.Discard, os.Stdin) // until the parent closes it
		return err
	}
	if err := pin(core); err != nil {
		return fmt.Errorf("limits: bind to core %d: %w", core, err)
	}
	fd, err := dial(port)
	if err != nil {
		return err
	}
	atomic.StoreUint64(sh.word(readyAt), 1)
	if err := returnBall(sh.word(ballAt)); err != nil {
		return err
	}
	return echo(fd)
}

// returnBall answers 2k+1 with 2k+2 until it is told to stop.
func returnBall(ball *uint64) error {
	deadline := time.Now().Add(patience)
	for next := uint64(1); ; next += 2 {
		v, err := await(ball, next, deadline)
		if err != nil {
			return err
		}
		if v == stop {
			return nil
		}
		atomic.StoreUint64(ball, next+1)
	}
}

// child is the parent's view of the second process.
type child struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	shared *shared
	fd     int // connection, -1 without
	next   uint64
	local  []byte
}

// startChild starts the second process on a core; -1: without one of its own.
func startChild(ctx context.Context, exe string, core int) (*child, error) {
	mem, err := unix.MemfdCreate("ompi-bench-limits", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("limits: memfd_create: %w", err)
	}
	file := os.NewFile(uintptr(mem), "limits")
	defer file.Close()
	if err := file.Truncate(pageSize); err != nil {
		return nil, fmt.Errorf("limits: size of the shared page: %w", err)
	}
	sh, err := mapShared(mem)
	if err != nil {
		return nil, err
	}
	c := &child{shared: sh, fd: -1, next: 1, local: make([]byte, largestCopy)}
	listener, port := -1, 0
	if core >= 0 {
		if listener, port, err = listen(); err != nil {
			return nil, c.failed(err)
		}
		defer unix.Close(listener)
	}
	c.cmd = exec.CommandContext(ctx, exe)
	c.cmd.Env = append(os.Environ(), childVariable+"="+strconv.Itoa(port)+","+strconv.Itoa(core))
	c.cmd.ExtraFiles = []*os.File{file}
	c.cmd.Stderr = os.Stderr
	// The thread that starts the child is locked and outlives it, as this signal requires.
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if c.stdin, err = c.cmd.StdinPipe(); err == nil {
		err = c.cmd.Start()
	}
	if err != nil {
		c.cmd = nil
		return nil, c.failed(fmt.Errorf("limits: start the second process: %w", err))
	}
	if core >= 0 {
		if c.fd, err = accept(listener); err != nil {
			return nil, c.failed(err)
		}
	}
	if _, err := await(sh.word(readyAt), 1, time.Now().Add(patience)); err != nil {
		return nil, c.failed(fmt.Errorf("limits: %w", err))
	}
	return c, nil
}

// failed ends what was begun and hands the reason on.
func (c *child) failed(err error) error {
	c.end()
	return err
}

// end lets the child go and waits for it.
func (c *child) end() {
	atomic.StoreUint64(c.shared.word(ballAt), stop)
	if c.fd >= 0 {
		unix.Close(c.fd)
	}
	if c.cmd != nil {
		c.stdin.Close()
		kill := time.AfterFunc(patience, func() { c.cmd.Process.Kill() })
		// Its exit status says nothing that the measurements have not.
		_ = c.cmd.Wait()
		kill.Stop()
	}
	_ = c.shared.unmap()
}

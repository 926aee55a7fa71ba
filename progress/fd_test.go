package progress

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// ready counts, and runs f each time.
type ready struct {
	n int
	f func(events uint32)
}

func (r *ready) Ready(events uint32) {
	r.n++
	if r.f != nil {
		r.f(events)
	}
}

func newEventfd(t testing.TB) int {
	t.Helper()
	fd, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

func ring(fd int) { _, _ = unix.Write(fd, []byte{1, 0, 0, 0, 0, 0, 0, 0}) }

func drain(fd int) {
	var b [8]byte
	_, _ = unix.Read(fd, b[:])
}

func TestFDs(t *testing.T) {
	e := newEngine(t, process(0))
	a, b := newEventfd(t), newEventfd(t)
	ra, rb := &ready{f: func(uint32) { drain(a) }}, &ready{f: func(uint32) { drain(b) }}
	locked(e, func() {
		fa, err := e.AddFD(a, unix.EPOLLIN, ra)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = e.AddFD(a, unix.EPOLLIN, ra); err == nil {
			t.Error("a descriptor was added twice")
		}
		fb, err := e.AddFD(b, unix.EPOLLIN, rb)
		if err != nil {
			t.Fatal(err)
		}
		ring(a)
		ring(b)
		if n := e.PollAll(); n != 2 || ra.n != 1 || rb.n != 1 {
			t.Errorf("%d events, %d and %d calls", n, ra.n, rb.n)
		}
		if err := e.ModFD(fa, 0); err != nil {
			t.Error(err)
		}
		ring(a)
		if e.PollAll(); ra.n != 1 {
			t.Error("called though nothing is watched for")
		}
		if err := e.ModFD(fa, unix.EPOLLIN); err != nil {
			t.Error(err)
		}
		if e.PollAll(); ra.n != 2 {
			t.Error("not called for what it is watched for again")
		}
		e.RemoveFD(fa)
		e.RemoveFD(fa)
		ring(a)
		if e.PollAll(); ra.n != 2 {
			t.Error("called after its removal")
		}
		if _, err := e.AddFD(a, unix.EPOLLIN, ra); err != nil { // the slot is used again
			t.Error(err)
		}
		e.RemoveFD(fb)
	})
	if _, err := e.AddFD(-1, unix.EPOLLIN, ra); err == nil {
		t.Error("watching no descriptor")
	}
}

// TestFDsEvery: quiet descriptors are looked at rarely, unless somebody asks for more.
func TestFDsEvery(t *testing.T) {
	e := newEngine(t, process(0))
	fd := newEventfd(t)
	r := &ready{}
	ring(fd)
	locked(e, func() {
		if _, err := e.AddFD(fd, unix.EPOLLIN, r); err != nil {
			t.Fatal(err)
		}
		for range housekeeping {
			e.Poll()
		}
		if r.n != 1 {
			t.Errorf("%d looks in %d passes", r.n, housekeeping)
		}
		e.PollFDsEvery(12) // becomes 16
		e.PollFDsEvery(100)
		r.n = 0
		for range 160 {
			e.Poll()
		}
		if r.n != 10 {
			t.Errorf("%d looks in 160 passes, want every 16th", r.n)
		}
	})
}

// TestFDsChangeInHandlers: handlers remove themselves and others, and add descriptors that take their slots, in the middle of a
// round; nobody is called who is not watched any more, and no event goes to the wrong one.
func TestFDsChangeInHandlers(t *testing.T) {
	e := newEngine(t, process(0))
	const n = 10
	var fds [n]int
	var regs [n]FD
	var handlers [n]*ready
	removed := map[int]bool{}
	locked(e, func() {
		for i := range n {
			fds[i] = newEventfd(t)
			ring(fds[i])
			handlers[i] = &ready{}
			handlers[i].f = func(uint32) {
				if removed[i] {
					t.Errorf("handler %d is called after its removal", i)
				}
				for _, j := range []int{i, (i + 3) % n} {
					if !removed[j] {
						e.RemoveFD(regs[j])
						removed[j] = true
					}
				}
				quiet := newEventfd(t)
				if _, err := e.AddFD(quiet, unix.EPOLLIN, &ready{f: func(uint32) { t.Error("an event went to a new, quiet descriptor") }}); err != nil {
					t.Error(err)
				}
			}
			var err error
			if regs[i], err = e.AddFD(fds[i], unix.EPOLLIN, handlers[i]); err != nil {
				t.Fatal(err)
			}
		}
		for range 3 {
			e.PollAll()
		}
		if len(removed) != n {
			t.Errorf("%d of %d removed", len(removed), n)
		}
	})
}

// TestFDWakes: a descriptor that becomes ready ends a sleep; so does one that is added to a sleeping engine, and Wake.
func TestFDWakes(t *testing.T) {
	for name, cfg := range modes() {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, cfg)
			wait := func(c *Completion) <-chan struct{} {
				done := make(chan struct{})
				go func() {
					e.Wait(c)
					close(done)
				}()
				awaitSleep(t, e)
				return done
			}
			var c [3]Completion
			fd := newEventfd(t)
			done := wait(&c[0]) // on the bell
			ring(fd)
			locked(e, func() {
				k := 0
				_, err := e.AddFD(fd, unix.EPOLLIN, &ready{f: func(uint32) {
					drain(fd)
					e.Complete(&c[k])
					k++
				}})
				if err != nil {
					t.Fatal(err)
				}
			})
			within(t, "a descriptor added to a sleeping engine", done)
			done = wait(&c[1]) // on the descriptors
			if e.asleep.Load() != onFDs {
				t.Error("not asleep on the descriptors")
			}
			ring(fd)
			within(t, "a descriptor", done)
			done = wait(&c[2])
			locked(e, func() { e.Complete(&c[2]) })
			e.Wake()
			within(t, "Wake", done)
			locked(e, func() {
				// Who says that it sleeps may be rung before it does.
				if s := e.Stats(); s.Sleeps < 1 || s.Wakes < 1 {
					t.Errorf("%+v", s)
				}
			})
		})
	}
}

// TestNoDescriptors: an engine that cannot get its descriptors says so, keeps none, and has them later.
func TestNoDescriptors(t *testing.T) {
	locked := func(e *Engine, fd int) (err error) {
		e.Lock()
		defer e.Unlock()
		_, err = e.AddFD(fd, unix.EPOLLIN, &ready{})
		return err
	}
	fd := newEventfd(t)
	if err := locked(newEngine(t, process(0)), fd); err != nil { // the Go netpoller is there from now on
		t.Fatal(err)
	}
	e := newEngine(t, process(0))
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	few := old
	few.Cur = 128
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	var used []int
	free := func() {
		unix.Close(used[len(used)-1])
		used = used[:len(used)-1]
	}
	fill := func() (n int) {
		for {
			d, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
			if err != nil {
				return n
			}
			used = append(used, d)
			n++
		}
	}
	defer func() {
		for len(used) > 0 {
			free()
		}
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
			t.Error(err)
		}
	}()
	fill()
	for room := range 2 {
		for range room {
			free()
		}
		if err := locked(e, fd); err == nil {
			t.Errorf("descriptors are watched with room for %d more", room)
		}
		if n := fill(); n != room {
			t.Errorf("with room for %d descriptors, %d are left", room, n)
		}
	}
	free()
	free()
	if err := locked(e, fd); err != nil {
		t.Error(err)
	}
}

// TestWakeAfterClose: a late ring goes nowhere, least of all into descriptors that are somebody else's by now.
func TestWakeAfterClose(t *testing.T) {
	e := newEngine(t, process(0))
	fd := newEventfd(t)
	locked(e, func() {
		if _, err := e.AddFD(fd, unix.EPOLLIN, &ready{}); err != nil {
			t.Fatal(err)
		}
	})
	epfd, bell := e.fds.epfd, e.fds.bell
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if e.fds.epfd == epfd || e.fds.bell == bell {
		t.Error("a closed engine remembers its descriptors")
	}
	e.asleep.Store(onFDs)
	e.Wake()
}

// The test program is also a process to look at and to see die.
const roleVar = "OMPI_GO_PROGRESS_TEST_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv(roleVar) != "" {
		fd, err := unix.MemfdCreate("ompi-go-test", 0)
		if err == nil {
			_, err = unix.Write(fd, []byte("hello"))
		}
		fmt.Println(fd, err)
		_, _ = os.Stdin.Read(make([]byte, 1)) // to the end
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestOtherProcess: what shared memory and failure detection between processes rest on. A memfd of another process can be opened
// through /proc, and its death is an event of a pidfd in a sleeping engine.
func TestOtherProcess(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVar+"=1", "GORACE=atexit_sleep_ms=0")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		in.Close()
		_ = cmd.Wait()
	}()
	var fd int
	var said string
	if _, err := fmt.Fscan(out, &fd, &said); err != nil || said != "<nil>" {
		t.Fatalf("the process says %q, %v", said, err)
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/fd/%d", cmd.Process.Pid, fd))
	if err != nil || !strings.HasPrefix(string(b), "hello") {
		t.Errorf("its memfd holds %q, %v", b, err)
	}

	e := newEngine(t, process(time.Millisecond))
	pid, err := unix.PidfdOpen(cmd.Process.Pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pid)
	var dead Completion
	var reg FD
	locked(e, func() {
		reg, err = e.AddFD(pid, unix.EPOLLIN, &ready{f: func(uint32) {
			e.RemoveFD(reg)
			e.Complete(&dead)
		}})
	})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		e.Wait(&dead)
		close(done)
	}()
	awaitSleep(t, e)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	within(t, "the death of a process", done)
}

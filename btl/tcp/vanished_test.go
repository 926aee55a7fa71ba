package tcp

import (
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ompi-go/ompi-go/btl/btltest"
	"github.com/ompi-go/ompi-go/btl/inet"
	"github.com/ompi-go/ompi-go/rte"
)

func TestSilent(t *testing.T) {
	const timeout = time.Second
	type look struct {
		at   time.Duration
		info unix.TCPInfo
		want bool
	}
	const old = 100_000 // ms
	for name, looks := range map[string][]look{
		"nothing under way": {{0, unix.TCPInfo{Last_ack_recv: old}, false}, {time.Hour, unix.TCPInfo{Last_ack_recv: old}, false}},
		"first data after a long time": {
			{0, unix.TCPInfo{Unacked: 1, Last_ack_recv: old, Retransmits: 1}, false},
			{timeout / 2, unix.TCPInfo{Unacked: 1, Last_ack_recv: old, Retransmits: 2}, false},
			{timeout, unix.TCPInfo{Unacked: 1, Last_ack_recv: old, Retransmits: 3}, true},
		},
		"slow, but moving": {
			{0, unix.TCPInfo{Unacked: 1, Last_ack_recv: old, Bytes_acked: 1}, false},
			{timeout, unix.TCPInfo{Unacked: 1, Last_ack_recv: old, Bytes_acked: 2, Retransmits: 1}, false},
		},
		"acknowledged between looks, and sent again": {
			{0, unix.TCPInfo{Unacked: 1, Retransmits: 1, Last_ack_recv: old}, false},
			{timeout / 2, unix.TCPInfo{}, false},
			{timeout, unix.TCPInfo{Unacked: 1, Retransmits: 1, Last_ack_recv: old}, false},
		},
		"a closed window, answered": {
			{0, unix.TCPInfo{Notsent_bytes: 1, Last_ack_recv: 10}, false},
			{time.Hour, unix.TCPInfo{Notsent_bytes: 1, Probes: 1, Backoff: 9, Last_ack_recv: old}, false},
		},
		"a closed window, unanswered": {
			{0, unix.TCPInfo{Notsent_bytes: 1, Last_ack_recv: 10}, false},
			{timeout, unix.TCPInfo{Notsent_bytes: 1, Probes: 2, Last_ack_recv: 1010}, true},
		},
		"the program was away": {
			{0, unix.TCPInfo{Unacked: 1, Retransmits: 3, Last_ack_recv: 10}, false},
			{time.Hour, unix.TCPInfo{Unacked: 1, Last_ack_recv: old}, false},
		},
	} {
		var v vigil
		begin := time.Now()
		for _, l := range looks {
			if got := v.silent(&l.info, begin.Add(l.at), timeout); got != l.want {
				t.Errorf("%s: after %v %v", name, l.at, got)
			}
		}
	}
}

func TestKeepalive(t *testing.T) {
	for _, c := range []struct{ keepalive, peer, most time.Duration }{
		{0, 0, 0},
		{time.Minute, 0, 120 * time.Second},
		{time.Minute, time.Second, 2 * time.Second},
		{0, 2 * time.Second, 2 * time.Second},
		{0, 10 * time.Second, 10 * time.Second},
		{time.Second, time.Minute, time.Minute},
	} {
		o := options{KeepaliveTime: c.keepalive, PeerTimeout: c.peer}
		idle, interval, count := o.keepalive()
		if got := time.Duration(idle+interval*count) * time.Second; got != c.most {
			t.Errorf("%+v: given up after %v", c, got)
		}
	}
}

// TestLongTimes: a keepalive longer than the kernel takes is the longest that it takes; a connection is made all the same.
func TestLongTimes(t *testing.T) {
	for _, o := range []options{{KeepaliveTime: 24 * time.Hour}, {PeerTimeout: 1000 * time.Hour}, {PeerTimeout: 1<<63 - 1}} {
		fd, err := newSocket(netip.IPv4Unspecified())
		if err != nil {
			t.Fatal(err)
		}
		if err := tune(fd, &o); err != nil {
			t.Errorf("%v, %v: %v", o.KeepaliveTime, o.PeerTimeout, err)
		}
		unix.Close(fd)
	}
}

// TestShortPeerTimeout: one in which the kernel cannot have asked again is refused.
func TestShortPeerTimeout(t *testing.T) {
	for d, ok := range map[time.Duration]bool{0: true, 1: false, 199 * time.Millisecond: false, 200 * time.Millisecond: true} {
		o := options{PeerTimeout: d, PortMinV4: 1, PortRangeV4: 1, PortMinV6: 1, PortRangeV6: 1}
		if err := o.Validate(); (err == nil) != ok {
			t.Errorf("%v: %v", d, err)
		}
	}
}

// TestClosedWindow: a peer that computes and reads nothing, so that its receive window closes, is not given up.
func TestClosedWindow(t *testing.T) {
	const timeout = 200 * time.Millisecond
	w, sinks := newWorld(t, 2, map[string]string{"btl_tcp_peer_timeout": timeout.String()}, nil)
	send(t, w, 0, 1, 0, 10)
	w.Until(t, "the first message", func() bool { return sinks[1].N == 1 })
	id, full := uint64(1), time.Time{}
	f := btltest.NewFrag(&btltest.Completions{}, tag, id, 16, 32<<10)
	for full.IsZero() || time.Since(full) < 4*timeout {
		taken, done := offer(t, w.Ranks[0], 1, f)
		switch {
		case !taken:
			if full.IsZero() {
				full = time.Now()
			}
			time.Sleep(time.Millisecond)
		default:
			id++
			if !done {
				f = btltest.NewFrag(&btltest.Completions{}, tag, id, 16, 32<<10)
			} else {
				*f = *btltest.NewFrag(&btltest.Completions{}, tag, id, 16, 32<<10)
			}
		}
		w.Ranks[0].Poll()
	}
	if failed := w.Ranks[0].Failures(); len(failed) != 0 {
		t.Fatalf("given up: %v", failed)
	}
	w.Until(t, "all messages", func() bool { return sinks[1].N == int(id) })
}

// wire is two network namespaces with a cable between them. They are nameless: nothing is left of them.
type wire struct{ spaces [2]int }

const wireNet = "10.77.13."

// newWire gives the calling goroutine a thread of its own, in the first namespace. Without the rights and the tool the test is skipped.
func newWire(t *testing.T) *wire {
	t.Helper()
	if _, err := exec.LookPath("ip"); err != nil || os.Getuid() != 0 {
		t.Skip("needs root and ip(8)")
	}
	runtime.LockOSThread() // for ever: the thread ends with the test
	x := &wire{}
	for i := range x.spaces {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			t.Skipf("no network namespace: %v", err)
		}
		fd, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fd) })
		x.spaces[i] = fd
	}
	other := exec.Command("sleep", "100") // names the second namespace
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = other.Process.Kill()
		_ = other.Wait()
	})
	x.enter(t, 0)
	x.ip(t, "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns", strconv.Itoa(other.Process.Pid))
	for i := range x.spaces {
		x.enter(t, i)
		x.ip(t, "addr", "add", wireNet+strconv.Itoa(i+1)+"/24", "dev", "cable")
		x.ip(t, "link", "set", "cable", "up")
	}
	x.enter(t, 0)
	return x
}

func (x *wire) enter(t *testing.T, i int) {
	t.Helper()
	if err := unix.Setns(x.spaces[i], unix.CLONE_NEWNET); err != nil {
		t.Fatal(err)
	}
}

func (x *wire) ip(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		t.Skipf("ip %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// cut pulls the cable at the far end.
func (x *wire) cut(t *testing.T) {
	t.Helper()
	x.enter(t, 1)
	x.ip(t, "link", "set", "cable", "down")
	x.enter(t, 0)
}

// TestVanishedHost: a peer whose host is gone without a word is given up, whether something was sent to it or not.
func TestVanishedHost(t *testing.T) {
	for _, idle := range []bool{false, true} {
		name := map[bool]string{false: "data under way", true: "idle"}[idle]
		t.Run(name, func(t *testing.T) {
			x := newWire(t)
			job := func(j rte.Job) rte.Job {
				x.enter(t, j.Rank()) // where it opens its sockets
				return &fakeJob{Job: j, nodes: []int{0, 1}, card: func(rank int, b []byte) []byte {
					c, _ := inet.ParseCard(b)
					c.Loop = "elsewhere"
					return c.Append(nil)
				}}
			}
			w, sinks := newWorld(t, 2, map[string]string{"btl_tcp_peer_timeout": "1s", "btl_tcp_if_include": wireNet + "0/24"}, job)
			x.enter(t, 0)
			send(t, w, 0, 1, 0, 10)
			w.Until(t, "the first message", func() bool { return sinks[1].N == 1 })
			x.cut(t)
			begin := time.Now()
			if !idle {
				send(t, w, 0, 1, 1, 10)
			}
			w.Until(t, "the failure", func() bool { return len(w.Ranks[0].Failures()) == 1 })
			took := time.Since(begin)
			f := w.Ranks[0].Failures()[0]
			if took < 900*time.Millisecond || f.Rank != 1 || !f.Dead || !strings.Contains(f.Cause.Error(), "btl_tcp_peer_timeout") {
				t.Errorf("after %v: %+v", took, f)
			}
			if err := sendError(t, w, 0, 1); !strings.Contains(err.Error(), "gone") {
				t.Errorf("error %q", err)
			}
			t.Logf("given up after %v: %v", took, f.Cause)
		})
	}
}

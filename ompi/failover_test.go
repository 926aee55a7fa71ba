package ompi_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ompi-go/ompi-go/ompi"
)

// failoverRuns is how many runs each way of breaking a link gets; OMPI_GO_FAILOVER_RUNS sets another number.
func failoverRuns(t *testing.T) int {
	if text := os.Getenv("OMPI_GO_FAILOVER_RUNS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("OMPI_GO_FAILOVER_RUNS: %v", err)
		}
		return n
	}
	return 2
}

// connections are the descriptors of this process's TCP connections, and the ports of the two ends.
func connections() (fds []int, ports [][2]int) {
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		peer, err := unix.Getpeername(fd)
		if err != nil {
			continue
		}
		to, ok := peer.(*unix.SockaddrInet4)
		own, err := unix.Getsockname(fd)
		from, ok2 := own.(*unix.SockaddrInet4)
		if err == nil && ok && ok2 {
			fds, ports = append(fds, fd), append(ports, [2]int{from.Port, to.Port})
		}
	}
	return fds, ports
}

// shutOne ends one of this process's connections.
func shutOne(rnd *rand.Rand) error {
	if fds, _ := connections(); len(fds) > 0 {
		_ = unix.Shutdown(fds[rnd.IntN(len(fds))], unix.SHUT_RDWR)
	}
	return nil
}

// killOne has the kernel destroy one of them.
func killOne(rnd *rand.Rand) error {
	_, ports := connections()
	if len(ports) == 0 {
		return nil
	}
	p := ports[rnd.IntN(len(ports))]
	out, err := exec.Command("ss", "-K", "-n", "-t", "src", fmt.Sprintf("127.0.0.1:%d", p[0]), "dst", fmt.Sprintf("127.0.0.1:%d", p[1])).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ss -K: %v: %s", err, out)
	}
	return nil
}

// canKill reports whether ss -K does anything here.
func canKill() bool {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return false
	}
	unix.Close(fds[0])
	unix.Close(fds[1])
	l, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return false
	}
	defer unix.Close(l)
	here := &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}
	if unix.Bind(l, here) != nil || unix.Listen(l, 1) != nil {
		return false
	}
	at, err := unix.Getsockname(l)
	if err != nil {
		return false
	}
	c, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return false
	}
	defer unix.Close(c)
	if unix.Connect(c, at) != nil {
		return false
	}
	port := at.(*unix.SockaddrInet4).Port
	if exec.Command("ss", "-K", "-n", "-t", "dst", fmt.Sprintf("127.0.0.1:%d", port)).Run() != nil {
		return false
	}
	_, err = unix.Write(c, []byte{1})
	return err != nil
}

// TestFailover sends 64 MiB there and back, and small messages besides, while a link is broken at a random moment: everything must come.
func TestFailover(t *testing.T) {
	runs := failoverRuns(t)
	kills := canKill()
	for _, c := range []struct {
		name   string
		params map[string]string
		wire   bool
		kill   func(*rand.Rand) error
	}{
		{name: "two links, shut", params: map[string]string{"btl": "self,tcp", "btl_tcp_links": "2"}, kill: shutOne},
		{name: "two links, ss -K", params: map[string]string{"btl": "self,tcp", "btl_tcp_links": "2"}, kill: killOne},
		{name: "another BTL, shut", params: map[string]string{"btl": "self,tcp,wire", "btl_tcp_exclusivity": "65535"}, wire: true, kill: shutOne},
		{name: "another BTL, ss -K", params: map[string]string{"btl": "self,tcp,wire", "btl_tcp_exclusivity": "65535"}, wire: true, kill: killOne},
		{name: "another BTL, fail_after", params: map[string]string{"btl": "self,tcp,wire", "btl_tcp_exclusivity": "65535"}, wire: true},
		{name: "tcp fails before the wire", params: map[string]string{"btl": "self,tcp,wire", "btl_tcp_exclusivity": "65535", "btl_tcp_latency": "0"}, wire: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if strings.Contains(c.name, "ss -K") && !kills {
				t.Skip("ss -K does not work here")
			}
			for seed := range uint64(runs) {
				rnd := rand.New(rand.NewPCG(seed, 11))
				opts := []ompi.Option{ompi.WithParam("coll", "^sm")}
				for k, v := range c.params {
					opts = append(opts, ompi.WithParam(k, v))
				}
				if c.wire {
					opts = append(opts, ompi.WithComponent(&wire{}))
				}
				if c.kill == nil {
					opts = append(opts, ompi.WithParam("bml_r2_inject", fmt.Sprintf("tcp:fail_after=%d", 5+rnd.IntN(14))))
				}
				failover(t, seed, rnd, c.kill, opts)
				if t.Failed() {
					t.Fatalf("seed %d", seed)
				}
			}
		})
	}
}

func failover(t *testing.T, seed uint64, rnd *rand.Rand, kill func(*rand.Rand) error, opts []ompi.Option) {
	const extra = 20
	size := 64 << 20
	if raceEnabled {
		size = 16 << 20
	}
	when := time.Duration(rnd.IntN(60_000)) * time.Microsecond
	job(t, 2, func(world *ompi.Comm) error {
		me := world.Rank()
		big := make([]byte, size)
		if me == 0 {
			stamp(big, seed, 0)
		}
		if me == 0 { // the connections are made; what follows uses all of them
			if err := errors.Join(world.Send(ompi.Slice(big[:size/8]), 1, 0), world.Send(ompi.Slice(big[:size/8]), 1, 0)); err != nil {
				return err
			}
		} else {
			for range 2 {
				if _, err := world.Recv(ompi.Slice(big[:size/8]), 0, 0); err != nil {
					return err
				}
			}
		}
		if err := world.Barrier(); err != nil {
			return err
		}
		if me == 0 && kill != nil {
			done := make(chan error, 1)
			go func() {
				time.Sleep(when)
				done <- kill(rnd)
			}()
			defer func() {
				if err := <-done; err != nil {
					t.Error(err)
				}
			}()
		}
		for round := range 2 {
			from := round
			var reqs []*ompi.Request
			in := make([][]byte, extra)
			if me == from {
				if round > 0 {
					stamp(big, seed, round)
				}
				r := world.Isend(ompi.Slice(big), 1-me, 1)
				reqs = append(reqs, &r)
				for k := range extra {
					small := make([]byte, 1+k*k*200)
					stamp(small, seed, 100+k)
					s := world.Isend(ompi.Slice(small), 1-me, 2)
					reqs = append(reqs, &s)
				}
			} else {
				r := world.Irecv(ompi.Slice(big), from, 1)
				reqs = append(reqs, &r)
				for k := range extra { // one tag: they match in order
					in[k] = make([]byte, 1+k*k*200)
					r := world.Irecv(ompi.Slice(in[k]), from, 2)
					reqs = append(reqs, &r)
				}
			}
			for _, r := range reqs {
				if _, err := r.Wait(); err != nil {
					return err
				}
			}
			if me == from {
				continue
			}
			if !stamped(big, seed, round) {
				return errors.New("the long message is damaged")
			}
			for k, b := range in {
				if !stamped(b, seed, 100+k) {
					return fmt.Errorf("small message %d is damaged", k)
				}
			}
		}
		return world.Barrier()
	}, opts...)
}

// stamp fills b with what a message of this kind has; each eight bytes tell where they belong.
func stamp(b []byte, seed uint64, kind int) {
	x := seed*1_000_003 + uint64(kind)
	for i := 0; i+8 <= len(b); i += 8 {
		v := (x ^ uint64(i)) * 0x9e3779b97f4a7c15
		b[i], b[i+1], b[i+2], b[i+3] = byte(v), byte(v>>8), byte(v>>16), byte(v>>24)
		b[i+4], b[i+5], b[i+6], b[i+7] = byte(v>>32), byte(v>>40), byte(v>>48), byte(v>>56)
	}
	for i := len(b) &^ 7; i < len(b); i++ {
		b[i] = byte(x) + byte(i)
	}
}

func stamped(b []byte, seed uint64, kind int) bool {
	x := seed*1_000_003 + uint64(kind)
	for i := 0; i+8 <= len(b); i += 8 {
		v := (x ^ uint64(i)) * 0x9e3779b97f4a7c15
		w := uint64(b[i]) | uint64(b[i+1])<<8 | uint64(b[i+2])<<16 | uint64(b[i+3])<<24 | uint64(b[i+4])<<32 | uint64(b[i+5])<<40 | uint64(b[i+6])<<48 | uint64(b[i+7])<<56
		if v != w {
			return false
		}
	}
	for i := len(b) &^ 7; i < len(b); i++ {
		if b[i] != byte(x)+byte(i) {
			return false
		}
	}
	return true
}

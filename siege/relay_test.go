package siege_test

import (
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ompi-go/ompi-go/ompi"
)

// relay carries datagrams between two ranks who know each other by its addresses alone, and is as bad as a network can be.
type relay struct {
	ends                         [2]*net.UDPConn // ends[r] is where rank r is to be reached
	ranks                        [2]*net.UDPAddr // where it is
	loss, dup, reorder           float64
	delay                        time.Duration
	running                      sync.WaitGroup
	mu                           sync.Mutex // guards what follows
	carried, lost, doubled, late int
}

// newRelay opens a relay on two addresses, port 0 for any.
func newRelay(t *testing.T, at [2]string, ranks [2]string) *relay {
	t.Helper()
	r := &relay{}
	for i := range 2 {
		addr, err := net.ResolveUDPAddr("udp", at[i])
		if err == nil {
			r.ranks[i], err = net.ResolveUDPAddr("udp", ranks[i])
		}
		if err == nil {
			r.ends[i], err = net.ListenUDP("udp", addr)
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.ends[i].Close() })
	}
	return r
}

// run carries until the ends are closed.
func (r *relay) run(t *testing.T, seed uint64) {
	for to := range 2 {
		rng := rand.New(rand.NewPCG(seed, uint64(to)))
		r.running.Go(func() {
			b := make([]byte, 1<<16)
			for {
				n, err := r.ends[to].Read(b)
				if err != nil {
					if errors.Is(err, net.ErrClosed) {
						return
					}
					continue // what an earlier datagram met with
				}
				r.carry(rng, to, append([]byte(nil), b[:n]...))
			}
		})
	}
	t.Cleanup(func() {
		for _, e := range r.ends {
			e.Close()
		}
		r.running.Wait()
	})
}

// carry takes one datagram on to rank to, or not.
func (r *relay) carry(rng *rand.Rand, to int, b []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.carried++
	if rng.Float64() < r.loss {
		r.lost++
		return
	}
	copies, delay := 1, r.delay
	if rng.Float64() < r.dup {
		copies = 2
		r.doubled++
	}
	if rng.Float64() < r.reorder {
		delay += time.Duration(rng.IntN(2000)) * time.Microsecond
		r.late++
	}
	send := func() { _, _ = r.ends[1-to].WriteToUDP(b, r.ranks[to]) } // from where the peer is known
	for range copies {
		if delay == 0 {
			send()
		} else {
			time.AfterFunc(delay, send)
		}
	}
}

// relayedProgram publishes the relay's addresses, args[0] for rank 0 and args[1] for rank 1, and then is a rank like any other.
func relayedProgram(args []string) error {
	rank, err := strconv.Atoi(os.Getenv("PMI_RANK"))
	if err != nil {
		return err
	}
	if err := os.Setenv("OMPI_MCA_btl_udp_advertise", args[rank]); err != nil {
		return err
	}
	ompi.Main(func(world *ompi.Comm) error {
		return errors.Join(ringRole(world, nil), summedRole(world), collectivesRole(world, nil))
	})
	return nil
}

// summedRole exchanges messages of many sizes with their checksums.
func summedRole(world *ompi.Comm) error {
	rank, size := world.Rank(), world.Size()
	rng := rand.New(rand.NewPCG(uint64(rank), 3))
	for round, n := range []int{0, 1, 1000, 1372, 10_000, 65_536, 300_000, 2_000_000} {
		out, in := make([]byte, n), make([]byte, n)
		for i := range out {
			out[i] = byte(rng.Uint32())
		}
		sum, want := crc32.ChecksumIEEE(out), uint32(0)
		to, from := (rank+1)%size, (rank+size-1)%size
		if _, err := world.Sendrecv(ompi.Slice(out), to, round, ompi.Slice(in), from, round); err != nil {
			return err
		}
		if _, err := world.Sendrecv(ompi.Value(&sum), to, round, ompi.Value(&want), from, round); err != nil {
			return err
		}
		if got := crc32.ChecksumIEEE(in); got != want {
			return fmt.Errorf("a message of %d bytes has the sum %08x, its sender says %08x", n, got, want)
		}
	}
	if rank == 0 {
		fmt.Println("all sums are right")
	}
	return nil
}

// freePorts finds two neighbouring UDP ports that nobody uses at the moment.
func freePorts(t *testing.T) int {
	t.Helper()
	for range 100 {
		a, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err != nil {
			t.Fatal(err)
		}
		port := a.LocalAddr().(*net.UDPAddr).Port
		b, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port + 1})
		a.Close()
		if err == nil {
			b.Close()
			return port
		}
	}
	t.Fatal("no two free ports")
	return 0
}

const relayWords = "-n 2 --mca btl self,udp --mca coll ^sm --mca btl_udp_port_range_v4 2 --mca btl_udp_port_min_v4 "

// wellRelayed are the lines that two ranks print when all is well.
var wellRelayed = []string{`^ring of 2`, `^all sums are right`, `^collectives of 2`}

// TestRelay: two ranks reach each other through a relay alone, which loses, doubles, delays and reorders.
func TestRelay(t *testing.T) {
	for name, bad := range map[string]bool{"good": false, "bad": true} {
		t.Run(name, func(t *testing.T) {
			port := freePorts(t)
			r := newRelay(t, [2]string{"127.0.0.1:0", "127.0.0.1:0"}, [2]string{fmt.Sprintf("127.0.0.1:%d", port), fmt.Sprintf("127.0.0.1:%d", port+1)})
			if bad {
				r.loss, r.dup, r.reorder, r.delay = 0.03, 0.02, 0.05, 200*time.Microsecond
			}
			r.run(t, 1)
			j := mpirun(t, relayWords+strconv.Itoa(port), "relayed", r.ends[0].LocalAddr().String(), r.ends[1].LocalAddr().String())
			j.Run(0, wellRelayed...)
			r.mu.Lock()
			defer r.mu.Unlock()
			if r.carried < 100 || bad && (r.lost == 0 || r.doubled == 0 || r.late == 0) {
				t.Errorf("%d datagrams went over the relay, %d were lost, %d doubled, %d late", r.carried, r.lost, r.doubled, r.late)
			}
		})
	}
}

// TestRelayNamespaces: the same between two network namespaces, which have no other way to each other. It wants OMPI_GO_NETNS=1, root and ip.
func TestRelayNamespaces(t *testing.T) {
	if os.Getenv("OMPI_GO_NETNS") == "" {
		t.Skip("OMPI_GO_NETNS is not set")
	}
	if os.Getuid() != 0 {
		t.Skip("only root makes namespaces")
	}
	ip := func(words string) error {
		out, err := exec.Command("ip", strings.Fields(words)...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("ip %s: %w: %s", words, err, out)
		}
		return nil
	}
	var at, ranks [2]string
	const port = 20000
	for i := range 2 {
		ns, inside, outside := fmt.Sprintf("ompi-%d-%d", os.Getpid(), i), "rank", fmt.Sprintf("ompi%dr%d", i, os.Getpid())
		if err := ip("netns add " + ns); err != nil {
			t.Skip(err)
		}
		t.Cleanup(func() {
			if err := ip("netns del " + ns); err != nil { // with its end of the link, and that with the other
				t.Error(err)
			}
		})
		for _, words := range []string{
			"link add " + outside + " type veth peer name " + inside + " netns " + ns,
			fmt.Sprintf("addr add 10.97.%d.1/24 dev %s", i, outside),
			"link set " + outside + " up",
			fmt.Sprintf("-n %s addr add 10.97.%d.2/24 dev %s", ns, i, inside),
			fmt.Sprintf("-n %s link set %s up", ns, inside),
		} {
			if err := ip(words); err != nil {
				t.Skip(err)
			}
		}
		// Rank i is reached from the other's network.
		at[1-i], ranks[i] = fmt.Sprintf("10.97.%d.1:0", i), fmt.Sprintf("10.97.%d.2:%d", i, port+i)
	}
	r := newRelay(t, at, ranks)
	r.loss, r.dup, r.reorder, r.delay = 0.03, 0.02, 0.05, 200*time.Microsecond
	r.run(t, 2)
	script := filepath.Join(t.TempDir(), "rank")
	text := fmt.Sprintf("#!/bin/sh\nexec ip netns exec ompi-%d-$PMI_RANK %q \"$@\"\n", os.Getpid(), os.Args[0])
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	j := program(mpirun(t, relayWords+strconv.Itoa(port), "relayed", r.ends[0].LocalAddr().String(), r.ends[1].LocalAddr().String()), script)
	j.Run(0, wellRelayed...)
	r.mu.Lock()
	defer r.mu.Unlock()
	t.Logf("%d datagrams, %d lost, %d doubled, %d late", r.carried, r.lost, r.doubled, r.late)
}

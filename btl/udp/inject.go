package udp

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// faults are what is to go wrong with datagrams, the first four as probabilities.
type faults struct {
	loss, dup, reorder, corrupt float64
	delay                       time.Duration
}

func (f *faults) any() bool { return *f != faults{} }

// parseFaults reads btl_udp_inject.
func parseFaults(s string) (f faults, err error) {
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		key, value, _ := strings.Cut(part, "=")
		rate := map[string]*float64{"loss": &f.loss, "dup": &f.dup, "reorder": &f.reorder, "corrupt": &f.corrupt}[key]
		switch {
		case key == "delay":
			if f.delay, err = time.ParseDuration(value); err != nil || f.delay < 0 || f.delay > time.Minute {
				return f, fmt.Errorf("inject: delay=%s is no time up to a minute, such as 1ms", value)
			}
		case rate == nil:
			return f, fmt.Errorf("inject: %q is unknown; there are loss, dup, reorder, corrupt (each a share such as 5%%) and delay (a time)", part)
		default:
			number, percent := strings.CutSuffix(value, "%")
			v, err := strconv.ParseFloat(number, 64)
			if percent {
				v /= 100
			}
			if err != nil || !(v >= 0 && v <= 1) {
				return f, fmt.Errorf("inject: %s=%s is no share between 0%% and 100%%", key, value)
			}
			*rate = v
		}
	}
	return f, nil
}

// injector makes things go wrong with datagrams on their way out, by its seed.
type injector struct {
	m    *module
	f    faults
	rng  *rand.Rand
	held []heldDatagram // by the time when they go
}

type heldDatagram struct {
	at   int64
	sock *socket
	name unix.RawSockaddrInet6
	size uint32
	b    []byte
}

func newInjector(m *module, f faults, seed, rank uint64) *injector {
	return &injector{m: m, f: f, rng: rand.New(rand.NewPCG(seed, rank))}
}

func (i *injector) idle() bool { return len(i.held) == 0 }

// deadline is when the next datagram goes; 0: there is none.
func (i *injector) deadline() int64 {
	if len(i.held) == 0 {
		return 0
	}
	return i.held[0].at
}

// send takes a packet in pieces.
func (i *injector) send(c *conn, head, buf []byte, data unsafe.Pointer, n int) {
	b := i.m.pool.Get(len(head) + len(buf) + n)
	k := copy(b, head)
	k += copy(b[k:], buf)
	copy(b[k:], unsafe.Slice((*byte)(data), n))
	i.put(heldDatagram{sock: c.sock, name: c.name, size: c.nameLen, b: b})
}

// sendTo takes a message of the handshake.
func (i *injector) sendTo(s *socket, to netip.AddrPort, b []byte) {
	d := heldDatagram{sock: s, b: append(i.m.pool.Get(len(b))[:0], b...)}
	d.size = putAddr(&d.name, to)
	i.put(d)
}

// put decides about a datagram.
func (i *injector) put(d heldDatagram) {
	s := &i.m.stats
	if i.rng.Float64() < i.f.loss {
		s.Injected++
		i.m.pool.Put(d.b)
		return
	}
	if i.rng.Float64() < i.f.corrupt {
		s.Injected++
		d.b[i.rng.IntN(len(d.b))] ^= 1 << i.rng.IntN(8)
	}
	d.at = i.m.now + i.f.delay.Microseconds()
	if i.rng.Float64() < i.f.dup {
		s.Injected++
		twin := d
		twin.b = append(i.m.pool.Get(len(d.b))[:0], d.b...)
		i.queue(twin)
	}
	if i.rng.Float64() < i.f.reorder {
		s.Injected++
		d.at += 100 + i.rng.Int64N(900)
	}
	i.queue(d)
}

// queue sends a datagram when its time has come.
func (i *injector) queue(d heldDatagram) {
	if d.at <= i.m.now {
		i.out(d)
		return
	}
	at, _ := slices.BinarySearchFunc(i.held, d.at, func(h heldDatagram, t int64) int {
		if h.at <= t {
			return -1
		}
		return 1
	})
	i.held = slices.Insert(i.held, at, d)
	i.m.source.On()
}

func (i *injector) out(d heldDatagram) {
	_, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(d.sock.fd), uintptr(unsafe.Pointer(&d.b[0])), uintptr(len(d.b)),
		unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, uintptr(unsafe.Pointer(&d.name)), uintptr(d.size))
	if errno == unix.EAGAIN || errno == unix.ENOBUFS {
		i.m.stats.Full++ // lost, like others here
	}
	i.m.pool.Put(d.b)
}

// step sends what is due.
func (i *injector) step(now int64) {
	n := 0
	for n < len(i.held) && i.held[n].at <= now {
		i.out(i.held[n])
		n++
	}
	i.held = slices.Delete(i.held, 0, n)
}

// end sends everything that is held: it is the module's end, and BYEs may be among them.
func (i *injector) end() {
	i.step(1 << 62)
}

package udp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"

	"github.com/ompi-go/ompi-go/rte"
)

// cardKey is where the business card lies.
const cardKey = "btl.udp"

// card is how others reach this process:
//
//	version (1 byte) = 1
//	loop             length (1 byte) and text: processes with equal texts reach each other over the loopback interface
//	host             length (1 byte) and text: the host's name, for messages
//	addresses        count (1 byte), then each: 4 or 6, prefix length (1 byte each), port (2, little-endian), 4 or 16 bytes
type card struct {
	loop, host string
	addrs      []cardAddr
}

// cardAddr is an address that somebody listens on, with the size of its network.
type cardAddr struct {
	netip.AddrPort
	bits int
}

const (
	cardVersion  = 1
	maxCardAddrs = 64
)

func (c *card) append(b []byte) []byte {
	b = append(b, cardVersion)
	for _, s := range []string{c.loop, c.host} {
		s = s[:min(len(s), 255)]
		b = append(append(b, byte(len(s))), s...)
	}
	addrs := c.addrs[:min(len(c.addrs), maxCardAddrs)]
	b = append(b, byte(len(addrs)))
	for _, a := range addrs {
		family := byte(6)
		if a.Addr().Is4() {
			family = 4
		}
		b = append(b, family, byte(a.bits))
		b = binary.LittleEndian.AppendUint16(b, a.Port())
		b = append(b, a.Addr().AsSlice()...)
	}
	return b
}

var errCard = errors.New("the business card is damaged")

func parseCard(b []byte) (c card, err error) {
	next := func(n int) (out []byte) {
		if len(b) < n {
			err, b = errCard, nil
			return make([]byte, n)
		}
		out, b = b[:n], b[n:]
		return out
	}
	if v := next(1)[0]; err == nil && v != cardVersion {
		return card{}, fmt.Errorf("the business card has version %d, this program knows %d: all ranks must run the same release", v, cardVersion)
	}
	c.loop = string(next(int(next(1)[0])))
	c.host = string(next(int(next(1)[0])))
	for range next(1)[0] {
		head := next(4)
		size := 16
		if head[0] == 4 {
			size = 4
		}
		ip, _ := netip.AddrFromSlice(next(size))
		port := binary.LittleEndian.Uint16(head[2:])
		if err != nil || head[0] != 4 && head[0] != 6 || int(head[1]) > ip.BitLen() || port == 0 || len(c.addrs) == maxCardAddrs {
			return card{}, errCard
		}
		c.addrs = append(c.addrs, cardAddr{netip.AddrPortFrom(ip, port), int(head[1])})
	}
	if err != nil || len(b) != 0 {
		return card{}, errCard
	}
	return c, nil
}

// loopDomain names the loopback interface of this process: the machine's boot and the network namespace.
func loopDomain() string {
	id := rte.BootID()
	if id == "" {
		id = rte.HostID()
	}
	space, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		space = "net" // no namespaces
	}
	return id + " " + space
}

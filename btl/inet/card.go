package inet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"

	"github.com/ompi-go/ompi-go/rte"
)

// Card is how others reach this process:
//
//	version (1 byte) = 1
//	loop             length (1 byte) and text: processes with equal texts reach each other over the loopback interface
//	host             length (1 byte) and text: the host's name, for messages
//	addresses        count (1 byte), then each: 4 or 6, prefix length (1 byte each), port (2, little-endian), 4 or 16 bytes
type Card struct {
	Loop, Host string
	Addrs      []CardAddr
}

// CardAddr is an address that somebody listens on, with the size of its network.
type CardAddr struct {
	netip.AddrPort
	Bits int
}

const cardVersion = 1

// MaxCardAddrs is how many addresses a card has at most.
const MaxCardAddrs = 64

// Append appends the card, with its first 64 addresses.
func (c *Card) Append(b []byte) []byte {
	b = append(b, cardVersion)
	for _, s := range []string{c.Loop, c.Host} {
		s = s[:min(len(s), 255)]
		b = append(append(b, byte(len(s))), s...)
	}
	addrs := c.Addrs[:min(len(c.Addrs), MaxCardAddrs)]
	b = append(b, byte(len(addrs)))
	for _, a := range addrs {
		family := byte(6)
		if a.Addr().Is4() {
			family = 4
		}
		b = append(b, family, byte(a.Bits))
		b = binary.LittleEndian.AppendUint16(b, a.Port())
		b = append(b, a.Addr().AsSlice()...)
	}
	return b
}

var errCard = errors.New("the business card is damaged")

// ParseCard decodes a card.
func ParseCard(b []byte) (c Card, err error) {
	next := func(n int) (out []byte) {
		if len(b) < n {
			err, b = errCard, nil
			return make([]byte, n)
		}
		out, b = b[:n], b[n:]
		return out
	}
	if v := next(1)[0]; err == nil && v != cardVersion {
		return Card{}, fmt.Errorf("the business card has version %d, this program knows %d: all ranks must run the same release", v, cardVersion)
	}
	c.Loop = string(next(int(next(1)[0])))
	c.Host = string(next(int(next(1)[0])))
	for range next(1)[0] {
		head := next(4)
		size := 16
		if head[0] == 4 {
			size = 4
		}
		ip, _ := netip.AddrFromSlice(next(size))
		port := binary.LittleEndian.Uint16(head[2:])
		if err != nil || head[0] != 4 && head[0] != 6 || int(head[1]) > ip.BitLen() || port == 0 || len(c.Addrs) == MaxCardAddrs {
			return Card{}, errCard
		}
		c.Addrs = append(c.Addrs, CardAddr{netip.AddrPortFrom(ip, port), int(head[1])})
	}
	if err != nil || len(b) != 0 {
		return Card{}, errCard
	}
	return c, nil
}

// LoopDomain names the loopback interface of this process: the machine's boot and the network namespace.
func LoopDomain() string {
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

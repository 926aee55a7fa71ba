// Package udp is the BTL that brings its own reliability: active messages over UDP. It is open only when the parameter btl names it, or for the
// interface of package portals4, whose NAL it can be: between hosts tcp is as fast and simpler, but here everything that makes a network
// reliable is in our hands, can be looked at, and be tried with losses (btl_udp_inject).
//
//  1. Open makes a socket for each address and publishes the addresses as the process's business card (package btl/inet, socket.go).
//  2. The first Send to a peer begins a handshake, in which both ends prove that they know the job's secret (handshake.go). Nothing is kept of, and nothing
//     answered to, who does not.
//  3. Send writes messages as frames into packets, copied or as references to the sender's memory (conn.go). What may be sent goes at once,
//     several packets by one system call (batch.go).
//  4. Packets are numbered, acknowledged, sent again, and brought into order by a core without sockets and clocks (flow.go, flowack.go).
//  5. Poll reads the sockets, several datagrams by one system call (recv.go); frames are delivered out of the datagram, and large payloads go
//     from there straight to where their handler wants them.
//  6. Flush says BYE. A peer that does not answer for btl_udp_timeout is given up (watch.go).
//
// docs/udp.md has the whole protocol. Everything runs with the engine's token held, on whichever goroutine drives it. The one goroutine of the package
// (watch.go) drives the engine for a moment now and then while nobody else does, so that peers get their answers though the program computes.
//
// The package registers itself; nothing but that import is for others to use.
package udp

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/btl/inet"
	"github.com/ompi-go/ompi-go/mca"
)

func init() { mca.Register(component{}) }

type options struct {
	IfInclude      []string      `mca:"if_include" level:"1" help:"interfaces (names or networks such as 10.1.0.0/16) to use, no others; empty: all that are up and not excluded"`
	IfExclude      []string      `mca:"if_exclude" default:"127.0.0.1/8,::1/128" level:"1" help:"interfaces (names or networks) not to use; if_include overrides it. An excluded loopback network still serves peers on this host, unless its interface is named"`
	DisableFamily  string        `mca:"disable_family" default:"0" enum:"0|4|6" level:"2" help:"4: use no IPv4 addresses; 6: use no IPv6 addresses; 0: use both"`
	PortMinV4      int           `mca:"port_min_v4" default:"1024" min:"1" max:"65535" level:"2" help:"least IPv4 port to use"`
	PortRangeV4    int           `mca:"port_range_v4" default:"64511" min:"1" max:"65535" level:"2" help:"how many IPv4 ports from port_min_v4 on may be used"`
	PortMinV6      int           `mca:"port_min_v6" default:"1024" min:"1" max:"65535" level:"2" help:"least IPv6 port to use"`
	PortRangeV6    int           `mca:"port_range_v6" default:"64511" min:"1" max:"65535" level:"2" help:"how many IPv6 ports from port_min_v6 on may be used"`
	Advertise      []string      `mca:"advertise" level:"3" help:"addresses with ports (10.1.2.3:4000) to publish in place of this process's own, by which peers reach it through a relay or a translator of addresses"`
	Datagram       int           `mca:"datagram" default:"0" min:"0" max:"65507" level:"4" unit:"bytes" help:"largest datagram sent, at least 512; 0: what the interface takes in one piece, inside a host about 62 KiB"`
	Offload        bool          `mca:"offload" default:"true" level:"5" help:"let the kernel cut and join datagrams (UDP GSO and GRO) where they are small"`
	Window         int           `mca:"window" default:"4m" min:"8k" max:"1g" level:"4" unit:"bytes" help:"what a peer may have under way to this process; less when the kernel has less room for it, and with many peers"`
	Sndbuf         int           `mca:"sndbuf" default:"4m" min:"0" max:"1g" level:"5" unit:"bytes" help:"send buffer asked of the kernel for a socket; 0: the kernel's default"`
	Rcvbuf         int           `mca:"rcvbuf" default:"4m" min:"0" max:"1g" level:"4" unit:"bytes" help:"receive buffer asked of the kernel for a socket; 0: the kernel's default"`
	AckDelay       time.Duration `mca:"ack_delay" default:"500us" min:"0" max:"100ms" level:"6" help:"how long a single packet may wait for its acknowledgement, which may travel with data meanwhile"`
	MinRTO         time.Duration `mca:"min_rto" default:"2ms" min:"100us" max:"1s" level:"6" help:"least time without an answer until the oldest packet is sent again"`
	Timeout        time.Duration `mca:"timeout" default:"10s" min:"0" level:"4" help:"a peer that was asked again and again and has not answered for so long is given up; at least 200ms; 0: never. A program that computes does not keep its rank from answering, one that is stopped does"`
	EagerLimit     int64         `mca:"eager_limit" default:"64k" min:"0" max:"256m" level:"4" unit:"bytes" settable:"true" help:"largest message, header included, sent before it is matched"`
	RndvEagerLimit int64         `mca:"rndv_eager_limit" default:"0" min:"0" max:"256m" level:"4" unit:"bytes" help:"payload that travels with a rendezvous header"`
	MaxSendSize    int64         `mca:"max_send_size" default:"256k" min:"128" max:"256m" level:"4" unit:"bytes" help:"largest fragment, header included"`
	CopyLimit      int           `mca:"copy_limit" default:"64k" min:"0" max:"256m" level:"5" unit:"bytes" help:"payloads up to this size are copied, and gone for their sender at once; larger ones are sent from where they lie, and held until they have come"`
	Latency        int           `mca:"latency" default:"100" min:"0" level:"5" unit:"microseconds" help:"latency told to the upper layer, which prefers the least for small messages"`
	Bandwidth      int           `mca:"bandwidth" default:"0" min:"0" level:"5" unit:"Mbit/s" help:"bandwidth told to the upper layer as the weight for large messages; 0: what the interfaces say they have"`
	Exclusivity    int           `mca:"exclusivity" default:"90" min:"0" level:"7" help:"a peer is reached only by the most exclusive of the BTLs that reach it"`
	Inject         string        `mca:"inject" level:"8" help:"what is to go wrong with datagrams on their way out, such as loss=5%,dup=1%,reorder=2%,corrupt=0.1%,delay=1ms; for tests"`
	InjectSeed     int           `mca:"inject_seed" default:"1" level:"8" help:"from which the injected faults are drawn, with the rank"`

	frame int64 // maxFrame at start, which peers are told; 0: not yet
}

// leastTimeout leaves time to ask a few times.
const leastTimeout = 200 * time.Millisecond

// Validate checks what single bounds cannot.
func (o *options) Validate() error {
	for _, p := range []struct {
		name             string
		first, portRange int
	}{{"v4", o.PortMinV4, o.PortRangeV4}, {"v6", o.PortMinV6, o.PortRangeV6}} {
		if last := p.first + p.portRange - 1; last > 65535 {
			return fmt.Errorf("port_min_%s and port_range_%s reach up to port %d, beyond 65535", p.name, p.name, last)
		}
	}
	if o.Timeout > 0 && o.Timeout < leastTimeout {
		return fmt.Errorf("timeout %v is less than %v, in which a silent peer can hardly be asked again; 0 switches it off", o.Timeout, leastTimeout)
	}
	if o.Datagram > 0 && o.Datagram < minDatagram {
		return fmt.Errorf("datagram %d is less than %d; 0 chooses", o.Datagram, minDatagram)
	}
	err := o.choice().Validate()
	_, err2 := parseFaults(o.Inject)
	_, err3 := o.advertised()
	return errors.Join(err, err2, err3)
}

// advertised are the addresses of Advertise.
func (o *options) advertised() (out []netip.AddrPort, err error) {
	for _, s := range o.Advertise {
		a, err := netip.ParseAddrPort(s)
		if err != nil || a.Port() == 0 {
			return nil, fmt.Errorf("advertise: %q is no address with a port such as 10.1.2.3:4000 or [fd00::1]:4000", s)
		}
		out = append(out, netip.AddrPortFrom(a.Addr().Unmap(), a.Port()))
	}
	if len(out) > inet.MaxCardAddrs {
		return nil, fmt.Errorf("advertise: %d addresses, at most %d are possible", len(out), inet.MaxCardAddrs)
	}
	return out, nil
}

// maxFrame is the largest message, header included, that this side sends.
func (o *options) maxFrame() int64 {
	if o.frame != 0 {
		return o.frame
	}
	return max(o.EagerLimit, o.RndvEagerLimit+btl.HeaderMax, o.MaxSendSize)
}

func (o *options) choice() *inet.Choice {
	return &inet.Choice{Component: "udp", IfInclude: o.IfInclude, IfExclude: o.IfExclude, DisableFamily: o.DisableFamily}
}

// cardKey is where the business card lies.
const cardKey = "btl.udp"

type component struct{}

func (component) Framework() string { return "btl" }
func (component) Name() string      { return "udp" }
func (component) Options() any      { return new(options) }

// What this component offers beyond the contract.
var (
	_ btl.InlineSender = (*endpoint)(nil)
	_ btl.Diverter     = (*module)(nil)
)

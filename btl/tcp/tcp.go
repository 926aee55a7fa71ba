// Package tcp is the BTL between hosts: active messages over TCP sockets, one or several (links) a pair of processes.
//
//  1. Open makes listening sockets and publishes their addresses as the process's business card (package btl/inet, listen.go).
//  2. The first Send to a peer connects link 0 (connect.go). Both ends prove that they know the job's secret before anything else is
//     believed; when both connect at once, the lower rank's connection wins (handshake.go).
//  3. Send writes header and payload with one system call, from where they lie. What the socket does not take at once stays
//     with the link, one fragment a link, and is finished when the socket has room (send.go).
//  4. Poll reads the socket that talked last; the others are found by the engine's epoll set. Small frames are cut out of one
//     read; the payload of a large one goes straight to where its handler wants it (recv.go).
//  5. With several links, frames are kept until acknowledged. When a link breaks, the two ends tell each other how far it got
//     and the rest is sent over the others (resend.go).
//  6. Flush says BYE. An end of stream without it is a death.
//
// Everything runs with the engine's token held, on whichever goroutine drives it; there are no goroutines here. Sockets are
// non-blocking and hot ones are used by raw system calls, which neither block nor tell the scheduler.
//
// The package registers itself; nothing but that import is for others to use.
package tcp

import (
	"fmt"
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
	Links          int           `mca:"links" default:"1" min:"1" max:"16" level:"4" help:"connections to each peer; the lesser of both ends' values holds"`
	PortMinV4      int           `mca:"port_min_v4" default:"1024" min:"1" max:"65535" level:"2" help:"least IPv4 port to listen on"`
	PortRangeV4    int           `mca:"port_range_v4" default:"64511" min:"1" max:"65535" level:"2" help:"how many IPv4 ports from port_min_v4 on may be used"`
	PortMinV6      int           `mca:"port_min_v6" default:"1024" min:"1" max:"65535" level:"2" help:"least IPv6 port to listen on"`
	PortRangeV6    int           `mca:"port_range_v6" default:"64511" min:"1" max:"65535" level:"2" help:"how many IPv6 ports from port_min_v6 on may be used"`
	Sndbuf         int           `mca:"sndbuf" default:"0" min:"0" max:"1g" level:"4" unit:"bytes" help:"size of a socket's send buffer; 0: the kernel tunes it, but over the loopback interface see btl_tcp_sndbuf_loopback"`
	SndbufLoopback int           `mca:"sndbuf_loopback" default:"256k" min:"0" max:"1g" level:"5" unit:"bytes" help:"size of the send buffer of a connection inside this host: what is under way should fit the caches; 0: the kernel tunes it"`
	Rcvbuf         int           `mca:"rcvbuf" default:"0" min:"0" max:"1g" level:"4" unit:"bytes" help:"size of a socket's receive buffer; 0: the kernel tunes it"`
	WindowLoopback int           `mca:"window_loopback" default:"768k" min:"0" max:"1g" level:"5" unit:"bytes" help:"largest receive window of a connection inside this host: what is under way should fit the caches; 0: the kernel tunes it"`
	UseNagle       bool          `mca:"use_nagle" default:"false" level:"4" help:"let the kernel hold small writes back until earlier ones are acknowledged"`
	EndpointCache  int           `mca:"endpoint_cache" default:"30720" min:"8k" max:"16m" level:"4" unit:"bytes" help:"receive buffer of a connection, from which small messages are cut"`
	EagerLimit     int64         `mca:"eager_limit" default:"64k" min:"0" max:"256m" level:"4" unit:"bytes" settable:"true" help:"largest message, header included, sent before it is matched"`
	RndvEagerLimit int64         `mca:"rndv_eager_limit" default:"0" min:"0" max:"256m" level:"4" unit:"bytes" help:"payload that travels with a rendezvous header"`
	MaxSendSize    int64         `mca:"max_send_size" default:"1m" min:"128" max:"256m" level:"4" unit:"bytes" help:"largest fragment, header included"`
	Latency        int           `mca:"latency" default:"100" min:"0" level:"5" unit:"microseconds" help:"latency told to the upper layer, which prefers the least for small messages"`
	Bandwidth      int           `mca:"bandwidth" default:"0" min:"0" level:"5" unit:"Mbit/s" help:"bandwidth told to the upper layer as the weight for large messages; 0: what the interfaces say they have"`
	Exclusivity    int           `mca:"exclusivity" default:"100" min:"0" level:"7" help:"a peer is reached only by the most exclusive of the BTLs that reach it"`
	ConnectTimeout time.Duration `mca:"connect_timeout" default:"5s" min:"10ms" level:"5" help:"how long an address may take to answer before the next is tried, and a caller to say who it is"`
	KeepaliveTime  time.Duration `mca:"keepalive_time" default:"60s" min:"0" level:"6" help:"idle time after which the kernel asks whether the peer's host is still there; 0: never"`
	PeerTimeout    time.Duration `mca:"peer_timeout" default:"0" min:"0" level:"4" help:"time after which a peer that acknowledges nothing is given up, because its host or the network to it is gone; at least 200ms; of idle connections in whole seconds, at least 2. It takes the place of keepalive_time. 0: when the kernel gives up, which takes many minutes"`

	frame int64 // maxFrame at start, which peers are told; 0: not yet
}

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
	if o.PeerTimeout > 0 && o.PeerTimeout < leastPeerTimeout {
		return fmt.Errorf("peer_timeout %v is less than %v, in which the kernel has hardly asked a silent peer again; 0 switches it off", o.PeerTimeout, leastPeerTimeout)
	}
	return o.choice().Validate()
}

// maxFrame is the largest message, header included, that this side sends.
func (o *options) maxFrame() int64 {
	if o.frame != 0 {
		return o.frame
	}
	return max(o.EagerLimit, o.RndvEagerLimit+btl.HeaderMax, o.MaxSendSize)
}

func (o *options) choice() *inet.Choice {
	return &inet.Choice{Component: "tcp", IfInclude: o.IfInclude, IfExclude: o.IfExclude, DisableFamily: o.DisableFamily}
}

// cardKey is where the business card lies.
const cardKey = "btl.tcp"

type component struct{}

func (component) Framework() string { return "btl" }
func (component) Name() string      { return "tcp" }
func (component) Options() any      { return new(options) }

// What this component offers beyond the contract.
var _ btl.InlineSender = (*endpoint)(nil)

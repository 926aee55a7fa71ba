package portals4

import "errors"

// Options are the component's parameters. Names and defaults are Open MPI's where it has the same.
type Options struct {
	Priority   int    `mca:"priority" default:"10" min:"0" max:"100" level:"9" help:"priority among the MTLs"`
	MatchBits  string `mca:"match_bits" default:"4/12/16/32" enum:"4/12/16/32|4/12/24/24" level:"5" help:"bits of the match bits for protocol, context, source and tag: 65,536 ranks and tags below 2^30, or 16 million ranks and tags below 2^23; must be the same in all ranks"`
	UseLogical bool   `mca:"use_logical" default:"false" level:"5" help:"address processes by their rank (a logical interface) instead of node and process id; must be the same in all ranks"`

	ShortLimit    int64  `mca:"short_limit" default:"2k" min:"0" max:"1m" level:"4" unit:"bytes" help:"largest short message: copied by its sender, and kept by its receiver while no receive waits for it"`
	EagerLimit    int64  `mca:"eager_limit" default:"2k" min:"0" max:"1m" level:"4" unit:"bytes" help:"part of a long message that travels with its announcement under the protocols rndv and triggered; at most short_limit"`
	LongProtocol  string `mca:"long_protocol" default:"eager" enum:"eager|rndv|triggered" level:"4" help:"how long messages go: eager puts the whole message, which is got again if nothing waited for it; rndv announces it by its first bytes and gets the rest; triggered has the get armed when the receive is posted; the sender's value holds, triggered must be the same in all ranks"`
	ShortRecvNum  int    `mca:"short_recv_num" default:"16" min:"2" max:"65536" level:"5" help:"blocks of memory for short messages that no receive waits for"`
	ShortRecvSize int64  `mca:"short_recv_size" default:"1m" min:"4k" max:"1g" level:"5" unit:"bytes" help:"size of such a block; with credit the same memory is cut into more and smaller ones where ranks are many"`
	MaxMsgSize    int64  `mca:"max_msg_size" default:"1g" min:"1k" level:"6" unit:"bytes" help:"largest put or get of a long message; the interface's limit holds beside it"`

	FlowControl string `mca:"flow_control" default:"credit" enum:"credit|recovery" level:"4" help:"what keeps unexpected messages from overflowing a receiver: credit gives each sender a share of each receiver's memory, which grows with the job; recovery lets the receiver's interface refuse messages, and stops, drains and restarts all ranks then; must be the same in all ranks"`
	CreditShare int64  `mca:"credit_share" default:"64k" min:"4k" max:"64m" level:"5" unit:"bytes" help:"least memory for unexpected short messages of each sender under flow control by credit"`
	CreditHeads int    `mca:"credit_headers" default:"1024" min:"8" max:"262144" level:"5" help:"most unexpected messages of each sender under flow control by credit; fewer where the interface has no room for so many headers"`

	MaxHeaders int `mca:"max_unexpected_headers" default:"65536" min:"64" max:"1048576" level:"5" help:"messages that may wait for their receives; shared among the senders with flow control by credit, which gives each four at least, and when recovery begins without"`

	SendSlots int `mca:"send_event_queue_size" default:"1024" min:"16" max:"1048576" level:"6" help:"operations that this rank may have under way at once; further ones wait"`
	RecvSlots int `mca:"recv_event_queue_size" default:"4096" min:"64" max:"1048576" level:"6" help:"events of arriving messages that may wait to be looked at"`
	RecvPT    int `mca:"recv_pt" default:"12" min:"0" max:"63" level:"9" help:"portal table index of messages"`
	ReadPT    int `mca:"read_pt" default:"13" min:"0" max:"63" level:"9" help:"portal table index from where long messages are got"`
	FlowPT    int `mca:"flow_pt" default:"14" min:"0" max:"63" level:"9" help:"portal table index of flow control"`
}

// Validate checks what single bounds cannot.
func (o *Options) Validate() error {
	switch {
	case o.EagerLimit > o.ShortLimit:
		return errors.New("mtl_portals4_eager_limit must be at most mtl_portals4_short_limit: unexpected parts lie in the same blocks")
	case o.LongProtocol == "triggered" && o.EagerLimit < 1:
		return errors.New("mtl_portals4_long_protocol triggered needs mtl_portals4_eager_limit above 0")
	case o.ShortRecvSize < 4*o.ShortLimit:
		return errors.New("mtl_portals4_short_recv_size must be at least four times mtl_portals4_short_limit")
	case o.RecvPT == o.ReadPT || o.RecvPT == o.FlowPT || o.ReadPT == o.FlowPT:
		return errors.New("mtl_portals4_recv_pt, mtl_portals4_read_pt and mtl_portals4_flow_pt must differ")
	}
	return nil
}

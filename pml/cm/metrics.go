package cm

import (
	"github.com/ompi-go/ompi-go/metrics"
	"github.com/ompi-go/ompi-go/pml"
)

// stats are the module's counters. Those of messages include the internal traffic of collectives.
type stats struct {
	atOnce, atOnceBytes     uint64 // sent without a request
	sent, sentBytes         uint64 // the others
	received, receivedBytes uint64
}

// Protocols of messages, in the labels: what the MTL makes of them is its affair, and has counters of its own.
const (
	protoInline = "inline"
	protoMTL    = "mtl"
)

// Describe implements metrics.Source.
func (o *module) Describe() []*metrics.Desc {
	list := []*metrics.Desc{pml.MessagesSent, pml.BytesSent, pml.MessagesReceived, pml.BytesReceived}
	for _, s := range o.sources() {
		list = append(list, s.Describe()...)
	}
	return list
}

// Metrics implements metrics.Source. The token is held.
func (o *module) Metrics(emit metrics.Emit) {
	s := &o.stats
	emit(pml.MessagesSent, s.atOnce, protoInline)
	emit(pml.BytesSent, s.atOnceBytes, protoInline)
	emit(pml.MessagesSent, s.sent, protoMTL)
	emit(pml.BytesSent, s.sentBytes, protoMTL)
	emit(pml.MessagesReceived, s.received, protoMTL)
	emit(pml.BytesReceived, s.receivedBytes, protoMTL)
	for _, x := range o.sources() {
		x.Metrics(emit)
	}
}

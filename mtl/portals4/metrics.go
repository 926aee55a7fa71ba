package portals4

import (
	"github.com/ompi-go/ompi-go/metrics"
	ptl "github.com/ompi-go/ompi-go/portals4"
)

// stats are the counters, written with the token held.
type stats struct {
	short, long, rndv          uint64 // messages sent
	bytes                      uint64
	expected, unexpected       uint64
	wasted                     uint64
	poor                       uint64
	stalls, credits, loans     uint64
	refusals, recoveries       uint64
	retries, recycled, refused uint64
	dropped, triggered         uint64
}

func (s *stats) sent(proto uint64, n int) {
	switch proto {
	case protoShort:
		s.short++
	case protoLong:
		s.long++
	default:
		s.rndv++
	}
	s.bytes += uint64(n)
}

func (s *stats) received(proto uint64, late bool) {
	if late {
		s.unexpected++
	} else {
		s.expected++
	}
}

var byKind = []string{"kind"}

var (
	sentDesc       = &metrics.Desc{Name: "ompi_mtl_messages_sent_total", Help: "Messages put, again after a refusal included: short, long (whole, or their header alone) or rndv (their first part).", Labels: byKind}
	sentBytesDesc  = &metrics.Desc{Name: "ompi_mtl_bytes_sent_total", Help: "Bytes of these messages."}
	receivedDesc   = &metrics.Desc{Name: "ompi_mtl_messages_received_total", Help: "Messages received: expected, which found their receive posted, or unexpected.", Labels: byKind}
	untakenDesc    = &metrics.Desc{Name: "ompi_mtl_bytes_not_taken_total", Help: "Bytes of puts that found no memory at their receiver, which got them again if anybody wanted them."}
	wastedDesc     = &metrics.Desc{Name: "ompi_mtl_bytes_wasted_total", Help: "Bytes that travelled for nothing: of all that uses this rank's interface."}
	poorDesc       = &metrics.Desc{Name: "ompi_mtl_short_announced_total", Help: "Short messages sent as long ones, since their receiver had no memory for them."}
	stallsDesc     = &metrics.Desc{Name: "ompi_mtl_credit_stalls_total", Help: "Times that messages stayed with their sender for want of credit."}
	creditsDesc    = &metrics.Desc{Name: "ompi_mtl_credits_total", Help: "Puts that gave credit back."}
	loansDesc      = &metrics.Desc{Name: "ompi_mtl_credit_loans_total", Help: "Grants beyond a sender's share, since something waited for what it kept back."}
	refusalsDesc   = &metrics.Desc{Name: "ompi_mtl_refused_sends_total", Help: "Puts of this rank that a receiver's interface refused, and that were sent again."}
	recoveriesDesc = &metrics.Desc{Name: "ompi_mtl_recoveries_total", Help: "Recoveries from overflow that this rank took part in."}
	retriesDesc    = &metrics.Desc{Name: "ompi_mtl_retries_total", Help: "Gets and answers tried again because the peer's interface refused them."}
	recycledDesc   = &metrics.Desc{Name: "ompi_mtl_blocks_recycled_total", Help: "Blocks for unexpected short messages linked anew."}
	badDesc        = &metrics.Desc{Name: "ompi_mtl_refused_total", Help: "Messages thrown away because they made no sense."}
	droppedDesc    = &metrics.Desc{Name: "ompi_mtl_dropped_total", Help: "Messages that nobody had received when their communicator was freed."}
	armedDesc      = &metrics.Desc{Name: "ompi_mtl_triggered_gets_total", Help: "Messages whose second part came by a get that their receive had armed."}
)

// Describe implements metrics.Source.
func (m *module) Describe() []*metrics.Desc {
	return []*metrics.Desc{sentDesc, sentBytesDesc, receivedDesc, untakenDesc, wastedDesc, poorDesc, stallsDesc, creditsDesc, loansDesc, refusalsDesc,
		recoveriesDesc, retriesDesc, recycledDesc, badDesc, droppedDesc, armedDesc}
}

// Metrics implements metrics.Source. The token is held.
func (m *module) Metrics(emit metrics.Emit) {
	s := &m.stats
	emit(sentDesc, s.short, "short")
	emit(sentDesc, s.long, "long")
	emit(sentDesc, s.rndv, "rndv")
	emit(sentBytesDesc, s.bytes)
	emit(receivedDesc, s.expected, "expected")
	emit(receivedDesc, s.unexpected, "unexpected")
	emit(untakenDesc, s.wasted)
	if !m.closed {
		if n, err := m.ni.Status(ptl.WastedBytes); err == nil {
			emit(wastedDesc, n)
		}
	}
	emit(poorDesc, s.poor)
	emit(stallsDesc, s.stalls)
	emit(creditsDesc, s.credits)
	emit(loansDesc, s.loans)
	emit(refusalsDesc, s.refusals)
	emit(recoveriesDesc, s.recoveries)
	emit(retriesDesc, s.retries)
	emit(recycledDesc, s.recycled)
	emit(badDesc, s.refused)
	emit(droppedDesc, s.dropped)
	emit(armedDesc, s.triggered)
}

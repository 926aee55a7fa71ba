package tcp

import "github.com/ompi-go/ompi-go/metrics"

// The label is the BTL's name, as in the counters that all BTLs have.
var byBTL = []string{"btl"}

var (
	framesDesc    = &metrics.Desc{Name: "ompi_btl_messages_received_total", Help: "Active messages received.", Labels: byBTL}
	bytesDesc     = &metrics.Desc{Name: "ompi_btl_bytes_received_total", Help: "Headers and payload of active messages received.", Labels: byBTL}
	partialDesc   = &metrics.Desc{Name: "ompi_btl_partial_sends_total", Help: "Sends that the socket did not take at once.", Labels: byBTL}
	placedDesc    = &metrics.Desc{Name: "ompi_btl_placed_total", Help: "Payloads read straight into the receiver's buffer.", Labels: byBTL}
	connectedDesc = &metrics.Desc{Name: "ompi_btl_connections_total", Help: "Connections made and authenticated.", Labels: byBTL}
	refusedDesc   = &metrics.Desc{Name: "ompi_btl_refused_total", Help: "Callers refused because they did not prove that they belong to the job.", Labels: byBTL}
	retiredDesc   = &metrics.Desc{Name: "ompi_btl_links_broken_total", Help: "Connections that broke.", Labels: byBTL}
	resentDesc    = &metrics.Desc{Name: "ompi_btl_resent_total", Help: "Active messages sent again over another connection.", Labels: byBTL}
)

// Describe implements metrics.Source.
func (m *module) Describe() []*metrics.Desc {
	return []*metrics.Desc{framesDesc, bytesDesc, partialDesc, placedDesc, connectedDesc, refusedDesc, retiredDesc, resentDesc}
}

// Metrics implements metrics.Source. The token is held.
func (m *module) Metrics(emit metrics.Emit) {
	s := &m.stats
	emit(framesDesc, s.Frames, m.Name())
	emit(bytesDesc, s.Bytes, m.Name())
	emit(partialDesc, s.Partial, m.Name())
	emit(placedDesc, s.Placed, m.Name())
	emit(connectedDesc, s.Connected, m.Name())
	emit(refusedDesc, s.Refused, m.Name())
	emit(retiredDesc, s.Retired, m.Name())
	emit(resentDesc, s.Resent, m.Name())
}

package r2

import "github.com/ompi-go/ompi-go/metrics"

// The labels say which BTL, and how near the peer is: self, process, host or remote.
var trafficLabels = []string{"btl", "peer"}

var (
	sentDesc     = &metrics.Desc{Name: "ompi_btl_messages_sent_total", Help: "Active messages sent: first fragments of messages, further fragments, control messages.", Labels: trafficLabels}
	bytesDesc    = &metrics.Desc{Name: "ompi_btl_bytes_sent_total", Help: "Payload of active messages sent, without headers.", Labels: trafficLabels}
	getsDesc     = &metrics.Desc{Name: "ompi_btl_gets_total", Help: "Reads of a peer's memory.", Labels: trafficLabels}
	getBytesDesc = &metrics.Desc{Name: "ompi_btl_get_bytes_total", Help: "Bytes read from peers' memory.", Labels: trafficLabels}
	putsDesc     = &metrics.Desc{Name: "ompi_btl_puts_total", Help: "Writes to a peer's memory.", Labels: trafficLabels}
	putBytesDesc = &metrics.Desc{Name: "ompi_btl_put_bytes_total", Help: "Bytes written to peers' memory.", Labels: trafficLabels}
)

// Describe implements metrics.Source.
func (m *manager) Describe() []*metrics.Desc {
	return []*metrics.Desc{sentDesc, bytesDesc, getsDesc, getBytesDesc, putsDesc, putBytesDesc}
}

// Metrics implements metrics.Source. The token is held. A class of peers appears when one of them is first used.
func (m *manager) Metrics(emit metrics.Emit) {
	for _, c := range m.counts {
		emit(sentDesc, c.Sent, c.BTL, c.Peer)
		emit(bytesDesc, c.Bytes, c.BTL, c.Peer)
		emit(getsDesc, c.Gets, c.BTL, c.Peer)
		emit(getBytesDesc, c.GetBytes, c.BTL, c.Peer)
		emit(putsDesc, c.Puts, c.BTL, c.Peer)
		emit(putBytesDesc, c.PutBytes, c.BTL, c.Peer)
	}
}

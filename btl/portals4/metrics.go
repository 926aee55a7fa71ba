package portals4

import (
	"strconv"

	"github.com/ompi-go/ompi-go/metrics"
)

// byModule is the label that tells the component's modules apart.
var byModule = []string{"module"}

var (
	waitsDesc   = &metrics.Desc{Name: "ompi_btl_portals4_credit_waits_total", Labels: byModule, Help: "Times that a message was offered to btl portals4 and its receiver had not granted credit for it."}
	creditsDesc = &metrics.Desc{Name: "ompi_btl_portals4_credits_sent_total", Labels: byModule, Help: "Messages of btl portals4 that gave credit to senders."}
	blocksDesc  = &metrics.Desc{Name: "ompi_btl_portals4_blocks_linked_total", Labels: byModule, Help: "Blocks of memory for messages that btl portals4 has linked, first and again."}
)

// Describe implements metrics.Source.
func (m *module) Describe() []*metrics.Desc {
	return []*metrics.Desc{waitsDesc, creditsDesc, blocksDesc}
}

// Metrics implements metrics.Source. The token is held.
func (m *module) Metrics(emit metrics.Emit) {
	k := strconv.Itoa(m.number)
	emit(waitsDesc, m.stats.waits, k)
	emit(creditsDesc, m.stats.credits, k)
	emit(blocksDesc, m.stats.blocks, k)
}

package pml

import "github.com/ompi-go/ompi-go/metrics"

var byProtocol = []string{"protocol"}

// Counters that every PML has, by its protocols: what programs for watching look at must not depend on the PML.
var (
	MessagesSent     = &metrics.Desc{Name: "ompi_pml_messages_sent_total", Help: "Messages sent, collectives' own included, by the protocol offered.", Labels: byProtocol}
	BytesSent        = &metrics.Desc{Name: "ompi_pml_bytes_sent_total", Help: "Bytes of the messages sent.", Labels: byProtocol}
	MessagesReceived = &metrics.Desc{Name: "ompi_pml_messages_received_total", Help: "Messages received, collectives' own included, by how they came: inline ones count as eager.", Labels: byProtocol}
	BytesReceived    = &metrics.Desc{Name: "ompi_pml_bytes_received_total", Help: "Bytes put into receive buffers; the rest of a truncated message is not counted.", Labels: byProtocol}
)

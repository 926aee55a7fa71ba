package udp

import "github.com/ompi-go/ompi-go/metrics"

// Stats are the module's counters, read with the engine's token held.
type Stats struct {
	Frames, Bytes          uint64 // messages received, their headers and payloads
	Sent, SentBytes        uint64 // likewise sent
	Packets, WireBytes     uint64 // packets sent, all of them with their heads; without the handshake
	PacketsIn, WireBytesIn uint64 // datagrams received, of whatever kind
	Retransmitted          uint64 // packets sent again
	Lost                   uint64 // packets overtaken by others, and taken to be lost
	Probes                 uint64 // packets sent again because nothing came
	Duplicates             uint64 // packets that had come already
	Reordered              uint64 // packets that came before their turn
	Overrun                uint64 // packets beyond what is held
	BadSums                uint64 // packets with a wrong sum
	Strangers              uint64 // datagrams of nobody in the job
	Strays                 uint64 // packets of no connection
	Placed                 uint64 // payloads copied straight to their place
	Connected              uint64 // handshakes completed
	Refused                uint64 // callers refused
	Full                   uint64 // times the kernel had no room
	Refusals               uint64 // datagrams that the kernel refused
	Stood                  uint64 // passes made in the place of a program that computes
	Injected               uint64 // faults made on purpose
}

// The label is the BTL's name, as in the counters that all BTLs have.
var byBTL = []string{"btl"}

var (
	framesDesc     = &metrics.Desc{Name: "ompi_btl_messages_received_total", Help: "Active messages received.", Labels: byBTL}
	bytesDesc      = &metrics.Desc{Name: "ompi_btl_bytes_received_total", Help: "Headers and payload of active messages received.", Labels: byBTL}
	placedDesc     = &metrics.Desc{Name: "ompi_btl_placed_total", Help: "Payloads read straight into the receiver's buffer.", Labels: byBTL}
	connectedDesc  = &metrics.Desc{Name: "ompi_btl_connections_total", Help: "Connections made and authenticated.", Labels: byBTL}
	refusedDesc    = &metrics.Desc{Name: "ompi_btl_refused_total", Help: "Callers refused because they did not prove that they belong to the job.", Labels: byBTL}
	packetsDesc    = &metrics.Desc{Name: "ompi_btl_udp_packets_sent_total", Help: "Packets handed to the kernel, acknowledgements and repetitions included."}
	wireDesc       = &metrics.Desc{Name: "ompi_btl_udp_bytes_sent_total", Help: "Bytes of these packets, without the headers of UDP and IP."}
	packetsInDesc  = &metrics.Desc{Name: "ompi_btl_udp_datagrams_received_total", Help: "Datagrams received, of whatever kind."}
	wireInDesc     = &metrics.Desc{Name: "ompi_btl_udp_datagram_bytes_received_total", Help: "Bytes of these datagrams."}
	againDesc      = &metrics.Desc{Name: "ompi_btl_udp_retransmissions_total", Help: "Packets sent again."}
	lostDesc       = &metrics.Desc{Name: "ompi_btl_udp_lost_total", Help: "Packets taken to be lost because later ones had come."}
	probesDesc     = &metrics.Desc{Name: "ompi_btl_udp_probes_total", Help: "Packets sent again because nothing had come for long."}
	duplicatesDesc = &metrics.Desc{Name: "ompi_btl_udp_duplicates_total", Help: "Packets that had come before."}
	reorderedDesc  = &metrics.Desc{Name: "ompi_btl_udp_reordered_total", Help: "Packets that came before their turn."}
	overrunDesc    = &metrics.Desc{Name: "ompi_btl_udp_overrun_total", Help: "Packets thrown away since they lay beyond what is held."}
	badSumsDesc    = &metrics.Desc{Name: "ompi_btl_udp_bad_checksums_total", Help: "Packets thrown away because of their checksum."}
	strangersDesc  = &metrics.Desc{Name: "ompi_btl_udp_strangers_total", Help: "Datagrams thrown away that nobody of the job has sent."}
	straysDesc     = &metrics.Desc{Name: "ompi_btl_udp_strays_total", Help: "Packets thrown away that belong to no connection."}
	fullDesc       = &metrics.Desc{Name: "ompi_btl_udp_kernel_full_total", Help: "Times that the kernel took no more datagrams for the moment."}
	refusalsDesc   = &metrics.Desc{Name: "ompi_btl_udp_kernel_refusals_total", Help: "Datagrams that the kernel refused to send."}
	stoodDesc      = &metrics.Desc{Name: "ompi_btl_udp_stand_in_passes_total", Help: "Passes made because the program had not called for long."}
	injectedDesc   = &metrics.Desc{Name: "ompi_btl_udp_injected_faults_total", Help: "Faults made on purpose, by btl_udp_inject."}
)

// Describe implements metrics.Source.
func (m *module) Describe() []*metrics.Desc {
	return []*metrics.Desc{framesDesc, bytesDesc, placedDesc, connectedDesc, refusedDesc, packetsDesc, wireDesc, packetsInDesc, wireInDesc, againDesc, lostDesc, probesDesc,
		duplicatesDesc, reorderedDesc, overrunDesc, badSumsDesc, strangersDesc, straysDesc, fullDesc, refusalsDesc, stoodDesc, injectedDesc}
}

// Metrics implements metrics.Source. The token is held.
func (m *module) Metrics(emit metrics.Emit) {
	s := &m.stats
	emit(framesDesc, s.Frames, m.Name())
	emit(bytesDesc, s.Bytes, m.Name())
	emit(placedDesc, s.Placed, m.Name())
	emit(connectedDesc, s.Connected, m.Name())
	emit(refusedDesc, s.Refused, m.Name())
	emit(packetsDesc, s.Packets)
	emit(wireDesc, s.WireBytes)
	emit(packetsInDesc, s.PacketsIn)
	emit(wireInDesc, s.WireBytesIn)
	emit(againDesc, s.Retransmitted)
	emit(lostDesc, s.Lost)
	emit(probesDesc, s.Probes)
	emit(duplicatesDesc, s.Duplicates)
	emit(reorderedDesc, s.Reordered)
	emit(overrunDesc, s.Overrun)
	emit(badSumsDesc, s.BadSums)
	emit(strangersDesc, s.Strangers)
	emit(straysDesc, s.Strays)
	emit(fullDesc, s.Full)
	emit(refusalsDesc, s.Refusals)
	emit(stoodDesc, s.Stood)
	emit(injectedDesc, s.Injected)
}

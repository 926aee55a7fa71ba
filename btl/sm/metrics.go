package sm

import "github.com/ompi-go/ompi-go/metrics"

var byBTL = []string{"btl"}

var (
	mappedDesc      = &metrics.Desc{Name: "ompi_btl_mapped_copies_total", Help: "Transfers copied to or from a peer's memory of AllocMem, without a system call.", Labels: byBTL}
	mappedBytesDesc = &metrics.Desc{Name: "ompi_btl_mapped_bytes_total", Help: "Bytes of such transfers.", Labels: byBTL}
)

// Describe implements metrics.Source.
func (m *module) Describe() []*metrics.Desc { return []*metrics.Desc{mappedDesc, mappedBytesDesc} }

// Metrics implements metrics.Source. The token is held.
func (m *module) Metrics(emit metrics.Emit) {
	emit(mappedDesc, m.mapped, m.Name())
	emit(mappedBytesDesc, m.mappedBytes, m.Name())
}

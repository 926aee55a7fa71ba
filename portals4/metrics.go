package portals4

import "github.com/ompi-go/ompi-go/metrics"

// counts are what the interface counts beside the status registers of its NIs.
type counts struct {
	disabled     uint64
	garbage      uint64
	failures     uint64
	unregistered uint64
	copied       uint64
	noInterface  uint64
}

var (
	dropsDesc    = &metrics.Desc{Name: "ompi_portals4_drops_total", Help: "Operations that found no memory, of all network interfaces."}
	permDesc     = &metrics.Desc{Name: "ompi_portals4_permission_violations_total", Help: "Operations of a user who may not."}
	opDesc       = &metrics.Desc{Name: "ompi_portals4_operation_violations_total", Help: "Operations that the matching entry does not allow."}
	wastedDesc   = &metrics.Desc{Name: "ompi_portals4_wasted_bytes_total", Help: "Payload that travelled and found no memory."}
	disabledDesc = &metrics.Desc{Name: "ompi_portals4_pt_disabled_total", Help: "Times that flow control has disabled a portal table entry."}
	garbageDesc  = &metrics.Desc{Name: "ompi_portals4_garbage_total", Help: "Messages that no interface sends; their senders are not listened to any more."}
	failuresDesc = &metrics.Desc{Name: "ompi_portals4_failures_total", Help: "Processes that could not be reached any more."}
	copiedDesc   = &metrics.Desc{Name: "ompi_portals4_copied_total", Help: "Transfers that were sent since their memory could not be read."}
	unregDesc    = &metrics.Desc{Name: "ompi_portals4_unregistered_total", Help: "Transfers that were sent since their memory could not be registered."}
	closedDesc   = &metrics.Desc{Name: "ompi_portals4_no_interface_total", Help: "Operations on a network interface that is not open."}
)

// Describe implements metrics.Source.
func (i *Interface) Describe() []*metrics.Desc {
	return append([]*metrics.Desc{dropsDesc, permDesc, opDesc, wastedDesc, disabledDesc, garbageDesc, failuresDesc, copiedDesc, unregDesc, closedDesc}, i.nals.Describe()...)
}

// Metrics implements metrics.Source. The token is held.
func (i *Interface) Metrics(emit metrics.Emit) {
	var s [statusRegisters]uint64
	for _, ni := range i.nis {
		if ni != nil {
			for r := range s {
				s[r] += ni.status[r]
			}
		}
	}
	emit(dropsDesc, s[DropCount])
	emit(permDesc, s[PermissionViolations])
	emit(opDesc, s[OperationViolations])
	emit(wastedDesc, s[WastedBytes])
	emit(disabledDesc, i.counts.disabled)
	emit(garbageDesc, i.counts.garbage)
	emit(failuresDesc, i.counts.failures)
	emit(copiedDesc, i.counts.copied)
	emit(unregDesc, i.counts.unregistered)
	emit(closedDesc, i.counts.noInterface)
	i.nals.Metrics(emit)
}

// Describe and Metrics implement metrics.Source, by which the instance finds the counters of its interface.
func (s service) Describe() []*metrics.Desc { return s.i.Describe() }
func (s service) Metrics(emit metrics.Emit) { s.i.Metrics(emit) }

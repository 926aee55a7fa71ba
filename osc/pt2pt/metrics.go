package pt2pt

import "github.com/ompi-go/ompi-go/metrics"

// stats counts messages.
type stats struct {
	requests    uint64 // of operations and what closes epochs
	answers     uint64 // of results, acknowledgements and granted locks
	controls    uint64 // of posts
	longs       uint64 // of the data of long operations
	piggybacked uint64 // requests for a lock that went with what was to be done under it
	refused     uint64 // commands and messages that made no sense
}

var (
	messagesSent = &metrics.Desc{Name: "ompi_osc_pt2pt_messages_total", Help: "Messages of one-sided communication sent, by what they carry.", Labels: []string{"kind"}}
	refusedDesc  = &metrics.Desc{Name: "ompi_osc_pt2pt_refused_total", Help: "Messages and commands of one-sided communication that made no sense and were dropped."}
)

// Describe implements metrics.Source.
func (f *factory) Describe() []*metrics.Desc { return []*metrics.Desc{messagesSent, refusedDesc} }

// Metrics implements metrics.Source.
func (f *factory) Metrics(emit metrics.Emit) {
	emit(messagesSent, f.stats.requests, "operations")
	emit(messagesSent, f.stats.answers, "answers")
	emit(messagesSent, f.stats.controls, "posts")
	emit(messagesSent, f.stats.longs, "data")
	emit(refusedDesc, f.stats.refused)
}

package progress

import "github.com/ompi-go/ompi-go/metrics"

var (
	passesDesc = &metrics.Desc{Name: "ompi_progress_passes_total", Help: "Passes over the pollers."}
	eventsDesc = &metrics.Desc{Name: "ompi_progress_events_total", Help: "Events that passes found."}
	yieldsDesc = &metrics.Desc{Name: "ompi_progress_yields_total", Help: "Calls of sched_yield between passes that found nothing."}
	sleepsDesc = &metrics.Desc{Name: "ompi_progress_sleeps_total", Help: "Times that the driver went to sleep because nothing came."}
	wakesDesc  = &metrics.Desc{Name: "ompi_progress_wakes_total", Help: "Sleeps ended by a ring or a ready descriptor, not by a timer."}
	parksDesc  = &metrics.Desc{Name: "ompi_progress_parks_total", Help: "Times that a goroutine blocked because another one drove the engine."}
)

// Describe implements metrics.Source.
func (e *Engine) Describe() []*metrics.Desc {
	return []*metrics.Desc{passesDesc, eventsDesc, yieldsDesc, sleepsDesc, wakesDesc, parksDesc}
}

// Metrics implements metrics.Source. The caller holds the token.
func (e *Engine) Metrics(emit metrics.Emit) {
	s := e.Stats()
	emit(passesDesc, s.Passes)
	emit(eventsDesc, s.Events)
	emit(yieldsDesc, s.Yields)
	emit(sleepsDesc, s.Sleeps)
	emit(wakesDesc, s.Wakes)
	emit(parksDesc, s.Parks)
}

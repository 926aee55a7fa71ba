package ompi

import (
	"strings"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/metrics"
	"github.com/ompi-go/ompi-go/pml"
)

// What the tool information interface of MPI is for (MPI-4 §15.3), in Go's terms: parameters are its control variables, counters its
// performance variables.

// Cvar is a control variable: a parameter of the instance, as it was when asked for.
type Cvar struct {
	mca.Info // Settable tells whether Set can change it, Source where its value comes from
	inst     *Instance
}

// Cvars gives all parameters of the instance.
func (i *Instance) Cvars() []Cvar {
	infos := i.params.Infos()
	list := make([]Cvar, len(infos))
	for n, info := range infos {
		list[n] = Cvar{info, i}
	}
	return list
}

// Get is the value that is in force now.
func (v Cvar) Get() string {
	text, _, _ := v.inst.params.Lookup(v.Name)
	return text
}

// Set changes a settable parameter of this rank while the program runs. The value is checked as it is at start, and operations begun
// afterwards go by it. Settable is what concerns this rank alone: how long it polls, and how it chooses to send. What ranks must
// agree on, such as thresholds of collectives, is not. ErrArg says what is wrong.
func (v Cvar) Set(value string) error {
	const op = "T_cvar_write"
	i := v.inst
	if i.finalized.Load() {
		return &core.Error{Class: ErrOther, Op: op, Peer: Undefined, Index: -1, Err: core.NewError(ErrOther, "called after Finalize").Err}
	}
	i.engine.Lock()
	defer i.engine.Unlock()
	if err := i.params.Set(v.Name, value); err != nil {
		return &core.Error{Class: ErrArg, Op: op, Peer: Undefined, Index: -1, Err: err}
	}
	if u, ok := i.pml.(pml.LimitsUser); ok && v.Framework == "btl" {
		u.LimitsChanged()
	}
	return nil
}

// watchOptions applies changes of the general parameters.
func (i *Instance) watchOptions() error {
	return i.params.Watch("mpi", "", func(into any) (func(), error) {
		return func() { i.engine.SetSleepAfter(sleepAfter(into.(*mpiOptions).SleepAfter)) }, nil
	})
}

// Pvar is a performance variable: one counter's series, of class MPI_T_PVAR_CLASS_COUNTER. docs/metrics.md lists the counters.
type Pvar struct {
	Name   string
	Labels map[string]string // such as btl, peer; nil when there are none
	Help   string
	Unit   string // "bytes", or "1" for things counted
	Value  uint64
}

// PvarSession reads performance variables from a moment on: each tool has one of its own, and does not disturb the others. It
// must not be used by several goroutines at once.
type PvarSession struct {
	collector *metrics.Collector
	base      map[string]uint64
}

// Pvars opens a session. Its counts begin at Init until Reset is called.
func (i *Instance) Pvars() (*PvarSession, error) {
	c, err := metrics.NewCollector(i.engine, nil, i.sources()...)
	if err != nil {
		return nil, &core.Error{Class: ErrOther, Op: "T_pvar_session_create", Peer: Undefined, Index: -1, Err: err}
	}
	return &PvarSession{collector: c}, nil
}

// Read gives all variables, taken at one moment.
func (s *PvarSession) Read() []Pvar {
	samples := s.collector.Snapshot()
	list := make([]Pvar, len(samples))
	for n, x := range samples {
		v := Pvar{Name: x.Desc.Name, Help: x.Desc.Help, Unit: x.Desc.Unit(), Value: x.Value - s.base[seriesKey(x)]}
		for k, label := range x.Desc.Labels {
			if v.Labels == nil {
				v.Labels = make(map[string]string)
			}
			v.Labels[label] = x.Labels[k]
		}
		list[n] = v
	}
	return list
}

// Reset makes the session count from now on.
func (s *PvarSession) Reset() {
	s.base = make(map[string]uint64)
	for _, x := range s.collector.Snapshot() {
		s.base[seriesKey(x)] = x.Value
	}
}

func seriesKey(x metrics.Sample) string { return x.Desc.Name + "\x00" + strings.Join(x.Labels, "\x00") }

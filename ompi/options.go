package ompi

import (
	"time"

	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/progress"
)

func init() {
	mca.RegisterFramework(mca.Framework{Name: "mpi", Help: "general parameters", Flat: true, Options: func() any { return &mpiOptions{} }})
}

// mpiOptions are the general parameters.
type mpiOptions struct {
	YieldWhenIdle string        `mca:"yield_when_idle" default:"auto" enum:"auto|true|false" level:"3" help:"give up the core between polls that find nothing; auto: when ranks outnumber the cores"`
	SleepAfter    time.Duration `mca:"sleep_after" default:"20ms" level:"4" settable:"true" help:"idle time after which a waiting rank stops polling and sleeps until something rings; 0: never"`
	LeavePinned   bool          `mca:"leave_pinned" default:"true" level:"4" help:"keep registrations of memory for later messages, where a transport has a registration cache; else they end with the message"`
	AsyncProgress string        `mca:"async_progress" default:"none" enum:"none|agent|core" level:"3" help:"who moves messages while the program computes. none: nobody, the program moves them in its calls; agent: a goroutine of each rank, which sleeps when nothing comes; core: a thread of each rank that polls all the time, on a core that mpirun binds no rank to, or the last of the process's affinity"`
	AsyncInterval time.Duration `mca:"async_progress_interval" default:"100us" min:"1us" max:"1s" level:"5" help:"how often the agent of mpi_async_progress looks whether the program has left the engine to it; within two of these it takes over, and within eighteen when the program has been waiting in a call"`
	TraceFile     string        `mca:"trace_file" default:"" level:"4" help:"file for a timeline of what the ranks did, in the Trace Event Format of Perfetto and Chrome; mpirun and ompi.Run write one for the job, under other launchers each rank writes its own with its number appended; empty: none"`
	TraceEvents   int           `mca:"trace_events" default:"65536" min:"16" max:"16m" level:"5" help:"newest events, and newest messages, that each rank keeps for trace_file"`
	TraceSkew     time.Duration `mca:"trace_skew" default:"0s" level:"9" help:"for tests of trace_file: by how much the clock of each rank is set ahead of that of the rank before"`
	Architecture  string        `mca:"architecture" default:"native" level:"9" help:"representation in which ranks send their data: native; mixed: native, on machines of different byte orders; little-endian or big-endian, which may be followed by a colon and the ranks concerned, the others being native. Must be the same in all ranks"`
}

func (o *mpiOptions) yield() progress.YieldMode {
	switch o.YieldWhenIdle {
	case "true":
		return progress.YieldAlways
	case "false":
		return progress.YieldNever
	}
	return progress.YieldAuto
}

// Option changes how an instance is made.
type Option func(*options)

type options struct {
	settings    []mca.Setting
	components  []mca.Component
	interceptor Interceptor
}

// WithParam sets an MCA parameter; it overrides every other source.
func WithParam(name, value string) Option {
	return func(o *options) {
		o.settings = append(o.settings, mca.Setting{Name: name, Value: value, Layer: mca.LayerAPI, Where: "ompi.WithParam"})
	}
}

// WithComponent adds a component to the instance's registry.
func WithComponent(c mca.Component) Option {
	return func(o *options) { o.components = append(o.components, c) }
}

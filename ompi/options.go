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

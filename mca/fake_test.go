package mca

import (
	"errors"
	"testing"
	"time"
)

// fake is a component made of its three answers.
type fake struct {
	framework, name string
	options         func() any
}

func (f fake) Framework() string { return f.framework }
func (f fake) Name() string      { return f.name }
func (f fake) Options() any {
	if f.options == nil {
		return nil
	}
	return f.options()
}

type btlBase struct {
	Verbose int `mca:"verbose" default:"0" min:"-1" max:"100" level:"8" help:"verbosity of the framework"`
}

// limits is shared by components by embedding, as the BTLs share theirs.
type limits struct {
	EagerLimit int64 `mca:"eager_limit" default:"4k" min:"64" level:"4" unit:"bytes" help:"largest message sent eagerly"`
}

type smOptions struct {
	limits
	Copy   string        `mca:"single_copy" default:"auto" enum:"auto|none|cma" level:"3" help:"how large messages are copied"`
	Spin   time.Duration `mca:"spin" default:"2ms" min:"0" help:"how long to poll before sleeping"`
	Slots  uint32        `mca:"slots" default:"0x40" settable:"true" help:"slots of a ring"`
	hidden int           // not a parameter, must survive decoding
}

type tcpOptions struct {
	limits
	Include []string `mca:"if_include" level:"1" help:"interfaces to use"`
	Exclude []string `mca:"if_exclude" level:"1" help:"interfaces not to use"`
	Links   int      `mca:"links" default:"1" min:"1" level:"4" help:"connections per pair"`
	Nagle   bool     `mca:"use_nagle" default:"no" level:"4" help:"let the kernel gather small writes" deprecated:"set btl_tcp_links instead"`
	Weight  float64  `mca:"weight" default:"1.5" max:"10" help:"share of the traffic"`
}

func (o *tcpOptions) Validate() error {
	if len(o.Include) > 0 && len(o.Exclude) > 0 {
		return errors.New("if_include and if_exclude exclude one another")
	}
	return nil
}

type mpiOptions struct {
	Yield string `mca:"yield_when_idle" default:"auto" enum:"auto|yes|no" level:"5" help:"give up the core when nothing happens"`
}

type progressOptions struct {
	Every int `mca:"gosched_every" default:"512" help:"polls between two calls of the scheduler"`
}

func fakeFrameworks() []Framework {
	return []Framework{
		{Name: "pml", Help: "point-to-point messages"},
		{Name: "btl", Help: "byte transfer", Many: true, Options: func() any { return new(btlBase) }},
		{Name: "mpi", Help: "the library as a whole", Flat: true, Options: func() any { return new(mpiOptions) }},
		{Name: "progress", Help: "the progress engine", Flat: true, Options: func() any { return new(progressOptions) }},
	}
}

func fakeComponents() []Component {
	return []Component{
		fake{"pml", "ob1", nil},
		fake{"pml", "cm", nil},
		fake{"btl", "tcp", func() any { return &tcpOptions{limits: limits{EagerLimit: 64 << 10}} }},
		fake{"btl", "sm", func() any { return new(smOptions) }},
		fake{"btl", "self", nil},
	}
}

func fakeRegistry(t testing.TB) *Registry {
	t.Helper()
	r, err := BuildRegistry(fakeFrameworks(), fakeComponents())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

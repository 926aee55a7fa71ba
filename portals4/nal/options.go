package nal

import (
	"fmt"
	"slices"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mca"
)

func init() {
	mca.RegisterFramework(mca.Framework{Name: "portals4", Help: "the Portals 4 network interface", Flat: true, Options: func() any { return &Options{} }})
}

// Options are the parameters of the interface, of which NAL concerns this package and the others package portals4.
type Options struct {
	NAL    string `mca:"nal" default:"local,shm,tcp" level:"3" help:"network abstraction layers that carry Portals messages, the preferred first, out of local (goroutine ranks of a process), shm (processes of a host), tcp and udp; or those not to use (^shm). A process is reached by the first of them that can. Their parameters are those of the btl components sm, tcp and udp; the parameter btl does not concern them"`
	Eager  int64  `mca:"eager_limit" default:"-1" min:"-1" max:"1m" level:"5" unit:"bytes" help:"largest payload of a put that travels before its target has matched it, within what the NAL can; -1: what the NAL's BTL has as eager limit"`
	Bypass bool   `mca:"application_bypass" default:"true" level:"4" help:"have an agent move the interface while the program computes; see mpi_async_progress for others"`
}

// Validate checks the names.
func (o *Options) Validate() error {
	_, err := o.chosen()
	return err
}

// kind is a NAL: a BTL that carries it, and for whom.
type kind struct {
	name, carrier string
	farthest      core.Locality // whom it reaches
	sure          bool          // where it opens, it reaches all of them
	memory        memory
}

// memory is what shared memory a carrier gets.
type memory uint8

const (
	noMemory memory = iota
	heapMemory
	mappedMemory
)

// kinds are all NALs, in the order in which they are preferred where the user prefers none.
var kinds = [...]kind{
	{name: "local", carrier: "sm", farthest: core.LocalProcess, sure: true, memory: heapMemory},
	{name: "shm", carrier: "sm", farthest: core.LocalHost, memory: mappedMemory},
	{name: "tcp", carrier: "tcp", farthest: core.LocalRemote},
	{name: "udp", carrier: "udp", farthest: core.LocalRemote},
}

func (k *kind) reaches(l core.Locality) bool { return l != core.LocalSelf && l <= k.farthest }

// chosen are the NALs that the user allows, the preferred first.
func (o *Options) chosen() ([]*kind, error) {
	var names []string
	for i := range kinds {
		names = append(names, kinds[i].name)
	}
	s, err := mca.ParseSelection(o.NAL, names)
	if err != nil {
		return nil, fmt.Errorf("portals4_nal: %w", err)
	}
	if asked := s.Names(); asked != nil {
		names = asked
	} else {
		names = slices.DeleteFunc(names, func(n string) bool { return !s.Allows(n) })
	}
	var list []*kind
	for _, n := range names {
		list = append(list, &kinds[slices.IndexFunc(kinds[:], func(k kind) bool { return k.name == n })])
	}
	return list, nil
}

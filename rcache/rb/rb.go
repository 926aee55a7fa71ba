// Package rb is the registration cache that finds registrations in a red-black tree of intervals (tree.go). In front of the tree are
// the registration that was found last and an index of exact intervals (index.go): programs use the same buffers again and again, and the way
// down a tree of 100,000 registrations costs more than a microsecond. Registrations that nobody uses form a list, the oldest of which
// goes when a limit is met.
package rb

import (
	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/rcache"
)

func init() { mca.Register(component{}) }

type component struct{}

// Options are the component's parameters.
type Options struct {
	MaxBytes   int64 `mca:"max_bytes" default:"1g" min:"0" level:"5" unit:"bytes" help:"registered memory that a cache keeps at most, which it also keeps from being collected; 0: no limit"`
	MaxEntries int   `mca:"max_entries" default:"0" min:"0" level:"5" unit:"registrations" help:"registrations that a cache keeps at most; 0: no limit"`
}

func (component) Framework() string { return "rcache" }
func (component) Name() string      { return "rb" }
func (component) Options() any      { return &Options{} }

// Open implements rcache.Component.
func (component) Open(params *mca.Params, cfg rcache.Config, b rcache.Backend) (rcache.Cache, error) {
	var o Options
	if err := params.Decode("rcache", "rb", &o); err != nil {
		return nil, err
	}
	cfg.Bytes = stricter(cfg.Bytes, o.MaxBytes)
	cfg.Entries = stricter(cfg.Entries, o.MaxEntries)
	return newCache(cfg, b), nil
}

// stricter is the smaller of two limits, where 0 is none.
func stricter[T int | int64](a, b T) T {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

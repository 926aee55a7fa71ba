package nal

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/shm"
)

// Set is the open NALs of one interface.
type Set struct {
	Dispatch *btl.Dispatch // for the interface's handlers

	env      *btl.Env // of the instance
	listener Listener
	chosen   []*kind
	open     []*carrier
	refused  map[*kind]error // why others are not
	links    []*Link         // by job rank; nil until asked for
	failed   []bool          // by job rank
	leaving  bool            // the end is intended
	closed   bool
}

// carrier is an open NAL.
type carrier struct {
	kind    *kind
	modules []btl.Module
	domain  *shm.Domain // nil: none
	job     job
}

// Open opens the NALs that parameters allow and that some process of the job may need. Cards are written, so that Connect works after the
// job's next Fence. The token is not held.
func Open(env *btl.Env, l Listener) (*Set, error) {
	var o Options
	if err := env.Params.Decode("portals4", "", &o); err != nil {
		return nil, err
	}
	s := &Set{Dispatch: &btl.Dispatch{}, env: env, listener: l, refused: make(map[*kind]error),
		links: make([]*Link, len(env.Procs)), failed: make([]bool, len(env.Procs))}
	var err error
	if s.chosen, err = o.chosen(); err != nil {
		return nil, err
	}
	var missing [core.LocalRemote + 1]bool // processes of this locality have no sure way yet
	for _, p := range env.Procs {
		missing[p.Locality] = true
	}
	for _, k := range s.chosen {
		needed := false
		for l := range missing {
			needed = needed || missing[l] && k.reaches(core.Locality(l))
		}
		if !needed {
			continue
		}
		c, err := s.openCarrier(k)
		if errors.Is(err, btl.ErrUnavailable) {
			s.refused[k] = errors.New(strings.TrimPrefix(err.Error(), btl.ErrUnavailable.Error()+": "))
			continue
		}
		if err != nil {
			env.Engine.Lock()
			_ = s.Close() // the first error is the one to tell
			env.Engine.Unlock()
			return nil, fmt.Errorf("nal %s: %w", k.name, err)
		}
		s.open = append(s.open, c)
		for l := range missing {
			missing[l] = missing[l] && !(k.sure && k.reaches(core.Locality(l)))
		}
	}
	return s, nil
}

// openCarrier opens a BTL as if it were the only one. An error that wraps btl.ErrUnavailable tells why there is no such NAL here.
func (s *Set) openCarrier(k *kind) (*carrier, error) {
	comp, ok := s.env.Registry.Component("btl", k.carrier)
	if !ok {
		return nil, fmt.Errorf("%w: the program has no btl %s", btl.ErrUnavailable, k.carrier)
	}
	c := &carrier{kind: k, job: job{s.env.Job, new([]string)}}
	env := *s.env
	env.Job, env.Dispatch, env.Upcalls = c.job, s.Dispatch, (*upcalls)(s)
	env.Shm, env.ShmErr, env.Refused, env.Services = nil, nil, nil, nil
	if k.memory != noMemory {
		d, err := s.openMemory(k, &env)
		if err != nil {
			return nil, err
		}
		c.domain, env.Shm = d, d
	}
	var err error
	c.modules, err = comp.(btl.Component).Open(&env)
	s.env.Bypass = s.env.Bypass || env.Bypass
	if err != nil {
		s.env.Engine.Lock()
		defer s.env.Engine.Unlock()
		_ = c.close() // the first error is the one to tell
		return nil, err
	}
	return c, nil
}

// openMemory opens shared memory for one carrier.
func (s *Set) openMemory(k *kind, env *btl.Env) (*shm.Domain, error) {
	cfg := shm.Config{Job: env.Job, Engine: env.Engine, Name: sayPrefix + k.name}
	if k.memory == heapMemory {
		if env.Hub == nil {
			return nil, fmt.Errorf("%w: there is no hub of goroutine ranks", btl.ErrUnavailable)
		}
		cfg.Hub = env.Hub
	} else {
		cfg.Memory = s.env.Shm // what AllocMem gives is mapped by those who read it through a NAL, too
	}
	if err := env.Params.Decode("shm", "", &cfg.Options); err != nil {
		return nil, err
	}
	d, err := shm.Open(cfg)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", btl.ErrUnavailable, err)
	}
	return d, nil
}

// LookUp reads the cards of all processes, which the job keeps: while this process is in a Fence of the job it could not, and who speaks to it for
// the first time would wait for its end. It is for programs that wait in fences; an instance knows when it does (btl.Meeter). Cards that are
// missing are for Connect to tell. The token is not held.
func (s *Set) LookUp() {
	for _, p := range s.env.Procs {
		for _, c := range s.open {
			for _, key := range *c.job.keys {
				if c.kind.reaches(p.Locality) {
					_, _ = c.job.Get(p.Rank, key)
				}
			}
		}
	}
}

// Connect gives the way to a process that is not this one; the error says, NAL by NAL, why there is none. What is given for a process
// stays. The token is held.
func (s *Set) Connect(p *core.Proc) (*Link, error) {
	if l := s.links[p.Rank]; l != nil {
		return l, nil
	}
	var reasons []string
	var instead *kind // of this one
	for _, k := range s.chosen {
		if !k.reaches(p.Locality) {
			continue
		}
		l, err := s.try(k, p)
		if err == nil {
			if instead != nil {
				(*upcalls)(s).Say(instead.name, fmt.Sprintf("Portals goes by %s with a process that %s should reach: %s", k.name, instead.name, reasons[0]))
			}
			s.links[p.Rank] = l
			return l, nil
		}
		reasons = append(reasons, k.name+": "+err.Error())
		if instead == nil {
			instead = k
		}
	}
	if reasons == nil {
		reasons = []string{"none of those allowed is for it"}
	}
	return nil, fmt.Errorf("no nal reaches rank %d (%s); check the parameter portals4_nal", p.Rank, strings.Join(reasons, "; "))
}

// try asks one NAL for the way to p.
func (s *Set) try(k *kind, p *core.Proc) (*Link, error) {
	i := slices.IndexFunc(s.open, func(c *carrier) bool { return c.kind == k })
	if i < 0 {
		if err := s.refused[k]; err != nil {
			return nil, err
		}
		return nil, errors.New("not opened")
	}
	var why error
	for _, m := range s.open[i].modules {
		eps, errs := m.AddProcs([]*core.Proc{p})
		if eps[0] != nil {
			return newLink(k.name, m, eps[0]), nil
		}
		why = errs[0]
	}
	return nil, why
}

// Names are the open NALs.
func (s *Set) Names() []string {
	var names []string
	for _, c := range s.open {
		names = append(names, c.kind.name)
	}
	return names
}

// Modules are those of the open NALs.
func (s *Set) Modules() []btl.Module {
	var all []btl.Module
	for _, c := range s.open {
		all = append(all, c.modules...)
	}
	return all
}

// Divert implements btl.Diverter for all NALs.
func (s *Set) Divert(err error) {
	for _, m := range s.Modules() {
		if d, ok := m.(btl.Diverter); ok {
			d.Divert(err)
		}
	}
}

// Flush pushes out what was taken, and says BYE; it reports whether everything is out (btl.Module.Flush). From now on the listener hears of
// nobody's end. The token is held.
func (s *Set) Flush() bool {
	s.leaving = true
	out := true
	for _, m := range s.Modules() {
		out = m.Flush() && out
	}
	return out
}

// Close releases everything. The token is held.
func (s *Set) Close() error {
	if s.closed {
		return nil
	}
	s.leaving, s.closed = true, true
	var errs []error
	for _, c := range slices.Backward(s.open) {
		errs = append(errs, c.close())
	}
	return errors.Join(errs...)
}

// close closes the modules, and then the memory that they use.
func (c *carrier) close() error {
	var errs []error
	for _, m := range slices.Backward(c.modules) {
		errs = append(errs, m.Close())
	}
	if c.domain != nil {
		errs = append(errs, c.domain.Close())
	}
	return errors.Join(errs...)
}

package btl

import (
	"sync"

	"github.com/ompi-go/ompi-go/core"
)

// Service is something that several components of an instance share, such as its Portals interface. Whoever asks first has it opened, the
// instance ends it after its modules. All methods are called with the token held.
type Service interface {
	// Quiet reports whether nothing is under way; Finalize progresses until it is, and then until Flush (see Module.Flush) is through.
	Quiet() bool
	Flush() bool
	Close() error
}

// Meeter is an optional ability of a Service that answers processes by which it is spoken to. Meet has it look up what it needs for that, which it
// cannot while the job is in a Fence. The token is held.
type Meeter interface{ Meet(p *core.Proc) }

// Services are those of an instance, by key.
type Services struct {
	mu   sync.Mutex // guards keys, list
	keys []any
	list []Service
}

// Get gives the service of that key, which open makes if there is none yet. The token is not held.
func (s *Services) Get(key any, open func() (Service, error)) (Service, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, k := range s.keys {
		if k == key {
			return s.list[i], nil
		}
	}
	made, err := open()
	if err == nil {
		s.keys, s.list = append(s.keys, key), append(s.list, made)
	}
	return made, err
}

// All are the services, in the order of their opening.
func (s *Services) All() []Service {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list[:len(s.list):len(s.list)]
}

package btl

import "sync"

// Service is something that several components of an instance share, such as its Portals interface. Whoever asks first has it opened, the
// instance ends it after its modules. All methods are called with the token held.
type Service interface {
	// Quiet reports whether nothing is under way; Finalize progresses until it is, and then until Flush (see Module.Flush) is through.
	Quiet() bool
	Flush() bool
	Close() error
}

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

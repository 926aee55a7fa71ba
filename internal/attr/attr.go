// Package attr keeps the attributes of communicators, datatypes and windows (MPI-3.1 §6.7): values that a program hangs on them
// under its own keys. Packages ompi and datatype use it; its callers give keys their types and errors their classes.
package attr

import (
	"errors"
	"slices"
	"sync"
)

// Key names a kind of attribute, by its address. Copy and Delete are the program's callbacks, each nil when there is none: Copy
// gives the duplicate's value, or false for none; Delete is told of a value that is going away.
type Key struct {
	Copy   func(v any) (any, bool, error)
	Delete func(v any) error
}

// Set is the attributes of one object, in the order they were first set. The zero Set is empty. Any goroutine may call its
// methods; callbacks run on the calling goroutine, with nothing locked, so they may use the same Set.
type Set struct {
	mu      sync.Mutex // a leaf: never held while a callback runs
	entries []entry
}

type entry struct {
	key   *Key
	value any
}

func (s *Set) index(k *Key) int {
	return slices.IndexFunc(s.entries, func(e entry) bool { return e.key == k })
}

// Get gives the value under k.
func (s *Set) Get(k *Key) (any, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.index(k); n >= 0 {
		return s.entries[n].value, true
	}
	return nil, false
}

// Put sets the value under k. A value that was there is deleted first, and stays when its callback gives an error.
func (s *Set) Put(k *Key, v any) error {
	old, had := s.Get(k)
	if had && k.Delete != nil {
		if err := k.Delete(old); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.index(k); n >= 0 {
		s.entries[n].value = v
	} else {
		s.entries = append(s.entries, entry{k, v})
	}
	return nil
}

// Remove takes the value under k away, and reports whether there was one. It stays when its callback gives an error.
func (s *Set) Remove(k *Key) (bool, error) {
	v, had := s.Get(k)
	if !had {
		return false, nil
	}
	if k.Delete != nil {
		if err := k.Delete(v); err != nil {
			return true, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.index(k); n >= 0 {
		s.entries = slices.Delete(s.entries, n, n+1)
	}
	return true, nil
}

// Clear removes all, the last that was set first (MPI-3.1 §8.7.1). It stops at the first error; that value and those set before it
// stay.
func (s *Set) Clear() error {
	for {
		s.mu.Lock()
		n := len(s.entries)
		var k *Key
		if n > 0 {
			k = s.entries[n-1].key
		}
		s.mu.Unlock()
		if n == 0 {
			return nil
		}
		if _, err := s.Remove(k); err != nil {
			return err
		}
	}
}

// Copy fills the empty set to with what the copy callbacks make of s, in the order the values were set. With an error, what
// had been copied is deleted again.
func (s *Set) Copy(to *Set) error {
	s.mu.Lock()
	entries := slices.Clone(s.entries)
	s.mu.Unlock()
	for _, e := range entries {
		if e.key.Copy == nil {
			continue
		}
		v, ok, err := e.key.Copy(e.value)
		if err != nil {
			return errors.Join(err, to.Clear())
		}
		if ok {
			to.mu.Lock()
			to.entries = append(to.entries, entry{e.key, v})
			to.mu.Unlock()
		}
	}
	return nil
}

// Len is the number of attributes.
func (s *Set) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.entries)
}

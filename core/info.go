package core

import (
	"slices"
	"sync"
)

// Limits of an Info (MPI-3.1 §9, the ABI's MPI_MAX_INFO_KEY and MPI_MAX_INFO_VAL without the C string's end), in bytes.
const (
	MaxInfoKey   = 255
	MaxInfoValue = 1023
)

// Info is an ordered set of string keys and values (MPI-3.1 chapter 9). Keys stay in the order they were first set. Any goroutine
// may call its methods. A nil Info is MPI_INFO_NULL: it can be read, and is empty.
type Info struct {
	mu    sync.Mutex // a leaf
	pairs []infoPair
}

type infoPair struct{ key, value string }

// NewInfo makes an empty Info.
func NewInfo() *Info { return new(Info) }

func infoError(op string, class ErrorClass, format string, args ...any) error {
	err := NewError(class, format, args...)
	err.Op = op
	return err
}

func (i *Info) index(key string) int {
	return slices.IndexFunc(i.pairs, func(p infoPair) bool { return p.key == key })
}

// Set adds a key or changes its value. ErrInfoKey: the key is empty or longer than 255 bytes; ErrInfoValue: the value is longer
// than 1023; ErrInfo: i is nil.
func (i *Info) Set(key, value string) error {
	const op = "Info_set"
	switch {
	case i == nil:
		return infoError(op, ErrInfo, "the info is nil")
	case key == "":
		return infoError(op, ErrInfoKey, "the key is empty")
	case len(key) > MaxInfoKey:
		return infoError(op, ErrInfoKey, "the key has %d bytes, the limit is %d", len(key), MaxInfoKey)
	case len(value) > MaxInfoValue:
		return infoError(op, ErrInfoValue, "the value of %q has %d bytes, the limit is %d", key, len(value), MaxInfoValue)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if n := i.index(key); n >= 0 {
		i.pairs[n].value = value
	} else {
		i.pairs = append(i.pairs, infoPair{key, value})
	}
	return nil
}

// Get gives the value of a key, false when there is none.
func (i *Info) Get(key string) (string, bool) {
	if i == nil {
		return "", false
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if n := i.index(key); n >= 0 {
		return i.pairs[n].value, true
	}
	return "", false
}

// Delete takes a key out; ErrInfoNoKey when it is not there.
func (i *Info) Delete(key string) error {
	const op = "Info_delete"
	if i == nil {
		return infoError(op, ErrInfo, "the info is nil")
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	n := i.index(key)
	if n < 0 {
		return infoError(op, ErrInfoNoKey, "there is no key %q", key)
	}
	i.pairs = slices.Delete(i.pairs, n, n+1)
	return nil
}

// Keys are all keys, in the order they were first set. The slice is the caller's.
func (i *Info) Keys() []string {
	if i == nil {
		return nil
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	keys := make([]string, len(i.pairs))
	for n, p := range i.pairs {
		keys[n] = p.key
	}
	return keys
}

// Dup is a copy with the same keys, values and order.
func (i *Info) Dup() *Info {
	if i == nil {
		return NewInfo()
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	return &Info{pairs: slices.Clone(i.pairs)}
}

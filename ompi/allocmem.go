package ompi

import (
	"errors"
	"fmt"
	"math/bits"
	"reflect"
	"sync"
	"unsafe"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/metrics"
	"github.com/ompi-go/ompi-go/mpool"
)

// memory is what AllocMem has given to the program.
type memory struct {
	pool mpool.Pool

	mu      sync.Mutex // a leaf
	regions map[uintptr]*core.Region
	closed  bool
}

// memoryAlign is a cache line: no two pieces share one.
const memoryAlign = 64

// AllocMem gives n zeroed elements in memory that the ranks of this host can map (MPI-3.1 §8.2): messages in it are copied once, without
// a system call, even where the system forbids ranks to read each other's memory. It is released by FreeMem, or by Finalize at the
// latest; between processes it is not the collector's, and a later use may end the program. It begins at a multiple of 64 bytes. T must
// hold no pointers, else ErrType; a negative n is ErrArg; ErrNoMem when there is no room. No elements, or such of no size, take no
// memory; other pieces take a file descriptor and two pages at least, so that a few large ones are better than many small ones. The
// parameter mpool chooses where memory comes from. The error names the limit that many pieces meet: ulimit -n.
func AllocMem[T any](i *Instance, n int) ([]T, error) {
	if i == nil {
		return nil, &core.Error{Class: ErrArg, Op: opAllocMem, Peer: Undefined, Index: -1, Err: errNoInstance}
	}
	var s []T
	err := i.call(opAllocMem, func() error {
		var zero T
		base, err := i.allocMem(reflect.TypeFor[T](), n, unsafe.Sizeof(zero))
		switch {
		case err != nil:
			return err
		case base == nil:
			s = make([]T, n)
		default:
			s = unsafe.Slice((*T)(base), n)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// FreeMem gives back what AllocMem gave: all of it, named by any slice that begins where it began (MPI-3.1 §8.2). Other memory, and what
// is freed already, is ErrBase; a slice without capacity names none, and nothing happens. Operations on the memory must be complete, here and at other ranks. FreeMem waits for nothing: a rank
// that has mapped the memory may go on to see the old bytes, and the pages themselves go when the last of them has let go, with its next
// looks at new memory of this rank or in Finalize. The addresses stay reserved until Finalize, as long as there are not too many, so that
// a late use hits nobody else's data.
func FreeMem[T any](i *Instance, s []T) error {
	if i == nil {
		return &core.Error{Class: ErrArg, Op: opFreeMem, Peer: Undefined, Index: -1, Err: errNoInstance}
	}
	return i.call(opFreeMem, func() error {
		var zero T
		return i.freeMem(unsafe.Pointer(unsafe.SliceData(s)), uintptr(cap(s))*unsafe.Sizeof(zero) == 0)
	})
}

const opAllocMem, opFreeMem = "Alloc_mem", "Free_mem"

var (
	errNoInstance     = errors.New("the instance is nil")
	errAfterFinalize  = errors.New("called after Finalize")
	errNotOfAllocMem  = errors.New("this memory is not of AllocMem, or it is freed already, or the slice begins inside it")
	errPointersInside = errors.New("it holds pointers, which mean nothing to other ranks and which the collector would not see")
)

// allocMem gives the address of n elements, nil when they take no memory.
func (i *Instance) allocMem(t reflect.Type, n int, size uintptr) (unsafe.Pointer, error) {
	fail := func(class ErrorClass, err error) (unsafe.Pointer, error) {
		return nil, i.fail(&core.Error{Class: class, Op: opAllocMem, Peer: Undefined, Index: -1, Err: err})
	}
	if hasPointers(t) {
		return fail(ErrType, fmt.Errorf("elements of %v: %w", t, errPointersInside))
	}
	if n < 0 {
		return fail(ErrArg, fmt.Errorf("%d elements", n))
	}
	over, bytes := bits.Mul64(uint64(n), uint64(size))
	if over != 0 || bytes > 1<<62 {
		return fail(ErrNoMem, fmt.Errorf("%d elements of %d bytes are more than any machine has", n, size))
	}
	m := &i.mem
	m.mu.Lock()
	closed := m.closed
	m.mu.Unlock()
	if closed || i.finalized.Load() {
		return fail(ErrOther, errAfterFinalize)
	}
	if bytes == 0 {
		return nil, nil
	}
	r, err := i.newRegion(int64(bytes))
	if err != nil {
		return fail(core.ClassOf(err), causeOf(err))
	}
	base := r.Base()
	m.mu.Lock()
	if closed = m.closed; !closed {
		m.regions[uintptr(base)] = r
	}
	m.mu.Unlock()
	if closed {
		return fail(ErrOther, errors.Join(errAfterFinalize, r.Unref()))
	}
	return base, nil
}

// causeOf is what an error of a class says beside it.
func causeOf(err error) error {
	if e := itself(err); e != nil && e.Err != nil {
		return e.Err
	}
	return err
}

func (i *Instance) freeMem(base unsafe.Pointer, empty bool) error {
	fail := func(class ErrorClass, err error) error {
		return i.fail(&core.Error{Class: class, Op: opFreeMem, Peer: Undefined, Index: -1, Err: err})
	}
	if i.finalized.Load() {
		return fail(ErrOther, errAfterFinalize)
	}
	if empty {
		return nil
	}
	m := &i.mem
	m.mu.Lock()
	r := m.regions[uintptr(base)]
	delete(m.regions, uintptr(base))
	m.mu.Unlock()
	if r == nil {
		return fail(ErrBase, errNotOfAllocMem)
	}
	if err := r.Unref(); err != nil {
		return fail(ErrOther, err)
	}
	return nil
}

// open opens the pool that the parameters select. The token is not held.
func (m *memory) open(i *Instance) (err error) {
	m.regions = make(map[uintptr]*core.Region)
	m.pool, err = mpool.Open(&mpool.Env{Params: i.params, Shm: i.shm, Say: func(key, message string) {
		i.engine.Lock()
		defer i.engine.Unlock()
		(*upcalls)(i).Say(key, message)
	}})
	return err
}

// close releases what the program has not freed.
func (m *memory) close() error {
	m.mu.Lock()
	regions := m.regions
	m.regions, m.closed = nil, true
	m.mu.Unlock()
	var errs []error
	for _, r := range regions {
		errs = append(errs, r.Unref())
	}
	if m.pool != nil {
		errs = append(errs, m.pool.Close())
	}
	return errors.Join(errs...)
}

// source is the pool as a source of counters, which it need not be.
func (m *memory) source() metrics.Source {
	s, _ := m.pool.(metrics.Source)
	return s
}

// hasPointers reports whether the collector has something to look for in values of t.
func hasPointers(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr,
		reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		return false
	case reflect.Array:
		return t.Len() > 0 && hasPointers(t.Elem())
	case reflect.Struct:
		for k := range t.NumField() {
			if hasPointers(t.Field(k).Type) {
				return true
			}
		}
		return false
	}
	return true
}

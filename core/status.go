package core

import "github.com/ompi-go/ompi-go/datatype"

// Status tells what a completed operation did (MPI-3.1 §3.2.5).
type Status struct {
	Source, Tag int
	Cancelled   bool
	Err         error
	bytes       int64
}

// EmptyStatus is what MPI returns for MPI_REQUEST_NULL and for sends.
func EmptyStatus() Status { return Status{Source: AnySource, Tag: AnyTag} }

// MakeStatus is the status of a received message of n bytes.
func MakeStatus(source, tag int, n int64) Status { return Status{Source: source, Tag: tag, bytes: n} }

// Bytes is the number of bytes received.
func (s Status) Bytes() int64 { return s.bytes }

// Count is the number of whole elements of t received: Undefined when the last is partial, 0 for zero-size types.
func (s Status) Count(t *datatype.Type) int {
	size := t.Size()
	switch {
	case size == 0:
		return 0
	case s.bytes%size != 0:
		return Undefined
	}
	return int(s.bytes / size)
}

// Elements is the number of predefined elements received (MPI_Get_elements), Undefined when the last one is partial.
func (s Status) Elements(t *datatype.Type) int {
	n, partial := t.ElementCount(s.bytes)
	if partial {
		return Undefined
	}
	return int(n)
}

// SetBytes makes the status report n bytes.
func (s *Status) SetBytes(n int64) { s.bytes = n }

// SetElements makes Elements report n predefined elements of t, and Count what agrees with that (MPI_Status_set_elements).
func (s *Status) SetElements(t *datatype.Type, n int) { s.bytes = t.ElementBytes(int64(n)) }

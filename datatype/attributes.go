package datatype

import "github.com/ompi-go/ompi-go/internal/attr"

// Attributes is where package ompi keeps what programs hang on t; a Keyval of that package is how they do (MPI-3.1 §6.7.4).
func (t *Type) Attributes() *attr.Set { return &t.attrs }

// attributeError is an error of a program's copy callback. Its class is MPI_ERR_OTHER.
type attributeError struct{ err error }

func (e *attributeError) Error() string {
	return "datatype: duplicating a type: an attribute's copy callback failed: " + e.err.Error()
}

func (e *attributeError) Unwrap() error { return e.err }

// copyAttributes gives d what the copy callbacks make of t's attributes. As Dup has no error, a refusal makes d useless: every
// use of it gives the callback's error.
func (d *Type) copyAttributes(t *Type) {
	if err := t.attrs.Copy(&d.attrs); err != nil {
		d.fault = &attributeError{err}
	}
}

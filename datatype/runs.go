package datatype

// Runs walks the layout of count elements of a type as runs of contiguous bytes, without memory: offsets are from where the first element begins
// (displacement 0). It allocates nothing.
type Runs struct {
	c Convertor
}

// Init begins at the start.
func (r *Runs) Init(t *Type, count int64) { panic("to come") }

// Next gives the next run, of at most most bytes; n is 0 after the last.
func (r *Runs) Next(most int64) (off, n int64) { panic("to come") }

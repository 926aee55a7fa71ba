package ompi

import "github.com/ompi-go/ompi-go/core"

// NewInfo makes an empty Info.
func NewInfo() *Info { return core.NewInfo() }

// Info gives the communicator's hints, as a copy (MPI-3.1 §6.4.4).
func (c *Comm) Info() *Info { return c.info.Load().Dup() }

// SetInfo sets hints of the communicator; those that info does not name stay as they are. It is collective. All hints are kept, and
// Dup hands them on.
func (c *Comm) SetInfo(info *Info) error {
	const op = "Comm_set_info"
	if err := c.usable(op); err != nil {
		return err
	}
	if info == nil {
		return c.badArg(op, ErrInfo, "the info is nil")
	}
	return c.call(op, Undefined, 0, func() error {
		for {
			old := c.info.Load()
			hints := old.Dup()
			for _, key := range info.Keys() {
				if value, ok := info.Get(key); ok {
					if err := hints.Set(key, value); err != nil {
						return c.fail(op, err)
					}
				}
			}
			if c.info.CompareAndSwap(old, hints) {
				return nil
			}
		}
	})
}

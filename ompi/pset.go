package ompi

import (
	"errors"
	"fmt"

	"github.com/ompi-go/ompi-go/core"
)

// Names of the process sets that every instance has (MPI-4.0 §11.3.2).
const (
	psetWorld = "mpi://WORLD"
	psetSelf  = "mpi://SELF"
)

// GroupFromPset gives the group of a process set (MPI-4.0 §11.3.2): "mpi://WORLD" is all ranks of the job, "mpi://SELF" the
// caller alone. It is local. Another name is ErrArg.
func (i *Instance) GroupFromPset(name string) (*Group, error) {
	const op = "Group_from_session_pset"
	if i.finalized.Load() {
		return nil, i.fail(&core.Error{Class: ErrOther, Op: op, Peer: Undefined, Index: -1, Err: errors.New("called after Finalize")})
	}
	switch name {
	case psetWorld:
		return i.world.Group(), nil
	case psetSelf:
		return i.self.Group(), nil
	}
	return nil, i.fail(&core.Error{Class: ErrArg, Op: op, Peer: Undefined, Index: -1,
		Err: fmt.Errorf("there is no process set %q; the sets are %s and %s", name, psetWorld, psetSelf)})
}

// fail lets the instance's error handler decide about an error that concerns no communicator: it is raised on that of this rank
// alone (MPI-4.0 §9.3).
func (i *Instance) fail(err error) error {
	if h := i.errh.Load(); h != nil {
		return (*h)(i.self, err)
	}
	return err
}

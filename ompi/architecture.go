package ompi

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ompi-go/ompi-go/datatype"
)

// Validate implements what mca asks of options that single bounds cannot check.
func (o *mpiOptions) Validate() error {
	_, err := o.arch(0)
	return err
}

// arch is the representation in which a rank sends.
func (o *mpiOptions) arch(rank int) (datatype.Arch, error) {
	name, list, some := strings.Cut(o.Architecture, ":")
	arch := datatype.ArchNative
	for arch.String() != name {
		if arch++; arch > datatype.ArchBig {
			return 0, fmt.Errorf("mpi_architecture is %q; use native, little-endian or big-endian, which may be followed by a colon and ranks", o.Architecture)
		}
	}
	if !some {
		return arch, nil
	}
	mine := datatype.ArchNative
	for word := range strings.SplitSeq(list, ",") {
		r, err := strconv.Atoi(word)
		if err != nil || r < 0 {
			return 0, fmt.Errorf("mpi_architecture is %q: %q is no rank", o.Architecture, word)
		}
		if r == rank {
			mine = arch
		}
	}
	return mine, nil
}

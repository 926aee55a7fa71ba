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

// mixed is for jobs on machines of different byte orders.
const mixed = "mixed"

// isMixed tells whether ranks may send in different representations, as far as this one knows. All must think the same, since it
// decides between algorithms; who finds out that it was wrong is told (pml/ob1).
func (o *mpiOptions) isMixed() bool {
	return o.Architecture != datatype.ArchNative.String() || datatype.HostArch() != datatype.ArchLittle
}

// arch is the representation in which a rank sends.
func (o *mpiOptions) arch(rank int) (datatype.Arch, error) {
	if o.Architecture == mixed {
		return datatype.ArchNative, nil
	}
	name, list, some := strings.Cut(o.Architecture, ":")
	arch := datatype.ArchNative
	for arch.String() != name {
		if arch++; arch > datatype.ArchBig {
			return 0, fmt.Errorf("mpi_architecture is %q; use native, mixed, little-endian or big-endian; the last two may be followed by a colon and ranks", o.Architecture)
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

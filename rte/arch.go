package rte

import (
	"errors"
	"fmt"

	"github.com/ompi-go/ompi-go/datatype"
)

// archKey is the key of a rank's card that says of what architecture it is. Almost all ranks of the world are little-endian, so
// only the others publish one.
const archKey = "arch"

// PutArch announces this rank's architecture, before the first Fence.
func PutArch(j Job, a datatype.Arch) error {
	if a.Resolve() == datatype.ArchLittle {
		return nil
	}
	return j.Put(archKey, []byte{byte(a.Resolve())})
}

// ArchOf gives the architecture that a rank has announced, after the first Fence.
func ArchOf(j Job, rank int) (datatype.Arch, error) {
	card, err := j.Get(rank, archKey)
	switch {
	case errors.Is(err, ErrNotFound):
		return datatype.ArchLittle, nil
	case err != nil:
		return 0, err
	case len(card) != 1 || card[0] != byte(datatype.ArchBig):
		return 0, fmt.Errorf("rte: rank %d announces an architecture that is not known here: %x", rank, card)
	}
	return datatype.ArchBig, nil
}

package ompi

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/ompi-go/ompi-go/pml"
)

// What the two ends of a partitioned operation tell each other. All of it are messages of the communicator's user space, with tags
// that no wildcard fits (pml.PairTags):
//
//	partitionOffer        an offer: a PsendInit tells what it will send
//	partitionOffer+1+k    data of the operations whose offers name the tags around k
//
// An operation with large partitions has a tag for each, and its message is the partition. One with small ones has a single tag, and a
// message brings what was ready when it left: records, each a run of partitions.
const (
	partitionOffer = pml.PairTags
	partitionTags  = 1<<30 - 1 // data tags, counted from partitionOffer+1
	maxPartitions  = 1 << 24
)

// smallPartition is the size below which partitions share messages, and chunkSize the largest of these: with the headers of the
// floors below it is an eager message everywhere.
const (
	smallPartition = 1024
	chunkSize      = 4000
	recordSize     = 8
)

// offer is what a PsendInit tells. On the wire, little-endian:
//
//	 0        4        8          12     16             24
//	+--------+--------+----------+------+--------------+
//	| magic  | tag    | parts    | base | bytes each   |
//	+--------+--------+----------+------+--------------+
type offer struct {
	tag   int   // the user's
	parts int   // partitions of the sender
	base  int   // first data tag
	bytes int64 // of a partition
}

const (
	offerSize  = 24
	offerMagic = 0x31747250 // "Prt1": the version is in it
)

// small reports whether partitions share messages.
func (o *offer) small() bool { return o.bytes < smallPartition }

// tags is how many data tags the operation has.
func (o *offer) tags() int {
	if o.small() {
		return 1
	}
	return o.parts
}

func appendOffer(b []byte, o offer) []byte {
	b = binary.LittleEndian.AppendUint32(b, offerMagic)
	b = binary.LittleEndian.AppendUint32(b, uint32(o.tag))
	b = binary.LittleEndian.AppendUint32(b, uint32(o.parts))
	b = binary.LittleEndian.AppendUint32(b, uint32(o.base))
	return binary.LittleEndian.AppendUint64(b, uint64(o.bytes))
}

func parseOffer(b []byte) (offer, error) {
	if len(b) != offerSize || binary.LittleEndian.Uint32(b) != offerMagic {
		return offer{}, fmt.Errorf("the offer of a partitioned send has %d bytes or another version", len(b))
	}
	o := offer{
		tag:   int(int32(binary.LittleEndian.Uint32(b[4:]))),
		parts: int(binary.LittleEndian.Uint32(b[8:])),
		base:  int(binary.LittleEndian.Uint32(b[12:])),
		bytes: int64(binary.LittleEndian.Uint64(b[16:])),
	}
	switch {
	case o.tag < 0, o.parts > maxPartitions, o.bytes < 0, o.bytes > math.MaxInt64/maxPartitions, o.base > partitionTags-o.tags():
		return offer{}, fmt.Errorf("the offer of a partitioned send makes no sense: %+v", o)
	}
	return o, nil
}

// run is partitions [first, first+count) of the sender.
type run struct{ first, count int }

// A record is the header of a run, first and count, and behind it the run's data.
func putRun(b []byte, r run) {
	binary.LittleEndian.PutUint32(b, uint32(r.first))
	binary.LittleEndian.PutUint32(b[4:], uint32(r.count))
}

// nextRun takes the first record off a message; ok is false when it does not fit the offer.
func (o *offer) nextRun(b []byte) (r run, data, rest []byte, ok bool) {
	if len(b) < recordSize {
		return run{}, nil, nil, false
	}
	first, count := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
	b = b[recordSize:]
	if count == 0 || int64(first)+int64(count) > int64(o.parts) || int64(count)*o.bytes > int64(len(b)) {
		return run{}, nil, nil, false
	}
	n := int64(count) * o.bytes
	return run{int(first), int(count)}, b[:n], b[n:], true
}

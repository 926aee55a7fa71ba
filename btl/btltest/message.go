package btltest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"
	"unsafe"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/datatype"
)

// The suite's messages say who they are: header and payload follow from a number and their sizes, so that the receiver can tell
// what it has got. The first 8 bytes of a header are the number, the next 8 the payload's size; a header without room for them is
// not used.

// pattern fills b with what belongs to message id.
func pattern(b []byte, id uint64) {
	x := id*0x9e3779b97f4a7c15 + 1
	for i := range b {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		b[i] = byte(x)
	}
}

// Completions counts FragDone calls.
type Completions struct {
	Done int
	Errs []error
}

// FragDone implements btl.Completer.
func (c *Completions) FragDone(_ *btl.Frag, err error) {
	c.Done++
	if err != nil {
		c.Errs = append(c.Errs, err)
	}
}

// NewFrag makes fragment id with a header of hdrLen (at least 16) and a payload of n bytes at an address of its own.
func NewFrag(owner btl.Completer, tag btl.Tag, id uint64, hdrLen, n int) *btl.Frag {
	f := &btl.Frag{Owner: owner, Tag: tag, HdrLen: uint8(hdrLen), Len: n}
	fillHeader(f.Hdr[:hdrLen], id, n)
	if n > 0 {
		data := make([]byte, n)
		pattern(data, id)
		f.Data = unsafe.Pointer(&data[0])
	}
	return f
}

func fillHeader(h []byte, id uint64, n int) {
	if len(h) > 16 {
		pattern(h[16:], id^1)
	}
	binary.LittleEndian.PutUint64(h, id)
	binary.LittleEndian.PutUint64(h[8:], uint64(n))
}

// NewPackedFrag is NewFrag with the payload spread over a vector, behind lead bytes of the packed stream.
func NewPackedFrag(t testing.TB, owner btl.Completer, tag btl.Tag, id uint64, hdrLen, n, lead int) *btl.Frag {
	t.Helper()
	const block, stride = 24, 40
	blocks := (lead+n+block-1)/block + 1
	v, err := datatype.Vector(blocks, block, stride, datatype.Byte)
	if err != nil {
		t.Fatal(err)
	}
	stream := make([]byte, blocks*block)
	pattern(stream[lead:lead+n], id)
	mem := make([]byte, blocks*stride)
	for i := range blocks {
		copy(mem[i*stride:], stream[i*block:(i+1)*block])
	}
	conv := new(datatype.Convertor)
	conv.Prepare(v, 1, unsafe.Pointer(&mem[0]))
	conv.SetPosition(int64(lead))
	f := &btl.Frag{Owner: owner, Tag: tag, HdrLen: uint8(hdrLen), Len: n, Conv: conv}
	fillHeader(f.Hdr[:hdrLen], id, n)
	return f
}

// Sink is a Handler that checks every message of the suite and counts it.
type Sink struct {
	Seen map[uint64]int // times each message came
	N    int
	From int // the sender expected, -1: anybody
	Errs []error
}

// NewSink makes a sink for messages from a rank, or -1 for any.
func NewSink(from int) *Sink { return &Sink{Seen: map[uint64]int{}, From: from} }

// Receive implements btl.Handler.
func (s *Sink) Receive(peer int, hdr, payload []byte) { s.take(peer, hdr, payload) }

func (s *Sink) take(peer int, hdr, payload []byte) {
	s.N++
	if s.From >= 0 && peer != s.From {
		s.fail("a message from rank %d, want %d", peer, s.From)
	}
	if len(hdr) < 16 {
		s.fail("a header of %d bytes", len(hdr))
		return
	}
	id := binary.LittleEndian.Uint64(hdr)
	s.Seen[id]++
	if s.Seen[id] > 1 {
		s.fail("message %d came %d times", id, s.Seen[id])
	}
	if n := binary.LittleEndian.Uint64(hdr[8:]); n != uint64(len(payload)) {
		s.fail("message %d has %d bytes, want %d", id, len(payload), n)
		return
	}
	want := make([]byte, len(payload))
	pattern(want, id)
	if !bytes.Equal(payload, want) {
		s.fail("message %d of %d bytes is damaged at byte %d", id, len(payload), firstDifference(payload, want))
	}
	if len(hdr) > 16 {
		want := make([]byte, len(hdr)-16)
		pattern(want, id^1)
		if !bytes.Equal(hdr[16:], want) {
			s.fail("the header of message %d is damaged", id)
		}
	}
}

func firstDifference(a, b []byte) int {
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return len(a)
}

func (s *Sink) fail(format string, args ...any) {
	if len(s.Errs) < 10 {
		s.Errs = append(s.Errs, fmt.Errorf(format, args...))
	}
}

// Check fails the test for everything that was wrong, and unless messages 0 to n-1 have come.
func (s *Sink) Check(t testing.TB, n int) {
	t.Helper()
	for _, err := range s.Errs {
		t.Error(err)
	}
	for id := range uint64(n) {
		if s.Seen[id] != 1 {
			t.Errorf("message %d came %d times", id, s.Seen[id])
			return
		}
	}
	if s.N != n {
		t.Errorf("%d messages came, want %d", s.N, n)
	}
}

// PlacingSink is a Sink that wants large payloads in its own memory.
type PlacingSink struct {
	Sink
	Min     int // place payloads from this size on
	places  map[uint64][]byte
	Placing int // payloads on their way
}

// Place implements btl.Placer.
func (s *PlacingSink) Place(_ int, hdr []byte, n int) []byte {
	if n < s.Min || len(hdr) < 16 {
		return nil
	}
	id := binary.LittleEndian.Uint64(hdr)
	if s.places == nil {
		s.places = map[uint64][]byte{}
	}
	if s.places[id] != nil {
		s.fail("message %d is placed twice", id)
	}
	s.Placing++
	s.places[id] = make([]byte, n)
	return s.places[id]
}

// Placed implements btl.Placer.
func (s *PlacingSink) Placed(peer int, hdr []byte, n int, err error) {
	s.Placing--
	id := binary.LittleEndian.Uint64(hdr)
	b := s.places[id]
	delete(s.places, id)
	switch {
	case b == nil:
		s.fail("message %d is in place and was not asked for", id)
	case err != nil:
		s.fail("message %d did not come: %w", id, err)
	case n != len(b):
		s.fail("message %d has %d bytes in place, want %d", id, n, len(b))
	default:
		s.take(peer, hdr, b)
	}
}

package udp

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/google/uuid"
)

// The handshake of initiator I and acceptor A, four messages, a datagram each:
//
//	I -> A  hello      who I am, whom of which job I want, my connection id and a nonce
//	I <- A  challenge  the same of A
//	I -> A  proof      hello again, and A's connection id and nonce
//	I <- A  accept     likewise, from A; data may follow the proof, and the accept
//	I <- A  refuse     instead of an answer, with a code
//
// All begin with a preamble, which will not change with the version, and end with 32 bytes of HMAC-SHA256 over everything before, keyed with the job's
// secret; nor will that. A message whose HMAC is wrong is thrown away, unanswered. Until the proof the acceptor keeps nothing: its connection id and nonce are
// an HMAC of the hello, keyed with a secret of its own, which it makes again when the proof comes. So no answer goes to who does not know
// the secret, none is longer than what it answers, and a hello heard on the way and sent again later makes nobody a peer.
//
//	 0      1      2      3      4      5      6      7
//	+------+------+------+------+------+------+------+------+
//	| "ompi-udp"                                            |
//	+------+------+------+------+------+------+------+------+
//	|   version   | kind | code |          zero             |
//	+------+------+------+------+------+------+------+------+
//	|       sender's rank       |      receiver's rank      |
//	+------+------+------+------+------+------+------+------+
//	|   largest message sent    |  largest datagram taken   |
//	+------+------+------+------+------+------+------+------+
//	|      packets held         |          window           |
//	+------+------+------+------+------+------+------+------+
//	| job UUID, 16 bytes                                    |
//	| initiator's connection id, 8 bytes; nonce, 16 bytes   |
//	| acceptor's connection id, 8 bytes; nonce, 16 bytes    |
//	| HMAC, 32 bytes                                        |
//	+------+------+------+------+------+------+------+------+
//
// In a hello the acceptor's fields are zero. All messages are this long, a refuse too.
const (
	hsMagic   = "ompi-udp"
	hsVersion = 1
	hsBody    = 104
	hsSize    = hsBody + sha256.Size
	nonceSize = 16
)

type hsKind uint8

const (
	hsHello hsKind = 1 + iota
	hsChallenge
	hsProof
	hsAccept
	hsRefuse
)

// refusal says why a connection is refused.
type refusal uint8

const (
	refusedVersion refusal = 1 + iota
	refusedJob
	refusedRank
	refusedClosing
)

// String completes the sentence "the connection is refused because ...".
func (r refusal) String() string {
	switch r {
	case refusedVersion:
		return "the two ends speak different versions of the protocol: all ranks must run the same release"
	case refusedJob:
		return "the caller belongs to another job"
	case refusedRank:
		return "the two ends do not agree who they are"
	case refusedClosing:
		return "the peer has left the job or given this process up"
	}
	return fmt.Sprintf("of reason %d, which this version does not know", uint8(r))
}

// side is what one end chooses for a connection.
type side struct {
	id    uint64
	nonce [nonceSize]byte
}

// greeting is a message of the handshake.
type greeting struct {
	version  uint16
	kind     hsKind
	code     refusal
	from, to uint32
	maxFrame uint32
	datagram uint32
	slots    uint32
	window   uint32
	job      uuid.UUID
	ini, acc side
}

// append appends g with its HMAC.
func (g *greeting) append(b []byte, secret *[32]byte) []byte {
	start := len(b)
	le := binary.LittleEndian
	b = append(b, hsMagic...)
	b = le.AppendUint16(b, g.version)
	b = append(b, byte(g.kind), byte(g.code), 0, 0, 0, 0)
	for _, v := range [...]uint32{g.from, g.to, g.maxFrame, g.datagram, g.slots, g.window} {
		b = le.AppendUint32(b, v)
	}
	b = append(b, g.job[:]...)
	for _, s := range [...]*side{&g.ini, &g.acc} {
		b = append(le.AppendUint64(b, s.id), s.nonce[:]...)
	}
	sum := hsMAC(secret, b[start:])
	return append(b, sum[:]...)
}

// isGreeting reports whether a datagram claims to be of the handshake.
func isGreeting(b []byte) bool { return len(b) >= len(hsMagic) && string(b[:len(hsMagic)]) == hsMagic }

// authentic reports whether the sender of a message of the handshake knows the secret. It holds for all versions.
func authentic(b []byte, secret *[32]byte) bool {
	if len(b) < 16+sha256.Size || len(b) > 1024 || !isGreeting(b) {
		return false
	}
	n := len(b) - sha256.Size
	sum := hsMAC(secret, b[:n])
	return hmac.Equal(sum[:], b[n:])
}

// hsMAC proves knowledge of the secret.
func hsMAC(secret *[32]byte, b []byte) [sha256.Size]byte {
	h := hmac.New(sha256.New, secret[:])
	h.Write([]byte("ompi-go btl/udp handshake\x00"))
	h.Write(b)
	return [sha256.Size]byte(h.Sum(nil))
}

// parse decodes a message, whose HMAC is looked at elsewhere. Of other versions it knows the preamble alone.
func (g *greeting) parse(b []byte) error {
	if len(b) < 16 || !isGreeting(b) {
		return fmt.Errorf("%d bytes of some other protocol", len(b))
	}
	le := binary.LittleEndian
	*g = greeting{version: le.Uint16(b[8:]), kind: hsKind(b[10]), code: refusal(b[11])}
	if g.version != hsVersion {
		return nil
	}
	if len(b) != hsSize || le.Uint32(b[12:]) != 0 || g.kind < hsHello || g.kind > hsRefuse || (g.code != 0) != (g.kind == hsRefuse) {
		return fmt.Errorf("a message of kind %d, code %d and %d bytes, which no handshake has", g.kind, g.code, len(b))
	}
	for i, v := range [...]*uint32{&g.from, &g.to, &g.maxFrame, &g.datagram, &g.slots, &g.window} {
		*v = le.Uint32(b[16+4*i:])
	}
	copy(g.job[:], b[40:])
	for i, s := range [...]*side{&g.ini, &g.acc} {
		at := b[56+24*i:]
		s.id = le.Uint64(at)
		copy(s.nonce[:], at[8:])
	}
	if g.kind == hsRefuse {
		return nil
	}
	if g.maxFrame > absoluteMax || g.datagram < minDatagram || g.datagram > maxDatagram || g.slots < minSlots || g.slots > maxSlots || g.window < minDatagram {
		return fmt.Errorf("messages of %d bytes, datagrams of %d, %d packets held and a window of %d: out of range", g.maxFrame, g.datagram, g.slots, g.window)
	}
	return nil
}

// absoluteMax bounds the size of a message whatever the peer says: the largest value of the size parameters and a header.
const absoluteMax = 256<<20 + 64

// Bounds of what the two ends tell each other. A datagram holds any inline message.
const (
	minDatagram = 512
	maxDatagram = 65507 // over IPv4
	minSlots    = 16
	maxSlots    = 1 << 16
)

// keys are those of the sums of both directions of a connection.
func keys(secret *[32]byte, ini, acc *side) (toAcceptor, toInitiator uint32) {
	h := hmac.New(sha256.New, secret[:])
	h.Write([]byte("ompi-go btl/udp session\x00"))
	var b [8]byte
	for _, s := range [...]*side{ini, acc} {
		binary.LittleEndian.PutUint64(b[:], s.id)
		h.Write(b[:])
		h.Write(s.nonce[:])
	}
	sum := h.Sum(nil)
	return binary.LittleEndian.Uint32(sum), binary.LittleEndian.Uint32(sum[4:])
}

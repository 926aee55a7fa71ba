package tcp

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/google/uuid"
)

// The handshake of initiator I and acceptor A, five messages:
//
//	I -> A  hello      who I am, which rank and link of which job I want, a nonce
//	I <- A  challenge  the same of A, and an HMAC that proves that A knows the job's secret
//	I -> A  proof      I's HMAC
//	I <- A  accept     or, at any point, refuse with a code
//	I -> A  ready      only now do frames follow, from either side
//
// Each begins with the same preamble, which will not change with the version:
//
//	 0      1      2      3      4      5      6      7
//	+------+------+------+------+------+------+------+------+
//	| "ompi-go" and a zero byte                             |
//	+------+------+------+------+------+------+------+------+
//	|   version   | kind | code |          zero             |
//	+------+------+------+------+------+------+------+------+
//
// accept, refuse and ready are nothing more. hello and challenge go on with
//
//	+------+------+------+------+------+------+------+------+
//	|       sender's rank       |      receiver's rank      |
//	+------+------+------+------+------+------+------+------+
//	|    link     |V|  links    |   largest message sent    |
//	+------+------+------+------+------+------+------+------+
//	| job UUID, 16 bytes                                    |
//	| nonce, 32 bytes                                       |
//	+------+------+------+------+------+------+------+------+
//
// with the bit V set by who wants the other to vouch for what it sends (vouch.go), and the challenge with 32 bytes of HMAC. The proof is the preamble and 32 bytes of HMAC. The HMACs are HMAC-SHA256, keyed with the
// secret, of a label for the role, the hello and the challenge without its HMAC.
const (
	version       = 2
	magic         = "ompi-go\x00"
	preambleSize  = 16
	helloSize     = 80
	macSize       = sha256.Size
	challengeSize = helloSize + macSize
	proofSize     = preambleSize + macSize
	nonceSize     = 32
)

type messageKind uint8

const (
	msgHello messageKind = 1 + iota
	msgChallenge
	msgProof
	msgAccept
	msgRefuse
	msgReady
)

// size is the whole message's.
func (k messageKind) size() int {
	switch k {
	case msgHello:
		return helloSize
	case msgChallenge:
		return challengeSize
	case msgProof:
		return proofSize
	}
	return preambleSize
}

// refusal says why a connection is refused.
type refusal uint8

const (
	refusedVersion refusal = 1 + iota
	refusedJob
	refusedRank
	refusedLink
	refusedProof
	refusedDuplicate
	refusedClosing
	refusedMessage
)

// String completes the sentence "the connection is refused because ...".
func (r refusal) String() string {
	switch r {
	case refusedVersion:
		return "the two ends speak different versions of the protocol"
	case refusedJob:
		return "the caller belongs to another job"
	case refusedRank:
		return "the caller and the listener do not agree who they are"
	case refusedLink:
		return "the link number is out of range"
	case refusedProof:
		return "the caller does not know the job's secret"
	case refusedDuplicate:
		return "the ranks are connected already"
	case refusedClosing:
		return "the listener has left the job or given up the caller"
	case refusedMessage:
		return "the caller did not keep to the protocol"
	}
	return fmt.Sprintf("of reason %d, which this version does not know", uint8(r))
}

// preamble is what every message begins with.
type preamble struct {
	version uint16
	kind    messageKind
	code    refusal // of a refuse message
}

func (p *preamble) append(b []byte) []byte {
	b = append(b, magic...)
	b = binary.LittleEndian.AppendUint16(b, p.version)
	return append(b, byte(p.kind), byte(p.code), 0, 0, 0, 0)
}

// parsePreamble decodes the first preambleSize bytes. It does not judge the version, but refuses everything that no version says.
func parsePreamble(b []byte) (preamble, error) {
	if len(b) < preambleSize {
		return preamble{}, fmt.Errorf("a message of %d bytes", len(b))
	}
	if string(b[:8]) != magic {
		return preamble{}, fmt.Errorf("bytes of some other protocol (%q...)", b[:8])
	}
	p := preamble{version: binary.LittleEndian.Uint16(b[8:]), kind: messageKind(b[10]), code: refusal(b[11])}
	if p.kind < msgHello || p.kind > msgReady {
		return p, fmt.Errorf("a message of kind %d, which does not exist", p.kind)
	}
	if (p.code != 0) != (p.kind == msgRefuse) || binary.LittleEndian.Uint32(b[12:]) != 0 {
		return p, fmt.Errorf("a message of kind %d with fields that it does not have", p.kind)
	}
	return p, nil
}

// hello is the body of hello and challenge.
type hello struct {
	from, to    uint32
	link, links uint16
	vouch       bool
	maxFrame    uint32
	job         uuid.UUID
	nonce       [nonceSize]byte
}

func (h *hello) append(b []byte, kind messageKind) []byte {
	b = (&preamble{version: version, kind: kind}).append(b)
	b = binary.LittleEndian.AppendUint32(b, h.from)
	b = binary.LittleEndian.AppendUint32(b, h.to)
	b = binary.LittleEndian.AppendUint16(b, h.link)
	links := h.links
	if h.vouch {
		links |= vouchBit
	}
	b = binary.LittleEndian.AppendUint16(b, links)
	b = binary.LittleEndian.AppendUint32(b, h.maxFrame)
	b = append(b, h.job[:]...)
	return append(b, h.nonce[:]...)
}

// parseHello decodes what follows the preamble in b, at least helloSize bytes long in all.
func parseHello(b []byte) (h hello, err error) {
	if len(b) < helloSize {
		return h, fmt.Errorf("a greeting of %d bytes", len(b))
	}
	h.from, h.to = binary.LittleEndian.Uint32(b[16:]), binary.LittleEndian.Uint32(b[20:])
	h.link, h.links = binary.LittleEndian.Uint16(b[24:]), binary.LittleEndian.Uint16(b[26:])
	h.vouch, h.links = h.links&vouchBit != 0, h.links&^vouchBit
	h.maxFrame = binary.LittleEndian.Uint32(b[28:])
	copy(h.job[:], b[32:])
	copy(h.nonce[:], b[48:])
	if h.links < 1 || h.links > maxLinks || h.maxFrame > absoluteMax {
		return h, fmt.Errorf("a greeting that wants %d links and messages of %d bytes; at most %d and %d are possible", h.links, h.maxFrame, maxLinks, absoluteMax)
	}
	return h, nil
}

// vouchBit stands beside the number of links.
const vouchBit = 1 << 15

// absoluteMax bounds the size of a message whatever the peer says: the largest value of the size parameters and a header.
const absoluteMax = 256<<20 + 64

// mac proves knowledge of the secret in a role, for this one handshake: both nonces are in it.
func mac(secret *[32]byte, role string, hello, challenge []byte) [macSize]byte {
	h := hmac.New(sha256.New, secret[:])
	h.Write([]byte("ompi-go btl/tcp " + role + "\x00"))
	h.Write(hello[:helloSize])
	h.Write(challenge[:helloSize])
	return [macSize]byte(h.Sum(nil))
}

const (
	roleInitiator = "initiator"
	roleAcceptor  = "acceptor"
)

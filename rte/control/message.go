package control

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// EnvFD is the environment variable with the number of the rank's control socket.
const EnvFD = "OMPI_GO_CONTROL_FD"

const (
	// Version is the version of the frame and of the payloads.
	Version = 1

	headerLen = 8

	// MaxPayload bounds a payload; the largest are metrics, some hundred bytes a series.
	MaxPayload = 16 << 20
)

// Kind says what a message is and so which of its fields count. Kinds below 16 go from the rank to the launcher.
type Kind uint8

const (
	// Hello is a rank's first message: it listens. The launcher says nothing before.
	Hello Kind = 1
	// Report carries the error that the rank ends with, in Text, for the launcher to print once for all ranks that say the same.
	Report Kind = 2
	// Abort asks for the end of the job: Code is the exit code, Text the reason.
	Abort Kind = 3
	// Note carries something that the user should know once a job, in Text; Key tells which ranks mean the same.
	Note Kind = 5
	// Track is a piece of the rank's track for the trace file named Key: Text, more to come when ID is not 0.
	Track Kind = 6
	// Metrics answers Scrape number ID: Text in Prometheus text exposition format, or Err.
	Metrics Kind = 4

	// Here answers Where: Text is in which MPI calls the rank is.
	Here Kind = 7

	// Dead tells that Rank has died; Text is the cause.
	Dead Kind = 16
	// Scrape asks for the metrics; ID comes back in the answer.
	Scrape Kind = 17
	// Where asks what the rank is doing.
	Where Kind = 18
)

// Message is the payload of a frame together with its kind.
type Message struct {
	Kind Kind   `json:"-"`
	ID   uint64 `json:"id,omitempty"`
	Rank int    `json:"rank,omitempty"`
	Code int    `json:"code,omitempty"`
	Key  string `json:"key,omitempty"`
	Text string `json:"text,omitempty"`
	Err  string `json:"err,omitempty"`
}

// ErrVersion is wrapped by the error for a frame of another version.
var ErrVersion = errors.New("control: unknown version")

// Append adds the frame of m to b.
func Append(b []byte, m Message) ([]byte, error) {
	body, err := json.Marshal(m)
	if err != nil {
		return b, fmt.Errorf("control: encoding message kind %d: %w", m.Kind, err)
	}
	if len(body) > MaxPayload {
		return b, fmt.Errorf("control: message kind %d has %d bytes, more than %d", m.Kind, len(body), MaxPayload)
	}
	b = append(b, Version, byte(m.Kind), 0, 0)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(body)))
	return append(b, body...), nil
}

// header checks the fixed part and returns the kind and the length of the payload.
func header(h []byte) (Kind, int, error) {
	if h[0] != Version {
		return 0, 0, fmt.Errorf("%w %d, want %d", ErrVersion, h[0], Version)
	}
	n := binary.LittleEndian.Uint32(h[4:])
	if n > MaxPayload {
		return 0, 0, fmt.Errorf("control: a message announces %d bytes, more than %d", n, MaxPayload)
	}
	return Kind(h[1]), int(n), nil
}

func decode(kind Kind, body []byte) (Message, error) {
	var m Message
	if err := json.Unmarshal(body, &m); err != nil {
		return Message{}, fmt.Errorf("control: message kind %d: %w", kind, err)
	}
	m.Kind = kind
	return m, nil
}

// Parse takes the first frame of b and returns the rest. With an incomplete frame the error is io.ErrUnexpectedEOF.
func Parse(b []byte) (m Message, rest []byte, err error) {
	if len(b) < headerLen {
		return Message{}, b, io.ErrUnexpectedEOF
	}
	kind, n, err := header(b)
	if err != nil {
		return Message{}, b, err
	}
	if len(b)-headerLen < n {
		return Message{}, b, io.ErrUnexpectedEOF
	}
	m, err = decode(kind, b[headerLen:headerLen+n])
	return m, b[headerLen+n:], err
}

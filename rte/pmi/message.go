package pmi

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

const (
	// MaxRequest is the length in bytes, newline included, that a request never exceeds: Slurm takes a request with a
	// single read of 1024 bytes and does not reassemble.
	MaxRequest = 1023

	// maxLine bounds what is read for one line. Launchers announce values up to 1024 bytes; some future one may be more
	// generous, none needs this much.
	maxLine = 64 << 10
)

// Message is one parsed line. The zero value is an empty message.
type Message struct {
	// Cmd is the value of cmd, or of mcmd for the multi-line form (spawn).
	Cmd string
	// Multi says the line began a multi-line command, ended by the line "endcmd".
	Multi  bool
	fields []field
}

type field struct{ key, value string }

// Parse reads one line (with or without its newline). Pairs may come in any order, unknown keys are kept, words without '='
// are ignored, and of a repeated key the first counts. A line without a cmd is an error.
func Parse(line string) (Message, error) {
	line = strings.TrimRight(line, "\r\n")
	if strings.ContainsAny(line, "\n\x00") {
		return Message{}, fmt.Errorf("pmi: line %s holds a newline or a zero byte", excerpt(line))
	}
	var m Message
	found := false
	for word := range strings.FieldsFuncSeq(line, func(r rune) bool { return r == ' ' || r == '\t' }) {
		key, value, ok := strings.Cut(word, "=")
		if !ok || key == "" {
			continue
		}
		if key == "cmd" || key == "mcmd" {
			if !found {
				m.Cmd, m.Multi, found = value, key == "mcmd", true
			}
			continue
		}
		m.fields = append(m.fields, field{key, value})
	}
	if m.Cmd == "" {
		return Message{}, fmt.Errorf("pmi: line %s names no command", excerpt(line))
	}
	return m, nil
}

// Get returns the value of key and whether the line had it.
func (m *Message) Get(key string) (string, bool) {
	for i := range m.fields {
		if m.fields[i].key == key {
			return m.fields[i].value, true
		}
	}
	return "", false
}

// Int returns the decimal value of key; an absent or malformed one is an error.
func (m *Message) Int(key string) (int, error) {
	s, ok := m.Get(key)
	if !ok {
		return 0, fmt.Errorf("pmi: %s lacks %s", m.Cmd, key)
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0, fmt.Errorf("pmi: %s has %s=%s, want a number", m.Cmd, key, excerpt(s))
	}
	return n, nil
}

// failure returns nil when the message says success. Launchers may leave rc out on success.
func (m *Message) failure() error {
	rc, ok := m.Get("rc")
	if !ok || rc == "0" {
		return nil
	}
	msg, ok := m.Get("msg")
	if !ok {
		msg = "no reason given"
	}
	return fmt.Errorf("%w (rc=%s, %s)", ErrRefused, excerpt(rc), excerpt(msg))
}

// ErrRefused is wrapped by the error of a request which the launcher answered with a non-zero rc.
var ErrRefused = errors.New("pmi: refused by the launcher")

// Append adds the line `cmd=NAME k=v ...\n` to b; pairs alternates keys and values. A value that the line form cannot carry
// (with a space or a control character) is an error, and b is returned unchanged. Callers keep backslashes out of values of
// their own, since some launchers' parsers unescape them.
func Append(b []byte, cmd string, pairs ...string) ([]byte, error) {
	start := len(b)
	b = append(append(b, "cmd="...), cmd...)
	for i := 0; i+1 < len(pairs); i += 2 {
		if j := strings.IndexFunc(pairs[i+1], unsendable); j >= 0 {
			return b[:start], fmt.Errorf("pmi: value %s of %s in %s cannot be sent: byte %d is not allowed",
				excerpt(pairs[i+1]), pairs[i], cmd, j)
		}
		b = append(b, ' ')
		b = append(append(b, pairs[i]...), '=')
		b = append(b, pairs[i+1]...)
	}
	return append(b, '\n'), nil
}

func unsendable(r rune) bool { return r <= ' ' || r == 0x7f }

// readLine returns one line without its newline. io.EOF comes only between lines.
func readLine(r *bufio.Reader) (string, error) {
	var long []byte
	for {
		part, err := r.ReadSlice('\n')
		switch {
		case err == nil && long == nil:
			return string(part[:len(part)-1]), nil
		case err == nil:
			long = append(long, part...)
			return string(long[:len(long)-1]), nil
		case errors.Is(err, bufio.ErrBufferFull):
			if len(long)+len(part) > maxLine {
				return "", fmt.Errorf("pmi: a line is longer than %d bytes: %s", maxLine, excerpt(string(long)))
			}
			long = append(long, part...)
		case errors.Is(err, io.EOF) && len(long)+len(part) > 0:
			return "", io.ErrUnexpectedEOF
		default:
			return "", err
		}
	}
}

// excerpt quotes s for an error message, shortened.
func excerpt(s string) string {
	if len(s) > 60 {
		return strconv.Quote(s[:60]) + "..."
	}
	return strconv.Quote(s)
}

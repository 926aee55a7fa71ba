package control

import (
	"bufio"
	"io"
	"sync"
	"time"
)

// Conn is one end of the conversation. Send may be called from any goroutine, Receive from one.
type Conn struct {
	rwc      io.ReadWriteCloser
	rd       *bufio.Reader
	patience time.Duration

	mu  sync.Mutex
	buf []byte
	err error // sticky: a torn frame leaves the stream unusable
}

// NewConn takes over rwc. patience is how long Send waits for an end that does not read; it is only met when a process is
// stopped or hangs with a full socket buffer.
func NewConn(rwc io.ReadWriteCloser, patience time.Duration) *Conn {
	return &Conn{rwc: rwc, rd: bufio.NewReader(rwc), patience: patience}
}

// Send writes one message. An error is final: later calls return it again.
func (c *Conn) Send(m Message) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return c.err
	}
	buf, err := Append(c.buf[:0], m)
	if err != nil {
		return err // nothing was sent
	}
	if d, ok := c.rwc.(interface{ SetWriteDeadline(time.Time) error }); ok {
		// Files that cannot poll refuse; then the write just blocks.
		_ = d.SetWriteDeadline(time.Now().Add(c.patience))
	}
	if cap(buf) <= 64<<10 {
		c.buf = buf
	}
	_, c.err = c.rwc.Write(buf)
	return c.err
}

// Receive returns the next message; io.EOF when the other end has closed between messages.
func (c *Conn) Receive() (Message, error) {
	var h [headerLen]byte
	if _, err := io.ReadFull(c.rd, h[:]); err != nil {
		return Message{}, err
	}
	kind, n, err := header(h[:])
	if err != nil {
		return Message{}, err
	}
	// The announced length is not trusted with memory: the buffer grows with what really arrives.
	body, err := io.ReadAll(io.LimitReader(c.rd, int64(n)))
	if err != nil {
		return Message{}, err
	}
	if len(body) < n {
		return Message{}, io.ErrUnexpectedEOF
	}
	return decode(kind, body)
}

// Close closes the connection.
func (c *Conn) Close() error { return c.rwc.Close() }

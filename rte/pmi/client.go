package pmi

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
)

// Client is a process's side of the conversation. Its methods may be called from any goroutine; they are served one after
// the other, as the protocol demands, so that a Barrier under way delays the rest. Abort alone overtakes.
//
// A goroutine reads the connection all the time, so that the end of the launcher is noticed while no request is under way.
type Client struct {
	conn io.ReadWriteCloser
	rd   *bufio.Reader

	call    sync.Mutex // one request in flight
	write   sync.Mutex // lines are not torn when Abort overtakes
	waiting atomic.Bool
	replies chan Message // holds the one reply that may be under way

	closing atomic.Bool // finalize or abort has been sent: the end of the stream is expected
	lost    chan struct{}
	lostErr error // set before lost is closed
	onLost  func(error)

	kvsname string
	maxKey  int
	maxVal  int
}

// NewClient takes over conn and begins to read it. onLost, if not nil, is called once, on the client's goroutine, when the
// conversation breaks before Finalize or Abort: it gets io.EOF when the launcher closed its end.
//
// Each request is passed to conn as one Write.
func NewClient(conn io.ReadWriteCloser, onLost func(error)) *Client {
	return start(conn, bufio.NewReader(conn), onLost)
}

func start(conn io.ReadWriteCloser, rd *bufio.Reader, onLost func(error)) *Client {
	c := &Client{
		conn: conn, rd: rd, onLost: onLost,
		replies: make(chan Message, 1), lost: make(chan struct{}),
		maxKey: 64, maxVal: 256,
	}
	go c.read()
	return c
}

// NewPortClient is NewClient for a connection dialled to the launcher's PMI_PORT: id is the value of PMI_ID, and the
// launcher tells the rank and the size of the job.
func NewPortClient(conn io.ReadWriteCloser, id string, onLost func(error)) (c *Client, rank, size int, err error) {
	line, err := Append(nil, "initack", "pmiid", id)
	if err != nil {
		return nil, 0, 0, err
	}
	if _, err := conn.Write(line); err != nil {
		return nil, 0, 0, fmt.Errorf("pmi: greeting the launcher: %w", err)
	}
	rd := bufio.NewReader(conn)
	rank, size = -1, -1
	// The launcher answers with four lines: initack, then size, rank and debug, each in a "set".
	for i := range 4 {
		text, err := readLine(rd)
		if err != nil {
			return nil, 0, 0, fmt.Errorf("pmi: reading the launcher's greeting: %w", err)
		}
		m, err := Parse(text)
		if err != nil {
			return nil, 0, 0, err
		}
		if err := m.failure(); err != nil {
			return nil, 0, 0, err
		}
		want := "set"
		if i == 0 {
			want = "initack"
		}
		if m.Cmd != want {
			return nil, 0, 0, fmt.Errorf("pmi: the launcher's greeting has %s where %s belongs", excerpt(m.Cmd), want)
		}
		if n, err := m.Int("size"); err == nil {
			size = n
		}
		if n, err := m.Int("rank"); err == nil {
			rank = n
		}
	}
	if size < 1 || rank < 0 || rank >= size {
		return nil, 0, 0, fmt.Errorf("pmi: the launcher gave rank %d of %d", rank, size)
	}
	return start(conn, rd, onLost), rank, size, nil
}

func (c *Client) read() {
	for {
		line, err := readLine(c.rd)
		if err != nil {
			c.fail(err)
			return
		}
		m, err := Parse(line)
		if err != nil {
			c.fail(err)
			return
		}
		if !c.waiting.CompareAndSwap(true, false) {
			c.fail(fmt.Errorf("pmi: the launcher sent %s unasked", excerpt(line)))
			return
		}
		c.replies <- m
	}
}

func (c *Client) fail(err error) {
	c.lostErr = err
	close(c.lost)
	if c.onLost != nil && !c.closing.Load() {
		c.onLost(err)
	}
}

// request sends one line and returns the answer, which must be called want.
func (c *Client) request(want, cmd string, pairs ...string) (Message, error) {
	line, err := Append(nil, cmd, pairs...)
	if err != nil {
		return Message{}, err
	}
	if len(line) > MaxRequest {
		return Message{}, fmt.Errorf("pmi: %s is %d bytes long, more than the %d a request may have", cmd, len(line), MaxRequest)
	}
	c.call.Lock()
	defer c.call.Unlock()
	c.waiting.Store(true)
	if err := c.send(line); err != nil {
		return Message{}, fmt.Errorf("pmi: sending %s: %w", cmd, err)
	}
	var m Message
	select {
	case m = <-c.replies:
	case <-c.lost:
		select {
		case m = <-c.replies: // it came just before the end
		default:
			return Message{}, fmt.Errorf("pmi: waiting for the answer to %s: %w", cmd, c.lostErr)
		}
	}
	if m.Cmd != want {
		return Message{}, fmt.Errorf("pmi: the launcher answered %s with %s, want %s", cmd, excerpt(m.Cmd), want)
	}
	return m, nil
}

func (c *Client) send(line []byte) error {
	c.write.Lock()
	defer c.write.Unlock()
	_, err := c.conn.Write(line)
	return err
}

// Init opens the conversation: it agrees the version and learns the limits and the name of the key-value space.
//
// It offers version 1.1, the one that every launcher takes, and accepts any 1.x back: newer ones answer with their own.
func (c *Client) Init() error {
	m, err := c.request("response_to_init", "init", "pmi_version", "1", "pmi_subversion", "1")
	if err != nil {
		return err
	}
	if err := m.failure(); err != nil {
		return fmt.Errorf("pmi init: %w", err)
	}
	if v, err := m.Int("pmi_version"); err != nil || v != 1 {
		got, _ := m.Get("pmi_version")
		return fmt.Errorf("pmi: the launcher speaks version %s, want 1", excerpt(got))
	}
	if m, err = c.request("maxes", "get_maxes"); err != nil {
		return err
	}
	if err := m.failure(); err != nil {
		return fmt.Errorf("pmi get_maxes: %w", err)
	}
	if c.maxKey, err = m.Int("keylen_max"); err != nil {
		return err
	}
	if c.maxVal, err = m.Int("vallen_max"); err != nil {
		return err
	}
	if m, err = c.request("my_kvsname", "get_my_kvsname"); err != nil {
		return err
	}
	if err := m.failure(); err != nil {
		return fmt.Errorf("pmi get_my_kvsname: %w", err)
	}
	name, ok := m.Get("kvsname")
	if !ok {
		return errors.New("pmi: my_kvsname lacks kvsname")
	}
	c.kvsname = name
	return nil
}

// Room returns how many bytes the value of key may have at most; it is below 1 when the key itself is too long.
func (c *Client) Room(key string) int {
	if len(key) >= c.maxKey { // the limit counts a terminating zero in some launchers
		return 0
	}
	line := len("cmd=put kvsname= key= value=\n") + len(c.kvsname) + len(key)
	return min(c.maxVal-1, MaxRequest-line)
}

// Put stores a value, which others can read after the next Barrier. A key can be put once.
func (c *Client) Put(key, value string) error {
	m, err := c.request("put_result", "put", "kvsname", c.kvsname, "key", key, "value", value)
	if err != nil {
		return err
	}
	if err := m.failure(); err != nil {
		return fmt.Errorf("pmi put of %s: %w", key, err)
	}
	return nil
}

// Get reads a value. The error wraps ErrRefused when there is none of that key (launchers tell nothing finer).
func (c *Client) Get(key string) (string, error) {
	m, err := c.request("get_result", "get", "kvsname", c.kvsname, "key", key)
	if err != nil {
		return "", err
	}
	if err := m.failure(); err != nil {
		return "", fmt.Errorf("pmi get of %s: %w", key, err)
	}
	v, ok := m.Get("value")
	if !ok {
		return "", fmt.Errorf("pmi get of %s: the answer lacks a value", key)
	}
	return v, nil
}

// Barrier returns when every process of the job has called it; what was put before can be read after it.
func (c *Client) Barrier() error {
	m, err := c.request("barrier_out", "barrier_in")
	if err != nil {
		return err
	}
	if err := m.failure(); err != nil {
		return fmt.Errorf("pmi barrier: %w", err)
	}
	return nil
}

// Finalize tells the launcher that this process leaves in good order, waits for the acknowledgement, and closes the
// connection. Ending without it counts as a failure of the process.
func (c *Client) Finalize() error {
	c.closing.Store(true)
	m, err := c.request("finalize_ack", "finalize")
	if err == nil {
		if err = m.failure(); err != nil {
			err = fmt.Errorf("pmi finalize: %w", err)
		}
	}
	if cerr := c.conn.Close(); err == nil && cerr != nil {
		err = fmt.Errorf("pmi: closing the connection: %w", cerr)
	}
	return err
}

// Abort asks the launcher to end the whole job with the given exit code. There is no answer; it does not wait for requests
// under way.
func (c *Client) Abort(code int) error {
	c.closing.Store(true)
	line, err := Append(nil, "abort", "exitcode", strconv.Itoa(code))
	if err != nil {
		return err
	}
	if err := c.send(line); err != nil {
		return fmt.Errorf("pmi: sending abort: %w", err)
	}
	return nil
}

// Close ends the conversation without the good order of Finalize; onLost is not called.
func (c *Client) Close() error {
	c.closing.Store(true)
	return c.conn.Close()
}

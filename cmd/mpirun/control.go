package main

import (
	"sync"
	"time"

	"github.com/ompi-go/ompi-go/rte/control"
)

// sendPatience is how long mpirun waits for a rank that does not empty its control socket, which only a stopped one does.
const sendPatience = 100 * time.Millisecond

// rankControl is mpirun's end of one rank's control socket.
type rankControl struct {
	rank int
	conn *control.Conn

	mu      sync.Mutex
	ready   bool // the rank has said hello, so it reads
	closed  bool
	next    uint64
	pending map[uint64]chan<- control.Message // scrapes under way
}

func newRankControl(rank int, conn *control.Conn) *rankControl {
	return &rankControl{rank: rank, conn: conn, pending: map[uint64]chan<- control.Message{}}
}

// serve hands the rank's messages to deliver until the socket ends, but answers to scrapes to those who asked.
func (c *rankControl) serve(deliver func(control.Message)) {
	for {
		m, err := c.conn.Receive()
		if err != nil {
			break
		}
		switch m.Kind {
		case control.Hello:
			c.mu.Lock()
			c.ready = true
			c.mu.Unlock()
			deliver(m)
		case control.Metrics:
			c.mu.Lock()
			ch := c.pending[m.ID]
			delete(c.pending, m.ID)
			c.mu.Unlock()
			if ch != nil {
				ch <- m // has room for the one answer
			}
		default:
			deliver(m)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, ch := range c.pending {
		close(ch)
	}
	clear(c.pending)
}

// listening tells whether the rank would read a message.
func (c *rankControl) listening() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ready && !c.closed
}

// tell sends the news of a death. A rank that cannot be told will find out by itself or be ended with the job.
func (c *rankControl) tell(rank int, cause string) {
	if c.listening() {
		_ = c.conn.Send(control.Message{Kind: control.Dead, Rank: rank, Text: cause})
	}
}

// ask has the rank say what it is doing, and reports whether an answer may come.
func (c *rankControl) ask() bool {
	return c.listening() && c.conn.Send(control.Message{Kind: control.Where}) == nil
}

// scrape asks for the metrics. The channel gets the answer, or is closed when the rank ends first; forget it with drop.
func (c *rankControl) scrape() (answer <-chan control.Message, drop func(), ok bool) {
	ch := make(chan control.Message, 1)
	c.mu.Lock()
	if !c.ready || c.closed {
		c.mu.Unlock()
		return nil, nil, false
	}
	c.next++
	id := c.next
	c.pending[id] = ch
	c.mu.Unlock()
	drop = func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.pending, id)
	}
	if err := c.conn.Send(control.Message{Kind: control.Scrape, ID: id}); err != nil {
		drop()
		return nil, nil, false
	}
	return ch, drop, true
}

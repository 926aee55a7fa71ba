package pmi

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"strconv"
	"strings"
	"sync"
)

// Server is the launcher's side for one job. One goroutine a process runs Serve; the server's state is shared among them.
//
// Puts become visible at the next barrier, also to the process that made them, as with the strictest of other launchers.
type Server struct {
	size    int
	kvsname string
	onAbort func(rank, code int)
	onInit  func(rank int) // nil: nobody wants to know

	mu     sync.Mutex
	kvs    map[string]string // visible values
	staged map[string]string // put since the last barrier
	ranks  []rankState

	// The barrier under way: entered counts processes waiting in it that are not gone. It is left, by closing release and
	// replacing it, when entered == present. Invariant: 0 <= entered <= present <= size.
	entered, present int
	release          chan struct{}
}

// rankState is what the server knows of one process. Its transitions are Init, Finalize (by the process) and Gone.
type rankState struct {
	State
	gone bool // finalized, or its process has ended: barriers do not wait for it
}

// Limits announced to the processes, in bytes.
const (
	maxName  = 256
	maxKey   = 64
	maxValue = 1024
)

// NewServer returns a server for a job of size processes. kvsname names the key-value space, preset is visible from the
// start (put MappingKey there). onAbort is called, on the goroutine of Serve, when a process asks for the end of the job.
func NewServer(size int, kvsname string, preset map[string]string, onAbort func(rank, code int)) *Server {
	s := &Server{
		size: size, kvsname: kvsname, onAbort: onAbort,
		kvs: map[string]string{}, staged: map[string]string{},
		ranks: make([]rankState, size), present: size, release: make(chan struct{}),
	}
	maps.Copy(s.kvs, preset)
	return s
}

// OnInit has f called, on the goroutine of Serve, when a process opens its conversation, before it is answered. It is set before
// the first Serve.
func (s *Server) OnInit(f func(rank int)) { s.onInit = f }

// State is how far a process has come in its conversation with the server.
type State struct {
	Inited    bool // it has opened the conversation
	Finalized bool // it has left in good order
	Waiting   bool // it is inside a barrier
}

// State returns the state of a process.
func (s *Server) State(rank int) State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ranks[rank].State
}

// Gone says that the process has ended; barriers no longer wait for it.
func (s *Server) Gone(rank int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.becomeGone(rank)
}

func (s *Server) becomeGone(rank int) {
	r := &s.ranks[rank]
	if r.gone {
		return
	}
	r.gone = true
	s.present--
	if r.Waiting {
		r.Waiting = false
		s.entered--
	}
	s.tryRelease()
}

// tryRelease opens the barrier if nobody is missing. When nobody is left at all it lets go of those who hang on in vain.
func (s *Server) tryRelease() {
	if s.entered < s.present || s.entered == 0 && s.present > 0 {
		return
	}
	maps.Copy(s.kvs, s.staged)
	clear(s.staged)
	for i := range s.ranks {
		s.ranks[i].Waiting = false
	}
	s.entered = 0
	close(s.release)
	s.release = make(chan struct{})
}

// Serve answers the requests of one process until its stream ends; the end of the stream gives nil. The caller closes conn,
// and calls Gone when the process has ended.
func (s *Server) Serve(rank int, conn io.ReadWriter) error {
	rd := bufio.NewReader(conn)
	var buf []byte
	for {
		line, err := readLine(rd)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("pmi: reading from rank %d: %w", rank, err)
		}
		m, err := Parse(line)
		if err != nil {
			return fmt.Errorf("rank %d: %w", rank, err)
		}
		if m.Multi {
			if err := skipMulti(rd); err != nil {
				return fmt.Errorf("pmi: reading %s from rank %d: %w", m.Cmd, rank, err)
			}
		}
		cmd, pairs, wait := s.handle(rank, &m)
		if wait != nil {
			<-wait
		}
		if cmd == "" {
			continue
		}
		if buf, err = Append(buf[:0], cmd, pairs...); err != nil {
			return fmt.Errorf("rank %d: %w", rank, err)
		}
		if _, err := conn.Write(buf); err != nil {
			return fmt.Errorf("pmi: answering rank %d: %w", rank, err)
		}
	}
}

func skipMulti(rd *bufio.Reader) error {
	for {
		line, err := readLine(rd)
		if err != nil {
			return err
		}
		if strings.TrimSpace(line) == "endcmd" {
			return nil
		}
	}
}

// handle applies one request. It returns the answer, and for a barrier what to wait for before sending it.
func (s *Server) handle(rank int, m *Message) (cmd string, pairs []string, wait <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &s.ranks[rank]
	switch m.Cmd {
	case "init":
		v, err := m.Int("pmi_version")
		sub, err2 := m.Int("pmi_subversion")
		if err != nil || err2 != nil || v < 1 {
			return refuse("response_to_init", "bad_version")
		}
		// The lower of 1.1 and what was asked for is what both sides know.
		if v > 1 || sub > 1 {
			sub = 1
		}
		r.Inited = true
		if s.onInit != nil {
			s.mu.Unlock()
			s.onInit(rank)
			s.mu.Lock()
		}
		return "response_to_init", []string{"pmi_version", "1", "pmi_subversion", strconv.Itoa(max(sub, 0)), "rc", "0"}, nil
	case "get_maxes":
		return "maxes", []string{"kvsname_max", strconv.Itoa(maxName), "keylen_max", strconv.Itoa(maxKey),
			"vallen_max", strconv.Itoa(maxValue), "rc", "0"}, nil
	case "get_my_kvsname":
		return "my_kvsname", []string{"kvsname", s.kvsname, "rc", "0"}, nil
	case "get_universe_size":
		return "universe_size", []string{"size", strconv.Itoa(s.size), "rc", "0"}, nil
	case "get_appnum":
		return "appnum", []string{"appnum", "0", "rc", "0"}, nil
	case "put":
		return s.put(m)
	case "get":
		return s.get(m)
	case "barrier_in":
		if r.gone || r.Waiting {
			return refuse("barrier_out", "not_expected")
		}
		r.Waiting = true
		s.entered++
		release := s.release
		s.tryRelease()
		return "barrier_out", []string{"rc", "0"}, release
	case "finalize":
		r.Finalized = true
		s.becomeGone(rank)
		return "finalize_ack", []string{"rc", "0"}, nil
	case "abort":
		code, err := m.Int("exitcode")
		if err != nil {
			code = 1
		}
		if s.onAbort != nil {
			s.mu.Unlock()
			s.onAbort(rank, code)
			s.mu.Lock()
		}
		return "", nil, nil
	case "publish_name", "lookup_name", "unpublish_name":
		return refuse(strings.TrimSuffix(m.Cmd, "_name")+"_result", "not_supported")
	}
	// spawn and whatever else there may be
	return refuse(strings.Map(sendable, m.Cmd)+"_result", "not_supported")
}

func sendable(r rune) rune {
	if unsendable(r) {
		return '_'
	}
	return r
}

func refuse(cmd, msg string) (string, []string, <-chan struct{}) {
	return cmd, []string{"rc", "-1", "msg", msg}, nil
}

func (s *Server) put(m *Message) (string, []string, <-chan struct{}) {
	key, _ := m.Get("key")
	value, hasValue := m.Get("value")
	if kvs, _ := m.Get("kvsname"); kvs != s.kvsname {
		return refuse("put_result", "unknown_kvsname")
	}
	if key == "" || len(key) > maxKey || !hasValue || len(value) > maxValue || strings.HasPrefix(key, "PMI_") {
		return refuse("put_result", "bad_key_or_value")
	}
	if strings.IndexFunc(value, unsendable) >= 0 { // it could not be sent back
		return refuse("put_result", "bad_value")
	}
	_, old := s.kvs[key]
	_, fresh := s.staged[key]
	if old || fresh {
		return refuse("put_result", "duplicate_key")
	}
	s.staged[key] = value
	return "put_result", []string{"rc", "0", "msg", "success"}, nil
}

func (s *Server) get(m *Message) (string, []string, <-chan struct{}) {
	key, _ := m.Get("key")
	if kvs, _ := m.Get("kvsname"); kvs != s.kvsname {
		return refuse("get_result", "unknown_kvsname")
	}
	value, ok := s.kvs[key]
	if !ok {
		return refuse("get_result", "key_not_found")
	}
	return "get_result", []string{"rc", "0", "msg", "success", "value", value}, nil
}

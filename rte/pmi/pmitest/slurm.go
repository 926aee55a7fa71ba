// Package pmitest holds launchers for tests which are as awkward as real ones can be. Only tests may import it.
package pmitest

import (
	"fmt"
	"io"
	"strings"
	"sync"
)

// Slurm serves PMI-1 as Slurm's step daemon does, with its sharp edges: the first request is taken with one read of less than
// 64 bytes and must be the exact text, each later one with one read of 1024 bytes that must hold a whole line; what is put can
// be read only after the barrier; a missing key gives rc=1.
type Slurm struct {
	// Mapping is the value of PMI_process_mapping; no such key when empty.
	Mapping string

	size   int
	mu     sync.Mutex
	kvs    map[string]string
	staged map[string]string
	in     int
	out    chan struct{}
}

// NewSlurm returns a server for size ranks.
func NewSlurm(size int) *Slurm {
	return &Slurm{size: size, kvs: map[string]string{}, staged: map[string]string{}, out: make(chan struct{})}
}

const kvsName = "77.0"

// Serve serves one rank until it finalizes or aborts (nil), or breaks a rule.
func (s *Slurm) Serve(conn io.ReadWriter) error {
	buf := make([]byte, 1024)
	n, err := conn.Read(buf[:63])
	if err != nil {
		return err
	}
	if got, want := string(buf[:n]), "cmd=init pmi_version=1 pmi_subversion=1\n"; got != want {
		return fmt.Errorf("init is %q, want %q", got, want)
	}
	reply := "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n"
	for {
		if _, err := io.WriteString(conn, reply); err != nil {
			return err
		}
		n, err := conn.Read(buf)
		if err != nil {
			return err
		}
		line, ok := strings.CutSuffix(string(buf[:n]), "\n")
		if !ok || strings.Contains(line, "\n") {
			return fmt.Errorf("a read of %d bytes got %q, want exactly one line", len(buf), buf[:n])
		}
		words := map[string]string{}
		for w := range strings.SplitSeq(line, " ") {
			k, v, _ := strings.Cut(w, "=")
			words[k] = v
		}
		switch words["cmd"] {
		case "finalize":
			_, err := io.WriteString(conn, "cmd=finalize_ack rc=0\n")
			return err
		case "abort":
			return nil
		}
		if reply, err = s.reply(words); err != nil {
			return err
		}
	}
}

func (s *Slurm) reply(words map[string]string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch cmd := words["cmd"]; cmd {
	case "get_maxes":
		return "cmd=maxes rc=0 kvsname_max=256 keylen_max=256 vallen_max=1024\n", nil
	case "get_my_kvsname":
		return "cmd=my_kvsname rc=0 kvsname=" + kvsName + "\n", nil
	case "put":
		if words["kvsname"] != kvsName {
			return "", fmt.Errorf("put into %q", words["kvsname"])
		}
		s.staged[words["key"]] = words["value"]
		return "cmd=put_result rc=0\n", nil
	case "get":
		if words["key"] == "PMI_process_mapping" && s.Mapping != "" {
			return "cmd=get_result rc=0 value=" + s.Mapping + "\n", nil
		}
		v, ok := s.kvs[words["key"]]
		if !ok {
			return "cmd=get_result rc=1\n", nil
		}
		return "cmd=get_result rc=0 value=" + v + "\n", nil
	case "barrier_in":
		out := s.out
		if s.in++; s.in == s.size {
			for k, v := range s.staged {
				s.kvs[k] = v
			}
			s.in, s.out = 0, make(chan struct{})
			close(out)
		}
		s.mu.Unlock()
		<-out
		s.mu.Lock()
		return "cmd=barrier_out rc=0\n", nil
	default:
		return "", fmt.Errorf("unknown command %q", cmd)
	}
}

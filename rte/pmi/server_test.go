package pmi

import (
	"maps"
	"net"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// ask applies one request line; wait tells whether the answer must wait for a barrier, and open whether that is over.
func ask(t interface{ Fatal(...any) }, s *Server, rank int, line string) (answer string, wait <-chan struct{}) {
	m, err := Parse(line)
	if err != nil {
		t.Fatal(err)
	}
	cmd, pairs, wait := s.handle(rank, &m)
	if cmd == "" {
		return "", wait
	}
	b, err := Append(nil, cmd, pairs...)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(string(b), "\n"), wait
}

func isOpen(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestServerAnswers(t *testing.T) {
	aborted := []int{}
	s := NewServer(2, "kvs", map[string]string{MappingKey: "(vector,(0,1,2))"}, func(rank, code int) {
		aborted = append(aborted, rank, code)
	})
	for _, c := range []struct{ line, want string }{
		{"cmd=init pmi_version=1 pmi_subversion=1", "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0"},
		{"cmd=init pmi_version=1 pmi_subversion=0", "cmd=response_to_init pmi_version=1 pmi_subversion=0 rc=0"},
		{"cmd=init pmi_version=2 pmi_subversion=0", "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0"},
		{"cmd=init", "cmd=response_to_init rc=-1 msg=bad_version"},
		{"cmd=get_maxes", "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024 rc=0"},
		{"cmd=get_my_kvsname", "cmd=my_kvsname kvsname=kvs rc=0"},
		{"cmd=get_universe_size", "cmd=universe_size size=2 rc=0"},
		{"cmd=get_appnum", "cmd=appnum appnum=0 rc=0"},
		{"cmd=get kvsname=kvs key=PMI_process_mapping", "cmd=get_result rc=0 msg=success value=(vector,(0,1,2))"},
		{"cmd=put kvsname=kvs key=a value=1", "cmd=put_result rc=0 msg=success"},
		{"cmd=put kvsname=kvs key=a value=2", "cmd=put_result rc=-1 msg=duplicate_key"},
		{"cmd=put kvsname=other key=b value=2", "cmd=put_result rc=-1 msg=unknown_kvsname"},
		{"cmd=put kvsname=kvs key=PMI_x value=2", "cmd=put_result rc=-1 msg=bad_key_or_value"},
		{"cmd=put kvsname=kvs key=b", "cmd=put_result rc=-1 msg=bad_key_or_value"},
		{"cmd=put kvsname=kvs key=b value=a\rb", "cmd=put_result rc=-1 msg=bad_value"},
		{"cmd=get kvsname=kvs key=a", "cmd=get_result rc=-1 msg=key_not_found"},
		{"cmd=get kvsname=other key=a", "cmd=get_result rc=-1 msg=unknown_kvsname"},
		{"cmd=lookup_name service=x", "cmd=lookup_result rc=-1 msg=not_supported"},
		{"cmd=strange", "cmd=strange_result rc=-1 msg=not_supported"},
		{"cmd=abort exitcode=7", ""},
		{"cmd=abort", ""},
		{"cmd=finalize", "cmd=finalize_ack rc=0"},
		{"cmd=barrier_in", "cmd=barrier_out rc=-1 msg=not_expected"},
	} {
		if got, _ := ask(t, s, 1, c.line); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.line, got, c.want)
		}
	}
	if len(aborted) != 4 || aborted[1] != 7 || aborted[3] != 1 {
		t.Errorf("aborts: %v", aborted)
	}
	if st := s.State(1); st != (State{Inited: true, Finalized: true}) {
		t.Errorf("state %+v", st)
	}
}

// TestServerModel compares the server with a model that has sets for everything: values appear at the barrier, which is left
// exactly when all who are present are in it.
func TestServerModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 5).Draw(t, "size")
		s := NewServer(size, "kvs", nil, nil)
		visible, staged := map[string]string{}, map[string]string{}
		gone, inside := map[int]bool{}, map[int]<-chan struct{}{}
		check := func() {
			left := size - len(gone)
			over := len(inside) == left && len(inside) > 0
			for rank, wait := range inside {
				if isOpen(wait) != over {
					t.Fatalf("rank %d: barrier open %v, want %v (%d of %d inside)", rank, !over, over, len(inside), left)
				}
			}
			if over {
				clear(inside)
				maps.Copy(visible, staged)
				clear(staged)
			}
		}
		rank := func() int { return rapid.IntRange(0, size-1).Draw(t, "rank") }
		key := rapid.SampledFrom([]string{"a", "b", "c"})
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				k, v := key.Draw(t, "key"), strconv.Itoa(rapid.Int().Draw(t, "value"))
				answer, _ := ask(t, s, rank(), "cmd=put kvsname=kvs key="+k+" value="+v)
				_, old := visible[k]
				_, fresh := staged[k]
				if ok := strings.Contains(answer, " rc=0"); ok == (old || fresh) {
					t.Fatalf("put %s: %s", k, answer)
				}
				if !old && !fresh {
					staged[k] = v
				}
			},
			"get": func(t *rapid.T) {
				k := key.Draw(t, "key")
				answer, _ := ask(t, s, rank(), "cmd=get kvsname=kvs key="+k)
				want := "cmd=get_result rc=-1 msg=key_not_found"
				if v, ok := visible[k]; ok {
					want = "cmd=get_result rc=0 msg=success value=" + v
				}
				if answer != want {
					t.Fatalf("get %s: %s, want %s", k, answer, want)
				}
			},
			"barrier": func(t *rapid.T) {
				r := rank()
				answer, wait := ask(t, s, r, "cmd=barrier_in")
				if ok := strings.Contains(answer, " rc=0"); ok == (gone[r] || inside[r] != nil) {
					t.Fatalf("barrier of rank %d: %s", r, answer)
				}
				if wait != nil {
					inside[r] = wait
				}
				check()
			},
			"gone": func(t *rapid.T) {
				r := rank()
				last := !gone[r] && len(gone) == size-1
				s.Gone(r)
				delete(inside, r)
				gone[r] = true
				check()
				if last { // nobody is left to wait for
					maps.Copy(visible, staged)
					clear(staged)
				}
			},
		})
	})
}

// FuzzServe feeds a rank's stream to the server as it comes.
func FuzzServe(f *testing.F) {
	f.Add("cmd=init pmi_version=1 pmi_subversion=1\ncmd=get_maxes\ncmd=barrier_in\ncmd=finalize\n")
	f.Add("mcmd=spawn\nnprocs=1\nendcmd\ncmd=put kvsname=kvs key=a value=1\ncmd=barrier_in\ncmd=get kvsname=kvs key=a\n")
	f.Fuzz(func(t *testing.T, stream string) {
		s := NewServer(1, "kvs", nil, nil)
		// All that matters is that it comes back: the one rank is all there is to wait for in a barrier.
		_ = s.Serve(0, struct {
			*strings.Reader
			discard
		}{strings.NewReader(stream), discard{}})
	})
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

func TestServeMulti(t *testing.T) {
	ours, theirs := net.Pipe()
	s := NewServer(1, "kvs", nil, nil)
	done := make(chan error, 1)
	go func() { done <- s.Serve(0, theirs) }()
	if _, err := ours.Write([]byte("mcmd=spawn\nnprocs=1\nendcmd\n")); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 100)
	n, err := ours.Read(buf)
	if want := "cmd=spawn_result rc=-1 msg=not_supported\n"; err != nil || string(buf[:n]) != want {
		t.Errorf("spawn: %q, %v", buf[:n], err)
	}
	ours.Close()
	if err := <-done; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

package tcp

import (
	"errors"
	"net"
	"slices"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/btl/btltest"
	"github.com/ompi-go/ompi-go/rte"
)

const tag = btl.TagPML

// newWorld is a world of this component with a sink in every rank.
func newWorld(t testing.TB, n int, params map[string]string, job func(rte.Job) rte.Job) (*btltest.World, []*btltest.Sink) {
	t.Helper()
	w := btltest.NewWorld(t, btltest.Config{Component: component{}, Params: params, Job: job}, n)
	var sinks []*btltest.Sink
	for _, r := range w.Ranks {
		s := btltest.NewSink(-1)
		sinks = append(sinks, s)
		r.Dispatch.Handlers[tag] = s
	}
	return w, sinks
}

func moduleOf(r *btltest.Rank) *module { return r.Module.(*module) }

// offer offers f once and reports whether it was taken.
func offer(t testing.TB, r *btltest.Rank, to int, f *btl.Frag) (taken, done bool) {
	t.Helper()
	r.Engine.Lock()
	defer r.Engine.Unlock()
	done, err := r.Endpoints[to].Send(f)
	if err != nil && !errors.Is(err, btl.ErrAgain) {
		t.Fatalf("Send: %v", err)
	}
	return err == nil, done
}

// send sends message id with n bytes.
func send(t testing.TB, w *btltest.World, from, to int, id uint64, n int) {
	t.Helper()
	f := btltest.NewFrag(&btltest.Completions{}, tag, id, 16, n)
	w.Until(t, "room", func() bool { taken, _ := offer(t, w.Ranks[from], to, f); return taken })
}

// sendError sends until there is an error that is not ErrAgain.
func sendError(t testing.TB, w *btltest.World, from, to int) error {
	t.Helper()
	var failure error
	r := w.Ranks[from]
	f := btltest.NewFrag(&btltest.Completions{}, tag, 99, 16, 0)
	w.Until(t, "an error", func() bool {
		r.Do(func() { _, failure = r.Endpoints[to].Send(f) })
		return failure != nil && !errors.Is(failure, btl.ErrAgain)
	})
	return failure
}

// address is where a rank listens first.
func address(r *btltest.Rank) string { return moduleOf(r).listeners[0].addr.String() }

// dial connects to a rank as a stranger.
func dial(t testing.TB, r *btltest.Rank) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address(r))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// cutAll breaks all connections of a rank, as its death would.
func cutAll(r *btltest.Rank) {
	r.Do(func() {
		for _, ep := range moduleOf(r).eps {
			if ep != nil {
				for _, l := range ep.links {
					cut(l)
				}
			}
		}
	})
}

func cut(l *link) {
	if l.state == linkUp {
		_ = unix.Shutdown(l.fd, unix.SHUT_RDWR)
	}
}

// reset breaks a connection so that what is under way is lost.
func reset(l *link) {
	if l.state == linkUp {
		var unspecified [16]byte // connecting to no address disconnects
		_, _, _ = unix.Syscall(unix.SYS_CONNECT, uintptr(l.fd), uintptr(unsafe.Pointer(&unspecified[0])), uintptr(len(unspecified)))
	}
}

// fakeJob changes what a rank is told of its job.
type fakeJob struct {
	rte.Job
	nodes []int
	card  func(rank int, b []byte) []byte
}

func (j *fakeJob) Launcher() string { return "pmi" }

func (j *fakeJob) Locality(rank int) rte.Locality {
	switch {
	case rank == j.Rank():
		return rte.Self
	case j.nodes == nil || j.nodes[rank] == j.nodes[j.Rank()]:
		return rte.SameHost
	}
	return rte.Remote
}

func (j *fakeJob) Get(rank int, key string) ([]byte, error) {
	b, err := j.Job.Get(rank, key)
	if err == nil && j.card != nil {
		b = j.card(rank, slices.Clone(b))
	}
	return b, err
}

// onNodes tells ranks that they are on these nodes.
func onNodes(nodes ...int) func(rte.Job) rte.Job {
	return func(j rte.Job) rte.Job { return &fakeJob{Job: j, nodes: nodes} }
}

package rte

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"github.com/ompi-go/ompi-go/rte/control"
	"github.com/ompi-go/ompi-go/rte/pmi"
)

// wireJob is a Job whose exchange is a launcher's key-value space. Under our mpirun ctl is the control socket, else it is nil.
type wireJob struct {
	rank, size int
	launcher   string
	opt        *Options
	pmi        *pmi.Client
	ctl        *control.Conn

	id     uuid.UUID
	secret [32]byte
	nodes  []int // of each rank

	finalized atomic.Bool
	ending    atomic.Bool // Abort has been called or the launcher is lost: say no more

	mu     sync.Mutex
	cards  map[hubKey][]byte // what Get has fetched
	put    map[string]bool   // keys of this rank
	dead   []death
	watch  []func(rank int, cause error)
	scrape func() ([]byte, error)
	under  func() string // see OnWhere
	claims []int         // sockets whose names say that this rank has said something
}

type death struct {
	rank  int
	cause error
}

func (j *wireJob) ID() uuid.UUID    { return j.id }
func (j *wireJob) Rank() int        { return j.rank }
func (j *wireJob) Size() int        { return j.size }
func (j *wireJob) Launcher() string { return j.launcher }
func (j *wireJob) Secret() [32]byte { return j.secret }

func (j *wireJob) Put(key string, value []byte) error {
	if err := checkKey(key); err != nil {
		return err
	}
	if j.finalized.Load() {
		return ErrFinalized
	}
	j.mu.Lock()
	twice := j.put[key]
	j.put[key] = true
	j.mu.Unlock()
	if twice {
		return errTwice(key)
	}
	return putCard(j.rank, key, value, j.pmi.Room, j.pmi.Put)
}

func (j *wireJob) Fence() error {
	if j.finalized.Load() {
		return ErrFinalized
	}
	return j.pmi.Barrier()
}

func (j *wireJob) Get(rank int, key string) ([]byte, error) {
	if err := checkRank(rank, j.size); err != nil {
		return nil, err
	}
	if err := checkKey(key); err != nil {
		return nil, err
	}
	k := hubKey{rank, key}
	j.mu.Lock()
	v, ok := j.cards[k]
	j.mu.Unlock()
	if ok {
		return v, nil
	}
	if j.finalized.Load() {
		return nil, ErrFinalized
	}
	v, err := getCard(rank, key, j.pmi.Get)
	if errors.Is(err, pmi.ErrRefused) {
		return nil, errNotFound(rank, key)
	}
	if err != nil {
		return nil, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if first, ok := j.cards[k]; ok {
		return first, nil // another goroutine was faster: all callers share one copy
	}
	j.cards[k] = v
	return v, nil
}

func (j *wireJob) Node(rank int) int {
	if checkRank(rank, j.size) != nil {
		return -1
	}
	return j.nodes[rank]
}

func (j *wireJob) LocalRanks() []int {
	var local []int
	for r, n := range j.nodes {
		if n == j.nodes[j.rank] {
			local = append(local, r)
		}
	}
	return local
}

func (j *wireJob) Locality(rank int) Locality {
	switch {
	case rank == j.rank:
		return Self
	case j.Node(rank) == j.nodes[j.rank]:
		return SameHost
	}
	return Remote
}

func (j *wireJob) OnFailure(f func(rank int, cause error)) {
	j.mu.Lock()
	j.watch = append(j.watch, f)
	known := slices.Clone(j.dead)
	j.mu.Unlock()
	for _, d := range known {
		f(d.rank, d.cause)
	}
}

func (j *wireJob) OnScrape(f func() ([]byte, error)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.scrape = f
}

func (j *wireJob) Abort(code int, msg string) {
	j.ending.Store(true)
	// Both ways are best effort: whatever happens, this process ends, and the launcher sees its status.
	if j.ctl == nil || j.ctl.Send(control.Message{Kind: control.Abort, Code: code, Text: msg}) != nil {
		j.opt.sayAbort(j.rank, code, msg)
		time.Sleep(sayTime)
		_ = j.pmi.Abort(exitStatus(code))
	}
	j.opt.exit(exitStatus(code))
}

// sayTime is what others get to do their part before this process goes on to its end. A launcher forwards the reason for an
// abort in it before it hears of the abort itself, since Hydra throws away what it has not read by then.
const sayTime = 100 * time.Millisecond

func (j *wireJob) Finalize() error {
	if j.finalized.Swap(true) {
		return nil
	}
	j.mu.Lock()
	for _, fd := range j.claims {
		unix.Close(fd)
	}
	j.claims = nil
	j.mu.Unlock()
	return j.pmi.Finalize()
}

// Report implements Reporter under our mpirun.
func (j *wireJob) Report(msg string) bool {
	return j.ctl != nil && j.ctl.Send(control.Message{Kind: control.Report, Text: msg}) == nil
}

// trackPiece is how much of a track goes in one message: quoting may make it several times as long.
const trackPiece = 1 << 20

// Trace implements Tracer under our mpirun.
func (j *wireJob) Trace(file string, track []byte) bool {
	if j.ctl == nil {
		return false
	}
	for len(track) > 0 {
		n, more := len(track), uint64(0)
		if n > trackPiece {
			n, more = trackPiece, 1
		}
		if j.ctl.Send(control.Message{Kind: control.Track, Key: file, Text: string(track[:n]), ID: more}) != nil {
			return false
		}
		track = track[n:]
	}
	return true
}

// SayOnce implements Sayer. Our mpirun hears all ranks and lets the lowest speak. Other launchers offer no such thing: there the
// ranks of a host compete for a name, and the first to have it speaks.
func (j *wireJob) SayOnce(key, msg string) bool {
	if j.ctl != nil {
		return j.ctl.Send(control.Message{Kind: control.Note, Key: key, Text: msg}) == nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return false
	}
	// The abstract namespace: the name goes with the process, whatever becomes of that.
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: "@ompi-go/" + j.id.String() + "/said/" + key}); err != nil {
		unix.Close(fd)
		return errors.Is(err, unix.EADDRINUSE)
	}
	j.claims = append(j.claims, fd)
	return false
}

// End implements Ender.
func (j *wireJob) End(code int) {
	j.ending.Store(true)
	if j.ctl == nil {
		time.Sleep(sayTime)
		_ = j.pmi.Abort(exitStatus(code)) // the launcher sees the status in any case
	}
	j.opt.exit(exitStatus(code))
}

// lost ends the process when the launcher is gone: nobody would ever hear of this rank again, and its peers go the same way.
func (j *wireJob) lost(err error) {
	if j.finalized.Load() || j.ending.Swap(true) {
		return
	}
	if j.ctl != nil {
		// With our mpirun the kernel kills its ranks; only one behind a wrapper lives on to say why it ends.
		time.Sleep(sayTime)
	}
	j.opt.say("rank %d: the launcher is gone (%v); ending", j.rank, err)
	j.opt.exit(1)
}

// listen serves the control socket until it ends.
func (j *wireJob) listen() {
	for {
		m, err := j.ctl.Receive()
		if err != nil {
			j.lost(err)
			return
		}
		switch m.Kind {
		case control.Dead:
			j.die(m.Rank, m.Text)
		case control.Scrape:
			// An answer that cannot be sent is the launcher's to miss.
			_ = j.ctl.Send(j.answer(m.ID))
		case control.Where:
			text := "past Finalize"
			if !j.finalized.Load() {
				text = j.where()
			}
			_ = j.ctl.Send(control.Message{Kind: control.Here, Text: text}) // likewise
		}
	}
}

func (j *wireJob) die(rank int, text string) {
	if checkRank(rank, j.size) != nil || rank == j.rank {
		return
	}
	d := death{rank, errors.New(text)}
	j.mu.Lock()
	j.dead = append(j.dead, d)
	watch := slices.Clone(j.watch)
	j.mu.Unlock()
	for _, f := range watch {
		f(d.rank, d.cause)
	}
}

func (j *wireJob) answer(id uint64) control.Message {
	j.mu.Lock()
	f := j.scrape
	j.mu.Unlock()
	m := control.Message{Kind: control.Metrics, ID: id}
	if f == nil {
		return m // no metrics yet
	}
	text, err := f()
	switch {
	case err != nil:
		m.Err = err.Error()
	case len(text) > control.MaxPayload/2: // leaves room for the quoting
		m.Err = fmt.Sprintf("%d bytes of metrics are too many for the control socket", len(text))
	default:
		m.Text = string(text)
	}
	return m
}

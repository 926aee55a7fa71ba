package nal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/btl/btluse"
	_ "github.com/ompi-go/ompi-go/btl/sm" // what carries
	_ "github.com/ompi-go/ompi-go/btl/tcp"
	_ "github.com/ompi-go/ompi-go/btl/udp"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/rte"
	"github.com/ompi-go/ompi-go/shm"
)

const (
	small  btl.Tag = 7 + iota // counted
	large                     // checked against fill
	offer                     // names memory to read
	served                    // it has been read
)

// rank is a rank of the tests: NALs beside an ordinary session, on one engine.
type rank struct {
	*btluse.Session
	job rte.Job
	set *Set

	// Guarded by the token.
	said                          map[string]string
	failed                        map[int]error
	small, session, large, served []int // messages by sender
	offers                        []btl.MemHandle
	bad                           error
}

const largeSize = 20_000

func fill(b []byte, seed int) {
	for i := range b {
		b[i] = byte(i*7 + seed)
	}
}

// handler is a function as btl.Handler.
type handler func(peer int, hdr, payload []byte)

func (h handler) Receive(peer int, hdr, payload []byte) { h(peer, hdr, payload) }

func (r *rank) Failed(p *core.Proc, cause error) {
	if r.failed[p.Rank] != nil {
		r.bad = fmt.Errorf("told twice of rank %d", p.Rank)
	}
	r.failed[p.Rank] = cause
	r.Engine.Kick()
}

// upcallsOf are the instance's, as the NALs meet them.
type upcallsOf struct{ *rank }

func (u upcallsOf) EndpointFailed(btl.Module, *core.Proc, bool, error) {
	panic("this one is not for the instance")
}

func (u upcallsOf) Say(key, message string) {
	u.said[key] = message
}

func (r *rank) sayings() map[string]string {
	r.Engine.Lock()
	defer r.Engine.Unlock()
	return maps.Clone(r.said)
}

func loadParams(settings map[string]string) (*mca.Registry, *mca.Params, error) {
	reg, err := mca.NewRegistry()
	if err != nil {
		return nil, nil, err
	}
	in := mca.DefaultInput()
	for name, value := range settings {
		in.Settings = append(in.Settings, mca.Setting{Name: name, Value: value, Layer: mca.LayerAPI, Where: "the test"})
	}
	params, err := mca.Load(reg, in)
	return reg, params, err
}

// open opens the session and the NALs; all ranks do so together. hub is nil between processes. change is what is done to the environment that
// the NALs get.
func open(job rte.Job, hub *shm.Hub, settings map[string]string, change ...func(*btl.Env)) (*rank, error) {
	reg, params, err := loadParams(settings)
	if err != nil {
		return nil, err
	}
	n := job.Size()
	r := &rank{job: job, said: map[string]string{}, failed: map[int]error{},
		small: make([]int, n), session: make([]int, n), large: make([]int, n), served: make([]int, n), offers: make([]btl.MemHandle, n)}
	r.Session, err = btluse.Open(btluse.Config{Job: job, Registry: reg, Params: params, SleepAfter: 5 * time.Millisecond,
		Handlers: map[btl.Tag]btl.Handler{small: handler(func(peer int, _, _ []byte) { r.session[peer]++ })}})
	if err != nil {
		return nil, err
	}
	env := *r.Env
	env.Registry, env.Hub, env.Upcalls = reg, hub, upcallsOf{r}
	for _, f := range change {
		f(&env)
	}
	if r.set, err = Open(&env, r); err != nil {
		return r, err
	}
	h := &r.set.Dispatch.Handlers
	h[small] = handler(func(peer int, hdr, payload []byte) {
		if binary.LittleEndian.Uint64(hdr) != uint64(peer) || string(payload) != fmt.Sprint("from ", peer) {
			r.bad = fmt.Errorf("%x %q from rank %d", hdr, payload, peer)
		}
		r.small[peer]++
	})
	h[large] = handler(func(peer int, _, payload []byte) {
		want := make([]byte, largeSize)
		if fill(want, peer); !bytes.Equal(payload, want) {
			r.bad = fmt.Errorf("%d wrong bytes from rank %d", len(payload), peer)
		}
		r.large[peer]++
	})
	h[offer] = handler(func(peer int, hdr, _ []byte) {
		r.offers[peer] = btl.MemHandle{A: binary.LittleEndian.Uint64(hdr), B: binary.LittleEndian.Uint64(hdr[8:])}
	})
	h[served] = handler(func(peer int, _, _ []byte) { r.served[peer]++ })
	return r, job.Fence()
}

// cond is a function as progress.Cond.
type cond func() bool

func (c cond) Done() bool { return c() }

// until waits for f with the token held.
func (r *rank) until(f func() bool) {
	r.Engine.WaitLocked(cond(func() bool { return f() || r.bad != nil }))
}

func (r *rank) inline(l *Link, tag btl.Tag, h0, h1 uint64, data string) {
	for !l.Inline.SendInline(tag, h0, h1, unsafe.Pointer(unsafe.StringData(data)), len(data)) {
		r.Engine.Poll()
		r.Engine.Lend()
	}
}

// sending is a fragment under way.
type sending struct {
	btl.Frag
	over bool
	err  error
}

func (s *sending) FragDone(_ *btl.Frag, err error) { s.over, s.err = true, err }

func (r *rank) send(l *Link, tag btl.Tag, data []byte) error {
	s := &sending{}
	s.Frag = btl.Frag{Owner: s, Tag: tag, HdrLen: 20, Len: len(data), Data: unsafe.Pointer(unsafe.SliceData(data))}
	for {
		done, err := l.Send.Send(&s.Frag)
		switch {
		case errors.Is(err, btl.ErrAgain):
			r.Engine.Poll()
			r.Engine.Lend()
		case err != nil || done:
			return err
		default:
			r.until(func() bool { return s.over })
			return s.err
		}
	}
}

// reading is a read under way.
type reading struct {
	btl.Transfer
	over bool
	err  error
}

func (t *reading) TransferDone(_ *btl.Transfer, err error) { t.over, t.err = true, err }

// read reads what a peer has offered.
func (r *rank) read(l *Link, peer int) error {
	into := make([]byte, largeSize)
	t := &reading{}
	t.Transfer = btl.Transfer{Owner: t, Local: unsafe.Pointer(&into[0]), N: largeSize, Remote: r.offers[peer]}
	mem, err := l.Reg.Register(t.Local, t.N)
	if err != nil {
		return err
	}
	defer l.Reg.Deregister(mem)
	t.Mem = mem
	done, err := l.Get.Get(&t.Transfer)
	if err != nil {
		return err
	}
	if !done {
		r.until(func() bool { return t.over })
	}
	want := make([]byte, largeSize)
	if fill(want, peer+100); t.err == nil && !bytes.Equal(into, want) {
		t.err = errors.New("other bytes")
	}
	return t.err
}

const messages = 400

// exchange talks to all others over their links and, in between, over the session.
func (r *rank) exchange(want string) error {
	r.Engine.Lock()
	defer r.Engine.Unlock()
	me := r.job.Rank()
	hello, body, mine := fmt.Sprint("from ", me), make([]byte, largeSize), make([]byte, largeSize)
	fill(body, me)
	fill(mine, me+100)
	links := make([]*Link, r.job.Size())
	for p, proc := range r.Env.Procs {
		if p == me {
			continue
		}
		l, err := r.set.Connect(proc)
		if err != nil {
			return err
		}
		if again, err := r.set.Connect(proc); again != l || err != nil {
			return fmt.Errorf("another link of the same process: %v", err)
		}
		if want != "" && l.Name != want {
			return fmt.Errorf("rank %d is reached by %s, want %s", p, l.Name, want)
		}
		links[p] = l
	}
	for p, l := range links {
		if l == nil {
			continue
		}
		for i := range messages {
			if i%10 == 0 {
				if err := r.Send(p, small, nil, []byte(hello)); err != nil {
					return err
				}
			}
			r.inline(l, small, uint64(me), uint64(i), hello)
		}
		if err := r.send(l, large, body); err != nil {
			return err
		}
		if l.Get == nil || l.Reg == nil {
			continue
		}
		h, err := l.Reg.Register(unsafe.Pointer(&mine[0]), largeSize)
		if err != nil {
			return err
		}
		defer l.Reg.Deregister(h)
		r.inline(l, offer, h.A, h.B, "")
	}
	for p, l := range links {
		if l == nil {
			continue
		}
		r.until(func() bool { return r.small[p] == messages && r.session[p] == messages/10 && r.large[p] == 1 })
		if l.Get == nil || l.Reg == nil {
			continue
		}
		r.until(func() bool { return r.offers[p] != btl.MemHandle{} })
		if err := r.read(l, p); err != nil {
			return fmt.Errorf("reading memory of rank %d: %w", p, err)
		}
		r.inline(l, served, 0, 0, "")
		r.until(func() bool { return r.served[p] == 1 })
	}
	runtime.KeepAlive(mine)
	return r.bad
}

// close ends both; all ranks do so together.
func (r *rank) close() error {
	for out := false; !out; {
		r.Engine.Lock()
		r.Engine.PollAll()
		out = r.set.Flush()
		r.Engine.Unlock()
	}
	if err := r.job.Fence(); err != nil {
		return err
	}
	r.Engine.Lock()
	err := errors.Join(r.set.Close(), r.set.Close())
	r.Engine.Unlock()
	return errors.Join(err, r.Session.Close())
}

// rankMain is a rank that is a process.
func rankMain(role string) error {
	job, err := rte.Join(rte.Options{})
	if err != nil {
		return err
	}
	r, err := open(job, nil, nil)
	if err != nil {
		return err
	}
	if err := r.exchange(""); err != nil {
		return err
	}
	if role == "die" {
		if err := job.Fence(); err != nil {
			return err
		}
		if job.Rank() == 1 {
			return syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
		r.Engine.Lock() // to the end
		r.until(func() bool { return r.failed[1] != nil })
		fmt.Printf("%v has told: %v\n", r.set.Names(), r.failed[1])
		os.Exit(0)
	}
	l, err := r.link(1 - min(job.Rank(), 1))
	if err != nil {
		return err
	}
	fmt.Printf("rank %d of %v by %s: %v\n", job.Rank(), r.set.Names(), l.Name, r.sayings())
	if err := r.close(); err != nil {
		return err
	}
	return job.Finalize()
}

func (r *rank) link(to int) (*Link, error) {
	r.Engine.Lock()
	defer r.Engine.Unlock()
	return r.set.Connect(r.Env.Procs[to])
}

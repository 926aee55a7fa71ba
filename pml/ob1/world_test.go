package ob1

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"
	"unsafe"

	"github.com/ompi-go/ompi-go/bml"
	_ "github.com/ompi-go/ompi-go/bml/r2"
	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/btl/btltest"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/pml"
	"github.com/ompi-go/ompi-go/rte"
)

// world is a job of ob1 modules whose frames the test moves by hand.
type world struct {
	*btltest.World
	script *btltest.Script
	ranks  []*rank
	held   []heldFrag // taken, delivered perhaps, and not completed; see withhold
}

// rank is one module and its communicators, by context number.
type rank struct {
	*btltest.Rank
	o     *module
	comms map[uint32]*core.Comm
}

func newWorld(t testing.TB, n int, s *btltest.Script, opt Options, hold bool) *world {
	t.Helper()
	return newMixedWorld(t, s, hold, slices.Repeat([]Options{opt}, n), make([]datatype.Arch, n))
}

// newMixedWorld makes a rank for each of opts, of the architecture that archs says.
func newMixedWorld(t testing.TB, s *btltest.Script, hold bool, opts []Options, archs []datatype.Arch) *world {
	t.Helper()
	announce := func(j rte.Job) rte.Job {
		if err := rte.PutArch(j, archs[j.Rank()]); err != nil {
			t.Fatal(err)
		}
		return j
	}
	w := &world{World: btltest.NewWorld(t, btltest.Config{Component: s, Job: announce}, len(opts)), script: s}
	reg, err := mca.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	r2, _ := reg.Component("bml", "r2")
	for i, r := range w.Ranks {
		r.Env.Arch, r.Env.Mixed = archs[i], true
		mod := r.Module
		if hold {
			mod = w.withhold(mod, r.Engine)
		}
		m, err := r2.(bml.Component).Open(r.Env, []btl.Module{mod})
		if err != nil {
			t.Fatal(err)
		}
		o := newModule(r.Env, m, opts[i])
		if opts[i].Unexpected == 0 {
			o.credit.open(unlimited, 0, int64(len(opts))) // no frames of credit in tests of other things
		}
		w.ranks = append(w.ranks, &rank{r, o, map[uint32]*core.Comm{}})
	}
	w.traceWorld(t)
	for _, r := range w.ranks {
		r.addComm(t, 0)
	}
	return w
}

// addComm makes communicator k over all ranks known to r.
func (r *rank) addComm(t testing.TB, k uint32) {
	t.Helper()
	all := make([]int, len(r.Env.Procs))
	for i := range all {
		all[i] = i
	}
	c := core.NewComm(r.Engine, k, core.NewGroup(all, r.Job.Rank()), r.Env.Procs, fmt.Sprint("comm ", k))
	if err := r.o.AddComm(c); err != nil {
		t.Fatal(err)
	}
	r.comms[k] = c
}

// die makes a peer's death known to r, as the instance does.
func (r *rank) die(peer int) {
	r.Do(func() {
		p := r.Env.Procs[peer]
		if !p.Fail(errors.New("it died")) {
			return
		}
		for _, c := range r.comms {
			err := *p.Failed()
			err.Peer = c.RankOf(peer)
			c.SetFault(&core.Fault{Err: &err})
		}
		r.o.ProcFailed(p)
	})
}

// revoke ends communicator k at r.
func (r *rank) revoke(k uint32) {
	r.Do(func() {
		r.comms[k].SetFault(&core.Fault{Err: core.NewError(core.ErrRevoked, "revoked"), Fatal: true})
		r.o.CommFailed(r.comms[k])
	})
}

// cancelAll ends everything at r, as the cancellation of its instance does.
func (r *rank) cancelAll() {
	r.Do(func() {
		err := core.NewError(core.ErrProcAborted, "cancelled")
		for _, c := range r.comms {
			c.SetFault(&core.Fault{Err: err, Fatal: true})
			r.o.CommFailed(c)
		}
		r.o.Cancelled(err)
	})
}

// memory is a user's buffer between two guard zones.
type memory struct {
	all  []byte
	n    int
	buf  core.Buffer
	gaps bool // a vector: every other byte is the user's own
}

const guard = 64

// fill gives the byte of message id at i.
func fill(id, i int) byte { return byte(id*31 + i*7 + i>>8) }

// newMemory makes room for n bytes of payload, contiguous or every second byte, and sets it to message id, or to 0xEE when id < 0.
func newMemory(t testing.TB, n, id int, vector bool) *memory {
	t.Helper()
	m := &memory{n: n, gaps: vector, all: bytes.Repeat([]byte{0xEE}, 2*guard+2*n)}
	at := unsafe.Pointer(&m.all[guard])
	m.buf = core.MakeBuffer(at, int64(n), datatype.Byte)
	if vector {
		v, err := datatype.Vector(n, 1, 2, datatype.Byte)
		if err == nil {
			err = v.Commit()
		}
		if err != nil {
			t.Fatal(err)
		}
		m.buf = core.MakeBuffer(at, 1, v)
	}
	for i := 0; id >= 0 && i < n; i++ {
		*m.at(i) = fill(id, i)
	}
	return m
}

func (m *memory) at(i int) *byte {
	if m.gaps {
		i *= 2
	}
	return &m.all[guard+i]
}

// holds reports whether the first n bytes are those of message id.
func (m *memory) holds(n, id int) bool {
	for i := range n {
		if *m.at(i) != fill(id, i) {
			return false
		}
	}
	return true
}

// intact reports whether nothing was written outside of the payload.
func (m *memory) intact() bool {
	touched := func(b byte) bool { return b != 0xEE }
	end := guard + m.n
	if m.gaps {
		for i := range m.n {
			if touched(m.all[guard+2*i+1]) {
				return false
			}
		}
		end = guard + 2*m.n
	}
	return !slices.ContainsFunc(m.all[:guard], touched) && !slices.ContainsFunc(m.all[end:], touched)
}

func (r *rank) channel(k uint32, inner bool) *core.Channel {
	c := r.comms[k]
	if c == nil {
		panic(fmt.Sprintf("rank %d has no communicator %d", r.Job.Rank(), k))
	}
	if inner {
		return &c.Inner
	}
	return &c.P2P
}

func (r *rank) send(m *memory, dest, tag int, mode pml.Mode) *core.Request {
	return r.o.Isend(r.channel(0, false), m.buf, dest, tag, mode)
}

func (r *rank) recv(m *memory, source, tag int) *core.Request {
	return r.o.Irecv(r.channel(0, false), m.buf, source, tag)
}

// checkBalance fails the test unless nothing is left of any message.
func (r *rank) checkBalance(t testing.TB) {
	t.Helper()
	r.Do(func() {
		o := r.o
		if o.ids.live != 0 || o.out.n != 0 || o.nFree.frags != 0 || o.nFree.ctls != 0 || o.nFree.moves != 0 || !o.Quiet() {
			t.Errorf("rank %d: left: %d names, %d waiting for room, pools %+v", r.Job.Rank(), o.ids.live, o.out.n, o.nFree)
		}
		held := 0
		for _, m := range o.chans {
			if m == nil {
				continue
			}
			held += m.unexp.n
			for i := range m.ranks {
				for s := m.ranks[i].held; s != nil; s = s.next {
					held++
				}
			}
		}
		for _, l := range o.stray {
			held += len(l)
		}
		var kept int64
		for i := range o.credit.accounts {
			kept += o.credit.accounts[i].kept
		}
		if kept != o.credit.stats.Kept || (o.nFree.msgs == 0 && kept != 0) || o.starveds != 0 {
			t.Errorf("rank %d: %d bytes are kept, its peers' accounts have %d; %d messages are kept back", r.Job.Rank(), o.credit.stats.Kept, kept, o.starveds)
		}
		if held > o.nFree.msgs {
			t.Errorf("rank %d: %d messages are held, %d are out of the pool", r.Job.Rank(), held, o.nFree.msgs)
		}
	})
}

// Package shm is memory shared by the ranks of a host, and the bell that wakes a sleeping one. btl/sm builds its rings in it,
// coll/sm its boards; nobody else may use it.
//
// Each rank owns one segment: a control block that its peers poke, and a heap from which its owner takes pieces, and peers pieces for
// what they write to the owner, so that it outlives them. Between
// processes the segment is a memfd, sparse and sealed against shrinking, which peers open through /proc/<pid>/fd or, where that
// is refused, receive over an abstract unix socket (see pass.go). So nothing has a name in a file system and nothing is left
// behind, whatever is killed. Between goroutine ranks the pieces lie on the Go heap.
//
// Peers attach lazily: memory and file descriptors grow with the pairs that talk.
package shm

import (
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/progress"
	"github.com/ompi-go/ompi-go/rte"
)

func init() {
	mca.RegisterFramework(mca.Framework{Name: "shm", Help: "memory shared between the ranks of a host", Flat: true, Options: func() any { return &Options{} }})
}

// Options are the parameters of this package.
type Options struct {
	SegmentSize int64  `mca:"segment_size" default:"0" level:"5" unit:"bytes" help:"size of each rank's shared segment, sparse until used; 0: 1 MiB a local rank, at least 64 MiB"`
	Attach      string `mca:"attach" default:"auto" enum:"auto|proc|socket" level:"7" help:"how to open a peer's segment: through /proc/<pid>/fd, over a unix socket, or whichever works"`
}

// lineSize is the unit in which cores exchange memory.
const lineSize = 64

// Piece names a piece of a rank's segment to its peers.
type Piece uint64

// Domain is one rank's part in the shared memory of its host.
type Domain struct {
	job    rte.Job
	engine *progress.Engine
	opt    Options
	local  []int       // ranks of this host, ascending
	index  map[int]int // rank -> position in local
	me     int         // my position
	peers  []*Peer     // by position; nil until attached. Guarded by the engine's token
	ctl    *control
	name   string
	hub    *Hub                     // in-process
	row    []atomic.Pointer[Domain] // the hub's, of domains of this name
	seg    *segment                 // between processes
	sys    *kernel

	mu     sync.Mutex
	heap   map[Piece]heapPiece // in-process pieces
	nextID Piece
	mem    registrations
	memory *memories
	mapped int // Memory of peers that is mapped here; guarded by the token
	closed bool
}

type heapPiece struct {
	base unsafe.Pointer
	size int64
}

// Hub lets the goroutine ranks of a process find each other.
type Hub struct {
	ranks int
	mu    sync.Mutex // guards rows
	rows  map[string][]atomic.Pointer[Domain]
}

// NewHub is for a process of n ranks.
func NewHub(n int) *Hub { return &Hub{ranks: n, rows: make(map[string][]atomic.Pointer[Domain])} }

// row is where the domains of a name are, by rank.
func (h *Hub) row(name string) []atomic.Pointer[Domain] {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.rows[name] == nil {
		h.rows[name] = make([]atomic.Pointer[Domain], h.ranks)
	}
	return h.rows[name]
}

// Config is what Open needs.
type Config struct {
	Job     rte.Job
	Engine  *progress.Engine
	Options Options
	Hub     *Hub // nil between processes
	// Name tells several domains of a rank apart, each of which meets its namesakes: a few of a-z 0-9 -, the same in all ranks. Most ranks
	// have one, without a name.
	Name string
	// Memory is another domain of the rank, whose Memory this one tells of to its peers and passes to them, too; nil: its own. Between
	// processes.
	Memory *Domain

	sys *kernel // nil: the real one
}

// Open makes the rank's segment and publishes its card. Peers can attach after the job's next Fence.
func Open(cfg Config) (*Domain, error) {
	d := &Domain{job: cfg.Job, engine: cfg.Engine, opt: cfg.Options, name: cfg.Name, hub: cfg.Hub, sys: cfg.sys, local: cfg.Job.LocalRanks()}
	if d.sys == nil {
		d.sys = realKernel()
	}
	if d.memory = new(memories); cfg.Memory != nil && !cfg.Memory.InProcess() {
		d.memory = cfg.Memory.memory
	}
	d.index = make(map[int]int, len(d.local))
	for i, r := range d.local {
		d.index[r] = i
	}
	d.me = d.index[cfg.Job.Rank()]
	d.peers = make([]*Peer, len(d.local))
	if d.hub != nil {
		d.heap = make(map[Piece]heapPiece)
		mem := alignedBytes(controlSize(len(d.local)))
		d.ctl = controlAt(mem, len(d.local))
		d.row = d.hub.row(d.name)
		d.row[cfg.Job.Rank()].Store(d)
		return d, nil
	}
	if err := d.openSegment(); err != nil {
		return nil, err
	}
	return d, nil
}

// called is a name that each of a rank's domains has for itself, such as that of a socket.
func (d *Domain) called(what string) string {
	if d.name == "" {
		return what
	}
	return what + "." + d.name
}

// Local are the ranks that share this memory, ascending.
func (d *Domain) Local() []int { return d.local }

// Shares reports whether rank is one of Local.
func (d *Domain) Shares(rank int) bool { _, ok := d.index[rank]; return ok }

// InProcess reports whether peers are goroutines of this process.
func (d *Domain) InProcess() bool { return d.hub != nil }

// Position is rank's position in Local.
func (d *Domain) Position(rank int) int { return d.index[rank] }

// Alloc takes n zeroed bytes of the rank's own segment. They are committed now, so that touching them later cannot fail.
func (d *Domain) Alloc(n int64) (Piece, unsafe.Pointer, error) {
	n = (n + lineSize - 1) &^ (lineSize - 1)
	if d.hub != nil {
		return d.allocHeap(n)
	}
	return d.seg.alloc(n)
}

// AllocAt takes n zeroed bytes of the peer's segment, committed, and gives their address in this process. What this rank writes there
// the peer can read, in its own segment (Own), whatever has become of this rank. The token is held.
func (d *Domain) AllocAt(p *Peer, n int64) (Piece, unsafe.Pointer, error) {
	n = (n + lineSize - 1) &^ (lineSize - 1)
	switch {
	case p.domain != nil:
		return p.domain.allocHeap(n)
	case p.Rank == d.job.Rank():
		return d.seg.alloc(n)
	}
	return d.allocAt(p, n)
}

func (d *Domain) allocHeap(n int64) (Piece, unsafe.Pointer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	mem := alignedBytes(n)
	d.nextID++
	d.heap[d.nextID] = heapPiece{mem, n}
	return d.nextID, mem, nil
}

// Own gives the address of n bytes of the rank's own piece p, of which a peer has told. Bounds are checked.
func (d *Domain) Own(p Piece, n int64) (unsafe.Pointer, error) {
	if d.hub != nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		if h, ok := d.heap[p]; ok && n >= 0 && n <= h.size {
			return h.base, nil
		}
	} else if off := int64(p); off >= controlSize(len(d.local)) && off%lineSize == 0 {
		if mem, err := d.seg.region.Slice(off, n); err == nil && n > 0 {
			return unsafe.Pointer(&mem[0]), nil
		}
	}
	return nil, fmt.Errorf("shm: there is no piece %#x of %d bytes here", uint64(p), n)
}

// Free gives a piece back. No peer may use it any more.
func (d *Domain) Free(p Piece, n int64) {
	if d.hub != nil {
		d.mu.Lock()
		delete(d.heap, p)
		d.mu.Unlock()
		return
	}
	d.seg.free(p, (n+lineSize-1)&^(lineSize-1))
}

// At gives the address of n bytes of rank's piece p in this process. Pieces come from peers: bounds are checked.
func (d *Domain) At(rank int, p Piece, n int64) (unsafe.Pointer, error) {
	peer, err := d.Attach(rank)
	if err != nil {
		return nil, err
	}
	if d.hub != nil {
		o := peer.domain
		o.mu.Lock()
		defer o.mu.Unlock()
		h, ok := o.heap[p]
		if !ok || n < 0 || h.size < n {
			return nil, fmt.Errorf("shm: rank %d has no piece %d of %d bytes", rank, p, n)
		}
		return h.base, nil
	}
	mem, err := peer.region.Slice(int64(p), n)
	if err != nil || p%lineSize != 0 {
		return nil, fmt.Errorf("shm: rank %d names a bad piece %#x: %w", rank, uint64(p), err)
	}
	return unsafe.Pointer(&mem[0]), nil
}

// Peer is another rank of the host whose segment this rank has attached.
type Peer struct {
	Rank   int
	ctl    *control
	domain *Domain // in-process
	region *core.Region
	file   fileID
	pid    int
	bell   bell
	memory []*mapping // by number; guarded by the token, as are
	live   int        // how many there are
	fresh  int        // and how many came since it was last looked for freed ones
}

// PID is the peer's process id, 0 in-process.
func (p *Peer) PID() int { return p.pid }

// TryCMA reads the identity at the start of the peer's own mapping through read, which copies n bytes from the peer's address
// remote to local, and reports why that cannot be used.
func (p *Peer) TryCMA(read func(pid int, local unsafe.Pointer, remote uint64, n int) error) error {
	var got uint64
	if err := read(p.pid, unsafe.Pointer(&got), p.ctl.id.self, 8); err != nil {
		return err
	}
	if got != controlMagic {
		return fmt.Errorf("process %d holds something else than its card says", p.pid)
	}
	return nil
}

// Attach gives the peer of that rank, mapping its segment at the first call. The token is held.
func (d *Domain) Attach(rank int) (*Peer, error) {
	i, ok := d.index[rank]
	if !ok {
		return nil, fmt.Errorf("shm: rank %d is not on this host", rank)
	}
	if p := d.peers[i]; p != nil {
		return p, nil
	}
	var p *Peer
	if d.hub != nil {
		o := d.row[rank].Load()
		if o == nil {
			return nil, fmt.Errorf("shm: rank %d has not opened its memory", rank)
		}
		p = &Peer{Rank: rank, ctl: o.ctl, domain: o}
	} else {
		var err error
		if p, err = d.attachSegment(rank); err != nil {
			return nil, fmt.Errorf("shm: rank %d: %w", rank, err)
		}
	}
	d.peers[i] = p
	return p, nil
}

// Ring wakes the peer if it sleeps. Whoever wrote something for it calls this afterwards; between the write and this look the
// caller's own store must have become visible or the peer must issue a barrier: see Fence.
func (d *Domain) Ring(p *Peer) {
	if p.domain != nil {
		p.domain.engine.Wake()
		return
	}
	if p.ctl.asleep.Load() != 0 {
		d.ringProcess(p)
	}
}

// Close lets go of everything. The token is held.
func (d *Domain) Close() error {
	if d.closed {
		return nil
	}
	d.closed = true
	if d.hub != nil {
		d.row[d.job.Rank()].Store(nil)
		return nil
	}
	return d.closeSegment()
}

func alignedBytes(n int64) unsafe.Pointer {
	mem := make([]byte, n+lineSize)
	p := unsafe.Pointer(&mem[0])
	skip := -uintptr(p) & (lineSize - 1)
	return unsafe.Add(p, skip)
}

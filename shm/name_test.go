package shm

import (
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ompi-go/ompi-go/progress"
	"github.com/ompi-go/ompi-go/rte"
)

// TestNames: a rank has several domains, each of which finds its namesakes alone: pieces, offers, registrations and bells of one are
// none of another's, and the end of one does not concern the others. Memory is that of the first, and in reach through all.
func TestNames(t *testing.T) {
	both(t, func(t *testing.T, inProcess bool) {
		for _, attach := range []string{"auto", "socket"} {
			t.Run(attach, func(t *testing.T) { testNames(t, inProcess, Options{Attach: attach}) })
		}
	})
}

func testNames(t *testing.T, inProcess bool, opt Options) {
	names := []string{"", "one", "two"}
	job := rte.NewHub(2)
	var hub *Hub
	if inProcess {
		hub = NewHub(2)
	}
	var engines [2]*progress.Engine
	var d [2][]*Domain
	before := descriptors(t)
	for r := range d {
		engines[r] = progress.New(progress.Config{Cores: 1, LocalRanks: 1})
		for _, name := range names {
			cfg := Config{Job: job.Job(r), Engine: engines[r], Options: opt, Hub: hub, Name: name}
			if len(d[r]) > 0 {
				cfg.Memory = d[r][0]
			}
			one, err := Open(cfg)
			if err != nil {
				t.Fatalf("rank %d, domain %q: %v", r, name, err)
			}
			d[r] = append(d[r], one)
		}
	}
	go func() { _ = job.Job(1).Fence() }() // it ends with the other's
	if err := job.Job(0).Fence(); err != nil {
		t.Fatal(err)
	}
	m := newMemory(t, d[1][0], 100, 1)
	copy(bytesAt(m.Base(), 5), "bytes")
	engines[0].Lock()
	for i, name := range names {
		p, mem, err := d[1][i].Alloc(64)
		if err != nil {
			t.Fatal(err)
		}
		*(*uint64)(mem) = uint64(100 + i)
		got, err := d[0][i].At(1, p, 64)
		if err != nil || *(*uint64)(got) != uint64(100+i) {
			t.Errorf("domain %q: rank 1's piece: %v", name, err)
		}
		peer, err := d[0][i].Attach(1)
		if err != nil {
			t.Fatal(err)
		}
		if inProcess {
			slot, gen := d[1][i].Register(unsafe.Pointer(&engines), 8)
			if at, err := peer.Registered(slot, gen, 0, 8); err != nil || at != unsafe.Pointer(&engines) {
				t.Errorf("domain %q: a registration: %v", name, err)
			}
		}
		d[0][i].Offer(peer, Piece(1000+i))
		if !inProcess {
			if at, err := peer.Memory(d[0][i], d[1][i].MemoryAt(m.Base(), 5), addr(m, 0), 5); err != nil || string(bytesAt(at, 5)) != "bytes" {
				t.Errorf("domain %q: Memory: %v", name, err)
			}
			var b [8]byte
			d[0][i].ringProcess(peer)
			if n, err := unix.Read(d[1][i].seg.event, b[:]); peer.bell.fd > 0 && (err != nil || n != 8) {
				t.Errorf("domain %q: the bell: %d, %v", name, n, err)
			}
			unix.Close(peer.bell.fd)
			peer.bell.fd = -1 // as where pidfd_getfd is refused
			d[0][i].ringProcess(peer)
			if n, err := unix.Read(d[1][i].seg.bell, b[:]); err != nil || n != 1 {
				t.Errorf("domain %q: the bell by datagram: %d, %v", name, n, err)
			}
		}
	}
	engines[0].Unlock()
	engines[1].Lock()
	for i, name := range names {
		var offers []Piece
		d[1][i].TakeOffers(func(_ int, p Piece) { offers = append(offers, p) })
		if len(offers) != 1 || offers[0] != Piece(1000+i) {
			t.Errorf("domain %q was offered %v", name, offers)
		}
		if err := d[1][i].Close(); err != nil {
			t.Errorf("domain %q: Close: %v", name, err)
		}
		for _, later := range d[1][i+1:] {
			if _, _, err := later.Alloc(64); err != nil {
				t.Errorf("after the end of %q: %v", name, err)
			}
		}
	}
	engines[1].Unlock()
	engines[0].Lock()
	for i := range names {
		if err := d[0][i].Close(); err != nil {
			t.Error(err)
		}
	}
	engines[0].Unlock()
	free(t, m)
	for _, e := range engines {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors are left", after-before)
	}
}

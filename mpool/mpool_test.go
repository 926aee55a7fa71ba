package mpool_test

import (
	"errors"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ompi-go/ompi-go/internal/invariants"
	"github.com/ompi-go/ompi-go/mpool"
	_ "github.com/ompi-go/ompi-go/mpool/heap"
	_ "github.com/ompi-go/ompi-go/mpool/huge"
	"github.com/ompi-go/ompi-go/mpool/mpooltest"
	_ "github.com/ompi-go/ompi-go/mpool/shm"
	"github.com/ompi-go/ompi-go/shm"
)

// TestOpen: the pool that is named first and works, else the one of highest priority.
func TestOpen(t *testing.T) {
	d := mpooltest.Domains(true, shm.Options{})(t)[0]
	for _, c := range []struct {
		settings []string
		shm      *shm.Domain
		want     string
	}{
		{nil, d, "shm"},
		{nil, nil, "heap"},
		{[]string{"mpool", "^shm"}, d, "heap"},
		{[]string{"mpool", "huge"}, d, "huge"},
		{[]string{"mpool", "huge,shm"}, d, "huge"},
		{[]string{"mpool", "shm,huge"}, nil, "huge"},
		{[]string{"mpool_huge_priority", "99"}, d, "huge"},
		{[]string{"mpool", "shm"}, nil, "shares no memory"},
		{[]string{"mpool", "^shm,heap,huge"}, d, "no pool"},
	} {
		p, err := mpool.Open(&mpool.Env{Params: mpooltest.Params(t, c.settings...), Shm: c.shm})
		switch {
		case err != nil && !strings.Contains(err.Error(), c.want):
			t.Errorf("%q: %v", c.settings, err)
		case err == nil && p.Name() != c.want:
			t.Errorf("%q: pool %s, want %s", c.settings, p.Name(), c.want)
		}
	}
}

// TestGraveyard: freed addresses stay taken until the end, their memory does not.
func TestGraveyard(t *testing.T) {
	const n = 1 << 20
	var g mpool.Graveyard
	p, err := unix.MmapPtr(-1, 0, nil, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	b := unsafe.Slice((*byte)(p), n)
	b[5] = 1
	if err := g.Bury(p, n); err != nil {
		t.Fatal(err)
	}
	if !invariants.On && b[5] != 0 { // else it would end the program
		t.Error("the memory is still there")
	}
	if err := g.Bury(nil, 0); err != nil || g.Bytes() != n {
		t.Errorf("%d bytes, %v", g.Bytes(), err)
	}
	if free(p, n) {
		t.Error("the addresses are free")
	}
	if err := g.Close(); err != nil || g.Bytes() != 0 || !free(p, n) {
		t.Errorf("after Close %d bytes are reserved, %v", g.Bytes(), err)
	}
	if p, err = unix.MmapPtr(-1, 0, nil, n, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON); err != nil {
		t.Fatal(err)
	}
	if err := g.Bury(p, n); err != nil || g.Bytes() != 0 {
		t.Errorf("what comes after Close stays: %v", err)
	}
}

// TestGraveyardMany: what is reserved takes a bounded number of mappings.
func TestGraveyardMany(t *testing.T) {
	var g mpool.Graveyard
	defer g.Close()
	for range 20_000 {
		p, err := unix.MmapPtr(-1, 0, nil, 4096, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON)
		if err == nil {
			err = g.Bury(p, 4096)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if n := g.Bytes(); n < 4096<<10 || n > 10_000*4096 {
		t.Errorf("%d bytes are reserved", n)
	}
}

// TestGraveyardRetry: reserved addresses go when there is no room otherwise, and only then.
func TestGraveyardRetry(t *testing.T) {
	var g mpool.Graveyard
	defer g.Close()
	calls, other := 0, errors.New("another reason")
	fails := func(err error, times int) func() error {
		calls = 0
		return func() error {
			if calls++; calls > times {
				return nil
			}
			return err
		}
	}
	bury := func() {
		p, err := unix.MmapPtr(-1, 0, nil, 4096, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON)
		if err == nil {
			err = g.Bury(p, 4096)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Retry(fails(unix.ENOMEM, 1)); !errors.Is(err, unix.ENOMEM) || calls != 1 {
		t.Errorf("with nothing reserved: %v after %d calls", err, calls)
	}
	bury()
	if err := g.Retry(fails(other, 1)); !errors.Is(err, other) || calls != 1 || g.Bytes() == 0 {
		t.Errorf("another error: %v after %d calls, %d bytes reserved", err, calls, g.Bytes())
	}
	if err := g.Retry(fails(unix.ENOMEM, 1)); err != nil || calls != 2 || g.Bytes() != 0 {
		t.Errorf("no room: %v after %d calls, %d bytes reserved", err, calls, g.Bytes())
	}
	bury()
	if err := g.Retry(fails(unix.ENOMEM, 2)); !errors.Is(err, unix.ENOMEM) || calls != 2 {
		t.Errorf("no room at all: %v after %d calls", err, calls)
	}
}

// free reports whether the kernel would give these addresses out.
func free(p unsafe.Pointer, n uintptr) bool {
	q, err := unix.MmapPtr(-1, 0, p, n, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_FIXED_NOREPLACE)
	if err != nil {
		return false
	}
	_ = unix.MunmapPtr(q, n)
	return q == p
}

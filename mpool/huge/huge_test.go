package huge

import (
	"errors"
	"slices"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mpool/mpooltest"
	"github.com/ompi-go/ompi-go/shm"
)

func TestConformance(t *testing.T) { mpooltest.Run(t, mpooltest.Config{Component: component{}}) }

// TestFallback: without huge pages there are ordinary ones, and the user is told; without either there is an error, and nothing is left
// reserved.
func TestFallback(t *testing.T) {
	o, said := mpooltest.Open(t, component{}, nil)
	p := o.(*pool)
	defer p.Close()
	none := false
	p.mmap = func(n, align int64, prot, flags int) (unsafe.Pointer, error) {
		if flags&unix.MAP_HUGETLB != 0 || none {
			return nil, unix.ENOMEM
		}
		return shm.MapAligned(n, align, prot, flags)
	}
	r, err := p.Alloc(3<<20, 1)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := r.Slice(0, 3<<20)
	b[0], b[3<<20-1] = 1, 2
	if uintptr(r.Base())%pageSize != 0 {
		t.Errorf("%p is no huge page", r.Base())
	}
	if err := r.Unref(); err != nil {
		t.Error(err)
	}
	if !slices.Equal(said.Keys, []string{"mpool-huge"}) {
		t.Errorf("said %q", said.Keys)
	}
	none = true
	if _, err := p.Alloc(1, 1); core.ClassOf(err) != core.ErrNoMem || !errors.Is(err, unix.ENOMEM) {
		t.Errorf("without memory: %v", err)
	}
	if got := p.graves.Bytes(); got != 4<<20 {
		t.Errorf("%d bytes are reserved, want those of the freed piece", got)
	}
	if pieces, bytes := p.Used(); pieces != 0 || bytes != 0 {
		t.Errorf("%d pieces of %d bytes are in use", pieces, bytes)
	}
}

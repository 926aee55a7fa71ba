package portals4

import (
	"testing"
	"unsafe"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/btl/btltest"
)

func BenchmarkBTL(b *testing.B) { btltest.Benchmark(b, config("local", nil)) }

// BenchmarkRegister is what a registration costs that is not kept for later: one entry linked and unlinked.
func BenchmarkRegister(b *testing.B) {
	w := btltest.NewWorld(b, config("local", nil), 2)
	r := w.Ranks[0]
	reg := r.Module.(btl.Registrar)
	mem := make([]byte, 1<<20)
	b.ReportAllocs()
	r.Do(func() {
		for b.Loop() {
			h, err := reg.Register(unsafe.Pointer(&mem[0]), int64(len(mem)))
			if err != nil {
				b.Fatal(err)
			}
			reg.Deregister(h)
		}
	})
}

package udp

import (
	"testing"

	"github.com/ompi-go/ompi-go/btl/btltest"
)

func BenchmarkLoopback(b *testing.B) {
	btltest.Benchmark(b, btltest.Config{Component: component{}, Params: map[string]string{"btl": "udp"}})
}

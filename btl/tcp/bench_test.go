package tcp

import (
	"testing"

	"github.com/ompi-go/ompi-go/btl/btltest"
)

func BenchmarkLoopback(b *testing.B) { btltest.Benchmark(b, btltest.Config{Component: component{}}) }

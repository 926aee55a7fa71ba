package tune

import (
	"fmt"

	"github.com/ompi-go/ompi-go/coll/alg"
	"github.com/ompi-go/ompi-go/ompi"
)

// memory is a rank's buffers, of numbers so that reductions have something to add.
type memory struct{ send, recv []float32 }

// A rank's buffers have so many bytes each, those of all ranks of a process together so many.
const rankMemory, processMemory = 8 << 20, 1 << 30

// room is the size of a rank's buffers. The largest size asked for always fits; operations that need as much for every rank leave out
// sizes that do not.
func (o *Options) room() int64 {
	return max(o.Max, min(rankMemory, processMemory/2/int64(max(1, o.Goroutines)))) / 4 * 4
}

// elements are how many numbers of a buffer an operation needs at a size.
func elements(k alg.Kind, ranks int, bytes int64) int64 {
	total := bytes
	switch k {
	case alg.Gather, alg.Scatter, alg.Allgather, alg.Allgatherv, alg.Alltoall, alg.Alltoallv, alg.Alltoallw, alg.ReduceScatterBlock:
		total *= int64(ranks)
	}
	return total / 4
}

// sized tells the operations of which a table knows the size on every rank; of others one size stands for all.
func sized(k alg.Kind) bool {
	switch k {
	case alg.Barrier, alg.Alltoallv, alg.Alltoallw:
		return false
	}
	return true
}

// call gives a closure that carries the operation out on c, at rank 0 as the root.
func (m *memory) call(c *ompi.Comm, p point, op *ompi.Op) (func() error, error) {
	n := c.Size()
	total := int(elements(p.kind, n, p.bytes))
	block := int(p.bytes / 4)
	whole, out := ompi.Slice(m.send[:total]), ompi.Slice(m.recv[:total])
	mine, its := ompi.Slice(m.send[:min(block, total)]), ompi.Slice(m.recv[:min(block, total)])
	counts := make([]int, n)
	for i := range counts {
		counts[i] = block
	}
	switch p.kind {
	case alg.Barrier:
		return c.Barrier, nil
	case alg.Bcast:
		return func() error { return c.Bcast(whole, 0) }, nil
	case alg.Reduce:
		return func() error { return c.Reduce(whole, out, op, 0) }, nil
	case alg.Allreduce:
		return func() error { return c.Allreduce(whole, out, op) }, nil
	case alg.Gather:
		return func() error { return c.Gather(mine, out, 0) }, nil
	case alg.Scatter:
		return func() error { return c.Scatter(whole, its, 0) }, nil
	case alg.Allgather:
		return func() error { return c.Allgather(mine, out) }, nil
	case alg.Allgatherv:
		return func() error { return c.Allgatherv(mine, out, counts, nil) }, nil
	case alg.Alltoall:
		return func() error { return c.Alltoall(whole, out) }, nil
	case alg.Alltoallv:
		return func() error { return c.Alltoallv(whole, counts, nil, out, counts, nil) }, nil
	case alg.Alltoallw:
		var ins, outs []ompi.Buffer
		for i := range n {
			outs = append(outs, ompi.Slice(m.send[i*block:(i+1)*block]))
			ins = append(ins, ompi.Slice(m.recv[i*block:(i+1)*block]))
		}
		return func() error { return c.Alltoallw(outs, ins) }, nil
	case alg.ReduceScatter:
		for i := range counts {
			counts[i] = total / n
			if i < total%n {
				counts[i]++
			}
		}
		return func() error { return c.ReduceScatter(whole, out, counts, op) }, nil
	case alg.ReduceScatterBlock:
		return func() error { return c.ReduceScatterBlock(whole, its, op) }, nil
	case alg.Scan:
		return func() error { return c.Scan(whole, out, op) }, nil
	case alg.Exscan:
		return func() error { return c.Exscan(whole, out, op) }, nil
	}
	return nil, fmt.Errorf("tune: no measurement for %s", p.kind)
}

package colltest

import (
	"math/rand/v2"

	"github.com/ompi-go/ompi-go/coll/alg"
	"github.com/ompi-go/ompi-go/core"
)

// alltoallw gives every pair of ranks a count, and every other one the types the other way round.
func (r *rankTest) alltoallw(ty *typePair, most int64, inPlace bool) {
	if r.skips(alg.Alltoallw) {
		return
	}
	key := r.next()
	between := r.between(key, most, inPlace)
	sends, recvs := make([]core.Buffer, r.n), make([]core.Buffer, r.n)
	var mem []*memory
	for i := range r.n {
		t := ty.send
		if (r.rank+i)%2 == 1 {
			t = ty.recv
		}
		out, in := newMemory(t, between(r.rank, i)), newMemory(t, between(i, r.rank))
		data := ty.data(out.count, key, r.rank, i)
		if inPlace {
			in.fill(0, in.count, data)
		} else {
			out.fill(0, out.count, data)
		}
		in.expect(0, in.count, ty.data(in.count, key, i, r.rank))
		sends[i], recvs[i] = out.buffer(), in.buffer()
		mem = append(mem, out, in)
	}
	if inPlace {
		sends = []core.Buffer{place()}
	}
	err := r.tbl.Alltoallw.Alltoallw(sends, recvs)
	for _, m := range mem {
		err = firstError(err, m.check())
	}
	r.done(err, "alltoallw of up to %d %s, in place %v", most, ty.name, inPlace)
}

// between is how much one rank sends to another; in place any two send each other the same.
func (r *rankTest) between(key int, most int64, inPlace bool) func(from, to int) int64 {
	return func(from, to int) int64 {
		if inPlace && from > to {
			from, to = to, from
		}
		rnd := rand.New(rand.NewPCG(uint64(key), uint64(from*r.n+to)))
		return max(0, rnd.Int64N(most+2)-1)
	}
}

// edge is one of a topology, as both of its ends know it. num tells those between the same two ranks apart; messages along them are
// matched in order.
type edge struct{ peer, num int }

// topology is a rank's neighbourhood.
type topology struct {
	sources, dests []edge
	cartesian      bool
}

// graph makes a directed graph in which two ranks have up to two edges, a rank perhaps one to itself. It is the same on all ranks.
func (r *rankTest) graph(key int) topology {
	var tp topology
	for from := range r.n {
		for to := range r.n {
			rnd := rand.New(rand.NewPCG(uint64(key), uint64(from*r.n+to)))
			edges := max(0, rnd.IntN(6)-3) // none in four of six cases, else one or two
			for k := range edges {
				if to == r.rank {
					tp.sources = append(tp.sources, edge{from, k})
				}
				if from == r.rank {
					tp.dests = append(tp.dests, edge{to, k})
				}
			}
		}
	}
	return tp
}

// ring is a Cartesian topology of one dimension: two entries, the negative direction first. What goes out in the negative direction is
// what the neighbour there has from the positive one.
func (r *rankTest) ring(periodic bool) topology {
	down, up := (r.rank-1+r.n)%r.n, (r.rank+1)%r.n
	if !periodic && r.rank == 0 {
		down = core.ProcNull
	}
	if !periodic && r.rank == r.n-1 {
		up = core.ProcNull
	}
	return topology{
		// num is the direction in which data travels: 0 up, 1 down.
		sources:   []edge{{down, 0}, {up, 1}},
		dests:     []edge{{down, 1}, {up, 0}},
		cartesian: true,
	}
}

// neighbors tries the neighbourhood operations on graphs and rings.
func (r *rankTest) neighbors(ty *typePair, most int64) {
	for _, tp := range []topology{r.graph(r.next()), r.ring(true), r.ring(false)} {
		for k := alg.NeighborAllgather; k <= alg.NeighborAlltoallw; k++ {
			r.neighbor(ty, most, k, &tp)
		}
	}
}

func (r *rankTest) neighbor(ty *typePair, most int64, k alg.Kind, tp *topology) {
	if r.skips(k) {
		return
	}
	key := r.next()
	gather := k == alg.NeighborAllgather || k == alg.NeighborAllgatherv
	equal := k == alg.NeighborAllgather || k == alg.NeighborAlltoall
	count := func(from, to, num int) int64 {
		if equal {
			return most
		}
		if gather {
			to, num = 0, 0
		}
		rnd := rand.New(rand.NewPCG(uint64(key), uint64((from*r.n+to)*4+num)))
		return rnd.Int64N(most + 1)
	}
	data := func(n int64, from, to, num int) []byte {
		if gather {
			to, num = all, 0
		}
		return noise(n*ty.send.Size(), key, from, to, num)
	}
	outs, ins := r.counted(tp.dests, func(e edge) int64 { return count(r.rank, e.peer, e.num) }),
		r.counted(tp.sources, func(e edge) int64 { return count(e.peer, r.rank, e.num) })
	rnd := rand.New(rand.NewPCG(uint64(key), uint64(r.rank)))
	sb, rb := layOut(outs, equal, rnd), layOut(ins, equal, rnd)
	send, recv := newMemory(ty.send, sb.span), newMemory(ty.recv, rb.span)
	a := alg.Args{Kind: k, Recv: recv.buffer(), RecvCounts: ins, RecvDispls: rb.displs, Cartesian: tp.cartesian}
	if gather {
		n := count(r.rank, 0, 0)
		send = newMemory(ty.send, n)
		send.fill(0, n, data(n, r.rank, 0, 0))
	}
	for i, e := range tp.dests {
		a.Dests = append(a.Dests, e.peer)
		if gather {
			continue
		}
		if e.peer != core.ProcNull {
			send.fill(sb.at(i), int64(outs[i]), data(int64(outs[i]), r.rank, e.peer, e.num))
		}
		a.Sends = append(a.Sends, send.part(sb.at(i), int64(outs[i])))
	}
	for i, e := range tp.sources {
		a.Sources = append(a.Sources, e.peer)
		if e.peer != core.ProcNull {
			recv.expect(rb.at(i), int64(ins[i]), data(int64(ins[i]), e.peer, r.rank, e.num))
		}
		a.Recvs = append(a.Recvs, recv.part(rb.at(i), int64(ins[i])))
	}
	a.Send, a.SendCounts, a.SendDispls = send.buffer(), outs, sb.displs
	err := r.tbl.Neighbor.Neighbor(&a)
	r.done(firstError(err, recv.check(), send.check()), "%s of %d %s, from %v to %v", k, most, ty.name, a.Sources, a.Dests)
}

// counted are the elements of the edges. To and from no one the block may have any size.
func (r *rankTest) counted(edges []edge, count func(e edge) int64) []int {
	out := make([]int, len(edges))
	for i, e := range edges {
		e.peer = max(e.peer, 0)
		out[i] = int(count(e))
	}
	return out
}

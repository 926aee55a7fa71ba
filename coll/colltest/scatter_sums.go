package colltest

import "github.com/ompi-go/ompi-go/coll/alg"

// Reduce-scatter and scans.

// spare is how many elements a receive buffer is longer than its data, where the data does not come from it.
func spare(inPlace bool) int64 {
	if inPlace {
		return 0
	}
	return 2
}

// sums tries reduce-scatter and the scans.
func (r *rankTest) sums(o *reduction, count int64) {
	for _, inPlace := range []bool{false, true} {
		r.reduceScatter(o, count, inPlace)
		r.reduceScatterBlock(o, count, inPlace)
		r.scan(o, count, inPlace)
		r.exscan(o, count, inPlace)
	}
}

// scattered is the memory of a reduce-scatter of total elements, of which mine from first on are this rank's. In place the input is in
// recv, behind whose block the content is undefined afterwards.
func (r *rankTest) scattered(o *reduction, total, first, mine int64, key int, inPlace bool) (send, recv *memory, check func() error) {
	own := o.operand(total, key, r.rank)
	send = newMemory(o.t, total)
	send.fill(0, total, own)
	recv = newMemory(o.t, mine+spare(false))
	if inPlace {
		recv = newMemory(o.t, total)
		recv.fill(0, total, own)
	}
	size := o.t.Size()
	result := r.result(o, total, key)[first*size : (first+mine)*size]
	recv.expect(0, mine, result)
	return send, recv, func() error {
		if inPlace && mine < total {
			rest := total - mine
			recv.expect(mine, rest, pack(recv.part(mine, rest)))
		}
		return recv.checkData()
	}
}

func (r *rankTest) reduceScatter(o *reduction, most int64, inPlace bool) {
	if r.skips(alg.ReduceScatter) {
		return
	}
	key := r.next()
	counts, _ := r.counts(most, key)
	total, first := int64(0), int64(0)
	for i, n := range counts {
		if i < r.rank {
			first += int64(n)
		}
		total += int64(n)
	}
	send, recv, check := r.scattered(o, total, first, int64(counts[r.rank]), key, inPlace)
	from := send.buffer()
	if inPlace {
		from = place()
	}
	err := r.tbl.ReduceScatter.ReduceScatter(from, recv.buffer(), counts, o.op)
	r.done(firstError(err, check(), send.check()), "reduce_scatter (%s) of %v, in place %v", o.name, counts, inPlace)
}

func (r *rankTest) reduceScatterBlock(o *reduction, count int64, inPlace bool) {
	if r.skips(alg.ReduceScatterBlock) {
		return
	}
	key := r.next()
	send, recv, check := r.scattered(o, count*int64(r.n), count*int64(r.rank), count, key, inPlace)
	from := send.buffer()
	if inPlace {
		from = place()
	}
	err := r.tbl.ReduceScatterBlock.ReduceScatterBlock(from, recv.buffer(), o.op)
	r.done(firstError(err, check(), send.check()), "reduce_scatter_block (%s) of %d, in place %v", o.name, count, inPlace)
}

func (r *rankTest) scan(o *reduction, count int64, inPlace bool) {
	if r.skips(alg.Scan) {
		return
	}
	key := r.next()
	own := o.operand(count, key, r.rank)
	send, recv := newMemory(o.t, count), newMemory(o.t, count+spare(inPlace))
	send.fill(0, count, own)
	from := send.buffer()
	if inPlace {
		from = place()
		recv.fill(0, count, own)
	}
	recv.expect(0, count, o.result(count, key, r.rank+1))
	err := r.tbl.Scan.Scan(from, recv.buffer(), o.op)
	r.done(firstError(err, recv.checkData(), send.check()), "scan (%s) of %d, in place %v", o.name, count, inPlace)
}

// exscan: at rank 0 the receive buffer stays as it is.
func (r *rankTest) exscan(o *reduction, count int64, inPlace bool) {
	if r.skips(alg.Exscan) {
		return
	}
	key := r.next()
	own := o.operand(count, key, r.rank)
	send, recv := newMemory(o.t, count), newMemory(o.t, count+spare(inPlace))
	send.fill(0, count, own)
	from := send.buffer()
	if inPlace {
		from = place()
		recv.fill(0, count, own)
	}
	if r.rank > 0 {
		recv.expect(0, count, o.result(count, key, r.rank))
	}
	err := r.tbl.Exscan.Exscan(from, recv.buffer(), o.op)
	r.done(firstError(err, recv.checkData(), send.check()), "exscan (%s) of %d, in place %v", o.name, count, inPlace)
}

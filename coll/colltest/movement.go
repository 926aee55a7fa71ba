package colltest

import "github.com/ompi-go/ompi-go/coll/alg"

// movements tries all operations that only move data.
func (r *rankTest) movements(ty *typePair) {
	for _, count := range r.elements(ty.long, ty.huge, 0, 1, 3) {
		for _, root := range r.roots(count) {
			r.bcast(ty, count, root)
			for _, inPlace := range []bool{false, true} {
				r.gather(ty, count, root, inPlace)
				r.scatter(ty, count, root, inPlace)
			}
		}
		for _, inPlace := range []bool{false, true} {
			r.allgather(ty, count, inPlace)
			r.alltoall(ty, count, inPlace)
		}
		if count > 1 && count != ty.huge {
			r.vectors(ty, count)
			if r.worth(count) {
				r.alltoallw(ty, count, false)
				r.alltoallw(ty, count, true)
				r.neighbors(ty, count)
			}
		}
	}
}

// data is what rank from sends to rank to in operation key.
func (ty *typePair) data(count int64, key, from, to int) []byte {
	return noise(count*ty.send.Size(), key, from, to)
}

// all stands for every receiver in the key of data.
const all = -1

func (r *rankTest) bcast(ty *typePair, count int64, root int) {
	if r.skips(alg.Bcast) {
		return
	}
	key := r.next()
	data := ty.data(count, key, root, all)
	t := ty.recv
	if r.rank == root || r.rank%2 == 1 {
		t = ty.send
	}
	m := newMemory(t, count)
	if r.rank == root {
		m.fill(0, count, data)
	}
	err := r.tbl.Bcast.Bcast(m.buffer(), root)
	m.expect(0, count, data)
	r.done(firstError(err, m.check()), "bcast of %d %s from %d", count, ty.name, root)
}

func (r *rankTest) gather(ty *typePair, count int64, root int, inPlace bool) {
	if r.skips(alg.Gather) {
		return
	}
	key := r.next()
	send := newMemory(ty.send, count)
	send.fill(0, count, ty.data(count, key, r.rank, root))
	from, to := send.buffer(), nowhere()
	recv := newMemory(ty.recv, count*int64(r.n))
	if r.rank == root {
		to = recv.buffer()
		for i := range r.n {
			recv.expect(int64(i)*count, count, ty.data(count, key, i, root))
		}
		if inPlace {
			from = place()
			recv.fill(int64(root)*count, count, ty.data(count, key, root, root))
		}
	}
	err := r.tbl.Gather.Gather(from, to, root)
	r.done(firstError(err, recv.check(), send.check()), "gather of %d %s to %d, in place %v", count, ty.name, root, inPlace)
}

func (r *rankTest) scatter(ty *typePair, count int64, root int, inPlace bool) {
	if r.skips(alg.Scatter) {
		return
	}
	key := r.next()
	from := nowhere()
	send := newMemory(ty.send, count*int64(r.n))
	recv := newMemory(ty.recv, count)
	to := recv.buffer()
	if r.rank == root {
		from = send.buffer()
		for i := range r.n {
			send.fill(int64(i)*count, count, ty.data(count, key, root, i))
		}
	}
	if r.rank == root && inPlace {
		to = place()
	} else {
		recv.expect(0, count, ty.data(count, key, root, r.rank))
	}
	err := r.tbl.Scatter.Scatter(from, to, root)
	r.done(firstError(err, recv.check(), send.check()), "scatter of %d %s from %d, in place %v", count, ty.name, root, inPlace)
}

func (r *rankTest) allgather(ty *typePair, count int64, inPlace bool) {
	if r.skips(alg.Allgather) {
		return
	}
	key := r.next()
	send := newMemory(ty.send, count)
	own := ty.data(count, key, r.rank, all)
	send.fill(0, count, own)
	recv := newMemory(ty.recv, count*int64(r.n))
	from := send.buffer()
	if inPlace {
		from = place()
		recv.fill(int64(r.rank)*count, count, own)
	}
	for i := range r.n {
		recv.expect(int64(i)*count, count, ty.data(count, key, i, all))
	}
	err := r.tbl.Allgather.Allgather(from, recv.buffer())
	r.done(firstError(err, recv.check(), send.check()), "allgather of %d %s, in place %v", count, ty.name, inPlace)
}

func (r *rankTest) alltoall(ty *typePair, count int64, inPlace bool) {
	if r.skips(alg.Alltoall) {
		return
	}
	key := r.next()
	send := newMemory(ty.send, count*int64(r.n))
	recv := newMemory(ty.recv, count*int64(r.n))
	from := send.buffer()
	if inPlace {
		from = place()
	}
	for i := range r.n {
		out := send
		if inPlace {
			out = recv
		}
		out.fill(int64(i)*count, count, ty.data(count, key, r.rank, i))
	}
	for i := range r.n {
		recv.expect(int64(i)*count, count, ty.data(count, key, i, r.rank))
	}
	err := r.tbl.Alltoall.Alltoall(from, recv.buffer())
	r.done(firstError(err, recv.check(), send.check()), "alltoall of %d %s, in place %v", count, ty.name, inPlace)
}

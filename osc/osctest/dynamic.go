package osctest

import (
	"math/rand/v2"

	"github.com/ompi-go/ompi-go/ompi"
)

func dynamicCases() []suite {
	return []suite{
		{"AttachSeveral", 0, testAttachSeveral, Dynamic},
		{"NotAttached", 2, testNotAttached, Dynamic},
		{"AttachErrors", 2, testAttachErrors, Dynamic},
		{"AttachRaces", 2, testAttachRaces, Dynamic},
	}
}

func (r *rank) dynamic() *ompi.Win {
	w, err := ompi.WinCreateDynamic(r.Comm)
	ok(err)
	return w
}

// addresses exchanges some of each rank.
func (r *rank) addresses(mine []ompi.Address) [][]int64 {
	in := make([]int64, len(mine))
	for k, a := range mine {
		in[k] = int64(a)
	}
	all := make([]int64, len(in)*r.n)
	ok(r.Allgather(ompi.Slice(in), ompi.Slice(all)))
	var by [][]int64
	for k := range r.n {
		by = append(by, all[k*len(in):(k+1)*len(in)])
	}
	return by
}

// testAttachSeveral: several pieces, attached and detached as time goes by; addresses can be computed with.
func testAttachSeveral(r *rank) {
	w := r.dynamic()
	const pieces = 12
	mem := make([][]int64, pieces)
	var at []ompi.Address
	attach := func(k int) ompi.Address {
		mem[k] = make([]int64, 1+k*5)
		a, err := w.Attach(ompi.Slice(mem[k]))
		ok(err)
		return a
	}
	for k := range pieces {
		at = append(at, attach(k))
	}
	for round := range 4 {
		all := r.addresses(at)
		ok(w.LockAll(0))
		peer := (r.me + 1 + round) % r.n
		for k := range pieces {
			last := int64(8 * k * 5)
			v := int64(100*round + 10*k + r.me)
			ok(w.Put(ompi.Value(&v), ompi.At(peer, all[peer][k]+last)))
			ok(w.FlushLocal(peer))
			one := int64(1)
			if k > 0 {
				ok(w.Accumulate(ompi.Value(&one), ompi.At(peer, all[peer][k]), ompi.Sum))
			}
		}
		ok(w.UnlockAll())
		r.barrier()
		from := (r.me - 1 - round + 8*r.n) % r.n
		ok(w.Lock(ompi.LockExclusive, r.me, 0))
		for k := range pieces {
			want := int64(100*round + 10*k + from)
			that(mem[k][k*5] == want, "round %d, piece %d: %d, want %d", round, k, mem[k][k*5], want)
		}
		ok(w.Unlock(r.me))
		for k := round % 3; k < pieces; k += 3 {
			ok(w.Detach(at[k]))
			if round%2 == 0 {
				at[k] = attach(k)
				continue
			}
			a, err := w.Attach(ompi.Slice(mem[k])) // the same memory again
			ok(err)
			that(a == at[k], "the same memory has another address")
		}
		r.barrier()
	}
	for _, a := range at[:pieces/2] {
		ok(w.Detach(a))
	}
	ok(w.Free()) // the others go with it
}

// testNotAttached: what is not attached is found out at the target; the call that closes the epoch, or the request, tells (ErrRMARange), and the window goes on.
func testNotAttached(r *rank) {
	w := r.dynamic()
	peer := 1 - r.me
	mem := make([]int64, 64)
	fill(bytesOf(mem), 3)
	want := append([]byte(nil), bytesOf(mem)...)
	a, err := w.Attach(ompi.Slice(mem[16:32]))
	ok(err)
	b, err := w.Attach(ompi.Slice(mem[40:48]))
	ok(err)
	all := r.addresses([]ompi.Address{a, b})
	for _, disp := range []int64{all[peer][0] - 8, all[peer][0] + 128, all[peer][0] + 124, all[peer][1] - 4, all[peer][1] + 64, all[peer][0] - 128, 0, 8} {
		v, old := int64(-1), int64(0)
		for kind := range 6 {
			ok(w.Lock(ompi.LockShared, peer, 0))
			at := ompi.At(peer, disp)
			switch kind {
			case 0:
				err = w.Put(ompi.Value(&v), at)
			case 1:
				err = w.Get(ompi.Value(&old), at)
			case 2:
				err = w.Accumulate(ompi.Value(&v), at, ompi.Sum)
			case 3:
				err = w.GetAccumulate(ompi.Value(&v), ompi.Value(&old), at, ompi.Sum)
			case 4:
				err = w.CompareAndSwap(ompi.Value(&v), ompi.Value(&v), ompi.Value(&old), at)
			case 5:
				err = w.FetchAndOp(ompi.Value(&v), ompi.Value(&old), at, ompi.Replace)
			}
			if err == nil {
				err = w.Flush(peer)
			}
			refused(err, ompi.ErrRMARange, "an operation on memory that is not attached")
			ok(w.Unlock(peer))
		}
		ok(w.Lock(ompi.LockExclusive, peer, 0))
		err = w.Put(ompi.Value(&v), ompi.At(peer, disp))
		if err == nil {
			err = w.Unlock(peer)
		} else {
			ok(w.Unlock(peer))
		}
		refused(err, ompi.ErrRMARange, "Unlock after a put to memory that is not attached")
	}
	// Two pieces are not one, though they be neighbours.
	ok(w.LockAll(0))
	in := make([]int64, 16)
	ok(w.Get(ompi.Slice(in), ompi.At(peer, all[peer][0])))
	ok(w.Flush(peer))
	same(bytesOf(in), want[128:256], "what is attached")
	ok(w.UnlockAll())
	r.barrier()
	same(bytesOf(mem), want, "memory attached and around")
	ok(w.Detach(a))
	r.barrier()
	ok(w.Lock(ompi.LockShared, peer, 0))
	err = w.Get(ompi.Slice(in), ompi.At(peer, all[peer][0]))
	if err == nil {
		err = w.Flush(peer)
	}
	refused(err, ompi.ErrRMARange, "an operation on memory that is detached")
	ok(w.Unlock(peer))
	r.barrier()
	ok(w.Free())
}

func testAttachErrors(r *rank) {
	w := r.dynamic()
	mem := make([]int64, 64)
	a, err := w.Attach(ompi.Slice(mem[16:32]))
	ok(err)
	_, err = w.Attach(ompi.Slice(mem[31:40]))
	refused(err, ompi.ErrRMAAttach, "memory that overlaps what is attached")
	_, err = w.Attach(ompi.Slice(mem[20:21]))
	refused(err, ompi.ErrRMAAttach, "memory inside of what is attached")
	_, err = w.Attach(ompi.Slice(mem))
	refused(err, ompi.ErrRMAAttach, "memory around what is attached")
	b, err := w.Attach(ompi.Slice(mem[32:40]))
	ok(err)
	that(w.Detach(a+8) != nil, "a piece is detached by an address inside it")
	ok(w.Detach(a))
	that(w.Detach(a) != nil, "a piece is detached twice")
	ok(w.Detach(b))
	r.barrier()
	ok(w.Free())
}

// testAttachRaces: the target attaches and detaches other pieces while operations are under way; those on what stays are not disturbed, and those on what
// goes succeed or fail with ErrRMARange.
func testAttachRaces(r *rank) {
	w := r.dynamic()
	rounds := counterRounds() * 3
	fixed := make([]int64, 16)
	moving := make([][]int64, 8)
	var at []ompi.Address
	a, err := w.Attach(ompi.Slice(fixed))
	ok(err)
	at = append(at, a)
	for k := range moving {
		moving[k] = make([]int64, 8)
		a, err := w.Attach(ompi.Slice(moving[k]))
		ok(err)
		at = append(at, a)
	}
	all := r.addresses(at)
	if r.me == 0 {
		rng := rand.New(rand.NewPCG(1, 2))
		for range rounds {
			k := rng.IntN(len(moving))
			ok(w.Detach(at[1+k]))
			ok(r.poke())
			a, err := w.Attach(ompi.Slice(moving[k]))
			ok(err)
			that(a == at[1+k], "the address of the same memory has changed")
		}
		r.barrier()
		ok(w.Lock(ompi.LockExclusive, 0, 0))
		that(fixed[3] == int64(rounds), "%d, want %d", fixed[3], rounds)
		ok(w.Unlock(0))
		ok(w.Free())
		return
	}
	late := 0
	for k := range rounds {
		one, old := int64(1), int64(-1)
		ok(w.Lock(ompi.LockShared, 0, 0))
		ok(w.FetchAndOp(ompi.Value(&one), ompi.Value(&old), ompi.At(0, all[0][0]+24), ompi.Sum))
		ok(w.Flush(0))
		that(old == int64(k), "fetched %d, want %d", old, k)
		err := w.Accumulate(ompi.Value(&one), ompi.At(0, all[0][1+k%len(moving)]+8), ompi.Sum)
		if err == nil {
			err = w.Flush(0)
		}
		if err != nil {
			refused(err, ompi.ErrRMARange, "a piece that comes and goes")
			late++
		}
		ok(w.Unlock(0))
	}
	r.log("%d of %d operations found their piece detached", late, rounds)
	r.barrier()
	ok(w.Free())
}

// poke lets the engine of this rank move.
func (r *rank) poke() error {
	_, _, err := r.Iprobe(ompi.AnySource, 12345)
	return err
}

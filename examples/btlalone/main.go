// Btlalone plays ping-pong with active messages over a BTL, without MPI: neither package ompi nor a PML is linked in. Rank 0 plays with
// every other rank in turn.
//
//	mpirun -n 2 --mca btl sm ./examples/btlalone
//	mpirun -n 2 --mca btl tcp ./examples/btlalone -n 20000
package main

import (
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/btl/btluse"
	_ "github.com/ompi-go/ompi-go/btl/sm" // the BTLs to choose from
	_ "github.com/ompi-go/ompi-go/btl/tcp"
	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/rte"
)

// ball is our tag. Those from btl.TagPML on would be MPI's, if it were here.
const ball btl.Tag = 1

func main() {
	rounds := flag.Int("n", 10_000, "rounds of each size")
	flag.Parse()
	if err := run(*rounds); err != nil {
		fmt.Fprintln(os.Stderr, "btlalone:", err)
		os.Exit(1)
	}
}

func run(rounds int) error {
	job, err := rte.Join(rte.Options{})
	if err != nil {
		return err
	}
	if job.Size() < 2 {
		return fmt.Errorf("the job has one rank; start it by mpirun -n 2")
	}
	reg, err := mca.NewRegistry()
	if err != nil {
		return err
	}
	params, err := mca.Load(reg, mca.DefaultInput())
	if err != nil {
		return err
	}
	p := &player{}
	p.Session, err = btluse.Open(btluse.Config{
		Job: job, Registry: reg, Params: params, SleepAfter: 20 * time.Millisecond,
		Handlers: map[btl.Tag]btl.Handler{ball: p},
	})
	if err != nil {
		return err
	}
	if err := p.play(job, rounds); err != nil {
		return err
	}
	if err := p.Close(); err != nil {
		return err
	}
	return job.Finalize()
}

// player is one rank: the handler of the ball and the condition that it is here.
type player struct {
	*btluse.Session
	came, seen uint64
	peer       int
	hdr, data  []byte
	bad        error
}

// Receive implements btl.Handler. Header and payload are valid during the call only.
func (p *player) Receive(peer int, hdr, payload []byte) {
	if len(hdr) != btl.InlineHeader || len(payload) > sizes[len(sizes)-1] {
		p.bad = fmt.Errorf("a message of %d+%d bytes from rank %d", len(hdr), len(payload), peer)
	} else {
		p.hdr, p.data = append(p.hdr[:0], hdr...), append(p.data[:0], payload...)
	}
	p.peer = peer
	p.came++
}

// Done implements progress.Cond.
func (p *player) Done() bool { return p.came > p.seen }

// next waits for the ball.
func (p *player) next() error {
	if err := p.Wait(p); err != nil {
		return err
	}
	p.seen++
	return p.bad
}

var sizes = []int{0, 8, 40, 256, 4096, 16384}

// play lets rank 0 serve and everybody else return what comes.
func (p *player) play(job rte.Job, rounds int) error {
	p.Engine.Lock()
	defer p.Engine.Unlock()
	if job.Rank() != 0 {
		for range rounds * len(sizes) {
			if err := p.next(); err != nil {
				return err
			}
			if err := p.Send(p.peer, ball, p.hdr, p.data); err != nil {
				return err
			}
		}
		return nil
	}
	for peer := 1; peer < job.Size(); peer++ {
		for _, n := range sizes {
			took, err := p.serve(peer, n, rounds)
			if err != nil {
				return err
			}
			way, err := p.Peer(peer)
			if err != nil {
				return err
			}
			fmt.Printf("rank %d over %s: %5d bytes %8.3f us\n", peer, way.Module.Name(), n, took.Seconds()*1e6/float64(2*rounds))
		}
	}
	return nil
}

// serve plays rounds of n bytes with a peer and checks what comes back.
func (p *player) serve(peer, n, rounds int) (time.Duration, error) {
	var hdr [btl.InlineHeader]byte
	data := make([]byte, n)
	start := time.Now()
	for i := range rounds {
		binary.LittleEndian.PutUint64(hdr[:], uint64(i))
		if n > 0 {
			data[n-1] = byte(i)
		}
		if err := p.Send(peer, ball, hdr[:], data); err != nil {
			return 0, err
		}
		if err := p.next(); err != nil {
			return 0, err
		}
		if p.peer != peer || string(p.hdr) != string(hdr[:]) || string(p.data) != string(data) {
			return 0, fmt.Errorf("round %d of %d bytes: something else came back from rank %d", i, n, p.peer)
		}
	}
	return time.Since(start), nil
}

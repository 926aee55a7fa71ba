package ompi_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ompi-go/ompi-go/ompi"
)

// counterOf reads one counter of this rank.
func counterOf(w *ompi.Comm, name string) uint64 {
	s, err := w.Instance().Pvars()
	if err != nil {
		return 0
	}
	var n uint64
	for _, v := range s.Read() {
		if v.Name == name {
			n += v.Value
		}
	}
	return n
}

// floodSizes are those of the messages, in turn; each begins with its number.
var floodSizes = []int{8, 1000, 8, 100, 4000, 8, 30_000}

const floodMessages = 140

// floodRank has all ranks send to rank 0, which for a while receives nothing but goes on otherwise: what it keeps meanwhile stays in the
// budget. Then it receives all, and nothing is lost or out of order.
func floodRank(w *ompi.Comm) error {
	const budget = 1 << 20
	other, err := w.Dup()
	if err != nil {
		return err
	}
	var reqs []ompi.Request
	if w.Rank() != 0 {
		for i := range floodMessages {
			b := make([]byte, floodSizes[i%len(floodSizes)])
			binary.LittleEndian.PutUint64(b, uint64(i))
			if i%50 == 49 {
				reqs = append(reqs, w.Issend(ompi.Slice(b), 0, i%3))
				continue
			}
			reqs = append(reqs, w.Isend(ompi.Slice(b), 0, i%3))
		}
	}
	for range 5 {
		sum, one := int64(0), int64(1)
		if err := errors.Join(other.Barrier(), other.Allreduce(ompi.Value(&one), ompi.Value(&sum), ompi.Sum)); err != nil || sum != int64(w.Size()) {
			return fmt.Errorf("sum %d, %w", sum, err)
		}
	}
	if w.Rank() == 0 {
		if n := counterOf(w, "ompi_pml_kept_highest_bytes_total"); n == 0 || n > budget+budget/10 {
			return fmt.Errorf("%d bytes were kept, the budget is %d", n, budget)
		}
		b := make([]byte, 40_000)
		for i := range floodMessages {
			for from := w.Size() - 1; from > 0; from-- {
				st, err := w.Recv(ompi.Slice(b), from, ompi.AnyTag)
				if err != nil {
					return err
				}
				if got := binary.LittleEndian.Uint64(b); got != uint64(i) || st.Tag != i%3 || int(st.Bytes()) != floodSizes[i%len(floodSizes)] {
					return fmt.Errorf("message %d of rank %d: number %d, %+v", i, from, got, st)
				}
			}
		}
		kept, released := counterOf(w, "ompi_pml_kept_bytes_total"), counterOf(w, "ompi_pml_released_bytes_total")
		if n := counterOf(w, "ompi_pml_kept_highest_bytes_total"); n > budget+budget/10 || kept == 0 || kept != released {
			return fmt.Errorf("%d bytes were kept at most, %d in all, %d released; the budget is %d", n, kept, released, budget)
		}
	}
	if err := ompi.WaitAll(reqs...); err != nil {
		return err
	}
	if err := errors.Join(other.Barrier(), other.Free()); err != nil {
		return err
	}
	if w.Rank() == 0 {
		fmt.Printf("flood of %d came\n", w.Size()-1)
	}
	return nil
}

// deepRank: rank 1 sends very many messages before the one that rank 0 wants first. MPI says that it must come, however little
// memory rank 0 is to use.
func deepRank(w *ompi.Comm) error { return deep(w, 100_000) }

func deep(w *ompi.Comm, many int) error {
	if raceEnabled {
		many /= 10
	}
	const a, b = 1, 2
	switch w.Rank() {
	case 1:
		reqs := make([]ompi.Request, 0, many+1)
		nums := make([]int64, many+1)
		for i := range nums {
			nums[i] = int64(i)
			tag := a
			if i == many {
				tag = b
			}
			reqs = append(reqs, w.Isend(ompi.Slice(nums[i:i+1]), 0, tag))
		}
		if err := ompi.WaitAll(reqs...); err != nil {
			return err
		}
	case 0:
		got := int64(-1)
		if _, err := w.Recv(ompi.Value(&got), 1, b); err != nil || got != int64(many) {
			return fmt.Errorf("got %d, %w", got, err)
		}
		for i := range many {
			if _, err := w.Recv(ompi.Value(&got), ompi.AnySource, a); err != nil || got != int64(i) {
				return fmt.Errorf("message %d: got %d, %w", i, got, err)
			}
		}
		if counterOf(w, "ompi_pml_credit_loans_total") == 0 {
			return errors.New("nothing was lent")
		}
		fmt.Println("all came")
	}
	return nil
}

// probeRank finds messages behind a flood by probes alone, one of them waiting and the others not.
func probeRank(w *ompi.Comm) error {
	const many = 2000
	if w.Rank() == 1 {
		var reqs []ompi.Request
		b := make([]byte, 600)
		for i := range 3 * many {
			tag := 1
			if i%many == many-1 {
				tag = 2 + i/many
			}
			reqs = append(reqs, w.Isend(ompi.Slice(b), 0, tag))
		}
		return ompi.WaitAll(reqs...)
	}
	for found := false; !found; {
		var err error
		if _, found, err = w.Iprobe(ompi.AnySource, 2); err != nil {
			return err
		}
	}
	if _, err := w.Probe(1, 3); err != nil {
		return err
	}
	m, _, err := w.Mprobe(1, 4)
	if err != nil {
		return err
	}
	b := make([]byte, 600)
	if _, err := m.Recv(ompi.Slice(b)); err != nil {
		return err
	}
	for range 3*many - 1 {
		if _, err := w.Recv(ompi.Slice(b), 1, ompi.AnyTag); err != nil {
			return err
		}
	}
	return nil
}

// leftRank frees a communicator on which more was sent than there is credit for, and nothing received.
func leftRank(w *ompi.Comm) error {
	for range 3 {
		c, err := w.Dup()
		if err != nil {
			return err
		}
		var reqs []ompi.Request
		if w.Rank() != 0 {
			for range 500 {
				reqs = append(reqs, c.Isend(ompi.Slice(make([]byte, 8)), 0, 1))
			}
		}
		if err := errors.Join(c.Free(), ompi.WaitAll(reqs...)); err != nil {
			return err
		}
	}
	return nil
}

// selfRank sends itself more than any budget with sends that block: the memory is its own.
func selfRank(w *ompi.Comm) error {
	const many = 5000
	b := make([]byte, 100)
	for i := range many {
		b[0] = byte(i)
		if err := w.Send(ompi.Slice(b), w.Rank(), 1); err != nil {
			return err
		}
	}
	for i := range many {
		if _, err := w.Recv(ompi.Slice(b), w.Rank(), 1); err != nil || b[0] != byte(i) {
			return fmt.Errorf("message %d: %d, %w", i, b[0], err)
		}
	}
	return nil
}

func tight(btl string, budget string) []string {
	return []string{"btl", "self," + btl, "pml_ob1_unexpected_bytes", budget}
}

func withParams(words []string) (opts []ompi.Option) {
	for i := 0; i < len(words); i += 2 {
		opts = append(opts, ompi.WithParam(words[i], words[i+1]))
	}
	return opts
}

// TestFlood: a rank that does not receive keeps within its budget; nothing is lost by that.
func TestFlood(t *testing.T) {
	aboutOb1(t)
	for _, btl := range []string{"sm", "tcp"} {
		n := 65
		if raceEnabled || btl == "tcp" {
			n = 17
		}
		words := tight(btl, "1m")
		t.Run(btl+"/goroutines", func(t *testing.T) { job(t, n, floodRank, withParams(words)...) })
		t.Run(btl+"/processes", func(t *testing.T) {
			if out := processes(t, min(n, 17), "flood", words, nil); !strings.Contains(out, "flood of ") {
				t.Errorf("the ranks say %q", out)
			}
		})
	}
}

func TestFloodOneself(t *testing.T) {
	aboutOb1(t)
	for _, n := range []int{1, 3} {
		job(t, n, selfRank, withParams(tight("sm", "64k"))...)
	}
}

// TestBehindFlood: what a receive or a probe waits for comes, however much lies before it.
func TestBehindFlood(t *testing.T) {
	aboutOb1(t)
	for _, btl := range []string{"sm", "tcp"} {
		words := tight(btl, "64k")
		t.Run(btl+"/goroutines", func(t *testing.T) {
			job(t, 2, func(w *ompi.Comm) error { return deep(w, 30_000) }, withParams(words)...)
		})
		if btl == "sm" {
			t.Run(btl+"/processes", func(t *testing.T) {
				if out := processes(t, 2, "deep", words, nil); !strings.Contains(out, "all came") {
					t.Errorf("the ranks say %q", out)
				}
			})
		}
		t.Run(btl+"/free", func(t *testing.T) { job(t, 4, leftRank, withParams(words)...) })
		t.Run(btl+"/probes", func(t *testing.T) { job(t, 2, probeRank, withParams(words)...) })
	}
}

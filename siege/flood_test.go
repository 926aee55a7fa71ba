package siege_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/ompi-go/ompi-go/ompi"
)

// floodRole: all ranks send args[0] messages of args[1] bytes to rank 0, which receives none of them until all have been sent that can be.
// It tells what it kept meanwhile, by ob1's account and by the kernel's, and then receives and checks everything.
func floodRole(world *ompi.Comm, args []string) error {
	count, err1 := strconv.Atoi(args[0])
	size, err2 := strconv.Atoi(args[1])
	other, err3 := world.Dup()
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	before, err := resident()
	if err != nil {
		return err
	}
	reqs := make([]ompi.Request, 0, count)
	if world.Rank() != 0 {
		all := make([]byte, count*size)
		for i := range count {
			b := all[i*size : (i+1)*size]
			binary.LittleEndian.PutUint64(b, uint64(i))
			reqs = append(reqs, world.Isend(ompi.Slice(b), 0, i%7))
		}
	}
	for range 3 { // rank 0 goes on with other things
		if err := other.Barrier(); err != nil {
			return err
		}
	}
	if world.Rank() == 0 {
		highest, err := counters(world, "ompi_pml_kept_highest_bytes_total")
		if err != nil {
			return err
		}
		loans, err := counters(world, "ompi_pml_credit_loans_total")
		if err != nil {
			return err
		}
		after, err := resident()
		if err != nil {
			return err
		}
		fmt.Printf("flood: sent %d bytes by %d ranks, kept %d, budget %s, resident grew by %d, %d loans\n",
			(world.Size()-1)*count*size, world.Size()-1, highest, budgetOf(world), after-before, loans)
		b := make([]byte, size)
		for i := range count {
			for from := 1; from < world.Size(); from++ {
				st, err := world.Recv(ompi.Slice(b), from, ompi.AnyTag)
				if err != nil {
					return err
				}
				if got := binary.LittleEndian.Uint64(b); got != uint64(i) || st.Tag != i%7 || int(st.Bytes()) != size {
					return fmt.Errorf("message %d of rank %d: number %d, %+v", i, from, got, st)
				}
			}
		}
	}
	if err := ompi.WaitAll(reqs...); err != nil {
		return err
	}
	return other.Free()
}

func budgetOf(world *ompi.Comm) string {
	for _, v := range world.Instance().Cvars() {
		if v.Name == "pml_ob1_unexpected_bytes" {
			return v.Get()
		}
	}
	return "?"
}

func counters(world *ompi.Comm, name string) (uint64, error) {
	s, err := world.Instance().Pvars()
	if err != nil {
		return 0, err
	}
	var n uint64
	for _, v := range s.Read() {
		if v.Name == name {
			n += v.Value
		}
	}
	return n, nil
}

// resident is this process's memory in bytes.
func resident() (int64, error) {
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	var size, pages int64
	_, err = fmt.Sscan(string(data), &size, &pages)
	return pages * int64(os.Getpagesize()), err
}

// TestFlood: senders that flood a rank which does not receive wait, and its memory stays within pml_ob1_unexpected_bytes.
func TestFlood(t *testing.T) {
	for _, c := range []struct {
		words       string
		count, size int
		budget      int64
	}{
		{"-n 65 --mca btl self,sm", 500, 64, 4 << 20},
		{"-n 9 --mca btl self,sm", 1000, 2000, 1 << 20},
		{"-n 9 --mca btl self,tcp", 1000, 2000, 1 << 20},
		{"-n 5 --mca btl self,sm --mca btl_sm_eager_limit 1m", 20, 200_000, 2 << 20},
	} {
		t.Run(c.words, func(t *testing.T) {
			words := fmt.Sprintf("%s --mca pml_ob1_unexpected_bytes %d", c.words, c.budget)
			j := mpirun(t, words, "flood", strconv.Itoa(c.count), strconv.Itoa(c.size))
			j.Run(0, `^flood: `)
			var sent, ranks, kept, budget, grown, loans int64
			text := j.Out.String()
			line := text[strings.Index(text, "flood: "):]
			if _, err := fmt.Sscanf(line, "flood: sent %d bytes by %d ranks, kept %d, budget %d, resident grew by %d, %d loans", &sent, &ranks, &kept, &budget, &grown, &loans); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			t.Log(strings.TrimSpace(line))
			if budget != c.budget || kept == 0 || kept > budget+budget/10 || ranks*int64(c.count*(448+c.size)) < 2*budget {
				t.Errorf("%s", line)
			}
		})
	}
}

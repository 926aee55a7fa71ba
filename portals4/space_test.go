package portals4

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"unsafe"

	"pgregory.net/rapid"
)

// TestSpaceModel holds a Space against a map of single bytes.
func TestSpaceModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		arena := make([]byte, 64)
		base := uint64(uintptr(unsafe.Pointer(&arena[0])))
		var s Space
		owner := make([]int, len(arena)) // of each byte the piece: its first index and 1
		for range rapid.IntRange(1, 30).Draw(rt, "steps") {
			at := rapid.IntRange(0, 63).Draw(rt, "at")
			n := rapid.IntRange(0, 64-at).Draw(rt, "n")
			switch rapid.IntRange(0, 2).Draw(rt, "what") {
			case 0:
				free := n > 0
				for k := at; k < at+n; k++ {
					free = free && owner[k] == 0
				}
				if err := s.Add(arena[at : at+n]); (err == nil) != free {
					rt.Fatalf("add [%d,+%d): %v, free: %v", at, n, err, free)
				}
				for k := at; free && k < at+n; k++ {
					owner[k] = at + 1
				}
			case 1:
				is := owner[at] == at+1
				if s.Remove(unsafe.Pointer(&arena[at])) != is {
					rt.Fatalf("remove %d: there was one: %v", at, is)
				}
				for k := at; is && k < 64 && owner[k] == at+1; k++ {
					owner[k] = 0
				}
			default:
				if n == 0 {
					continue
				}
				inside := owner[at] != 0
				for k := at; k < at+n; k++ {
					inside = inside && owner[k] == owner[at]
				}
				m, ok := s.find(base+uint64(at), uint64(n))
				if ok != inside {
					rt.Fatalf("find [%d,+%d): %v, want %v", at, n, ok, inside)
				}
				if ok {
					if b, whole := m.part(base+uint64(at), uint64(n)); !whole || &b[0] != &arena[at] || len(b) != n {
						rt.Fatalf("find [%d,+%d) gives other memory", at, n)
					}
				}
			}
		}
	})
}

// swapper is an operator that exchanges target and operand, bit by bit inverted, for operation 7.
type swapper struct{}

func (swapper) Operate(op uint64, target, operand []byte) bool {
	if op != 7 {
		return false
	}
	for i, b := range operand {
		target[i] = ^b
	}
	return true
}

// TestExtensions has one rank put into, get from and operate on a space of another, which has two entries of the same match bits.
func TestExtensions(t *testing.T) {
	for _, nal := range []string{"local", "tcp"} {
		t.Run(nal, func(t *testing.T) {
			mem := [2][]byte{make([]byte, 100<<10), make([]byte, 64)}
			addr := func(k, off int) uint64 { return uint64(uintptr(unsafe.Pointer(&mem[k][off]))) }
			together(t, 2, nal, func(i *Interface, rank int) error {
				ni, err := i.NI(Matching|PhysicalAddresses, AnyPID, nil)
				if err != nil {
					return err
				}
				if rank == 1 {
					pt, err := ni.PTAlloc(0, nil, 9)
					if err != nil {
						return err
					}
					for k := range mem {
						s := new(Space)
						if err := s.Add(mem[k]); err != nil {
							return err
						}
						if _, err := pt.MEAppend(&ME{Space: s, Operator: swapper{}, UID: AnyUID, MatchID: AnyProcess, MatchBits: 5, Options: OpPut | OpGet | MENoTruncate | AckSoon}, PriorityList, nil); err != nil {
							return err
						}
					}
				}
				if err := i.env.Job.Fence(); err != nil || rank == 1 {
					return errors.Join(err, i.env.Job.Fence())
				}
				err = initiate(i, ni, addr)
				return errors.Join(err, i.env.Job.Fence())
			})
		})
	}
}

func initiate(i *Interface, ni *NI, addr func(int, int) uint64) error {
	eq, err := ni.EQAlloc(16)
	if err != nil {
		return err
	}
	md, err := ni.MDBind(&MD{Anywhere: true, EQ: eq, Options: MDEventSendDisable})
	if err != nil {
		return err
	}
	x := Transfer{Ack: Ack, Target: ni.ProcessOf(1), PT: 9, MatchBits: 5}
	ends := func(err error, want FailType) error {
		if err != nil {
			return err
		}
		var ev Event
		if err := eq.Wait(&ev); err != nil || ev.NIFail != want {
			return fmt.Errorf("%v, %v, want %v", &ev, err, want)
		}
		return nil
	}
	long := bytes.Repeat([]byte("long"), 20<<10)
	for _, c := range []struct {
		data []byte
		at   uint64
		end  FailType
	}{
		{[]byte("eight by"), addr(0, 3), OK}, {[]byte("eight by"), addr(1, 56), OK}, {[]byte("eight by"), addr(1, 57), SegV}, {long, addr(0, 4096), OK}, {long, addr(0, 30<<10), SegV},
		{[]byte("x"), addr(0, 0) - 1, SegV},
	} {
		x.Mem, x.RemoteOffset = c.data, c.at
		if err := ends(md.Put(&x), c.end); err != nil {
			return err
		}
		back := make([]byte, len(c.data))
		x.Mem = back
		if err := ends(md.Get(&x), c.end); err != nil {
			return err
		}
		if c.end == OK && !bytes.Equal(back, c.data) {
			return fmt.Errorf("%d bytes came back otherwise", len(back))
		}
	}
	x.Mem, x.RemoteOffset, x.HdrData = []byte{1, 2, 3}, addr(1, 10), 7
	if err := ends(md.Atomic(&x, User, Uint8), OK); err != nil {
		return err
	}
	old := make([]byte, 3)
	x.Mem = []byte{4, 5, 6}
	if err := ends(md.FetchAtomic(&x, &Into{MD: md, Mem: old}, User, Uint8), OK); err != nil {
		return err
	}
	now := make([]byte, 3) // over tcp this rank is not told when it may look at the other's memory itself
	x.Mem = now
	if err := ends(md.Get(&x), OK); err != nil {
		return err
	}
	if want := []byte{^byte(1), ^byte(2), ^byte(3)}; !bytes.Equal(old, want) || !bytes.Equal(now, []byte{^byte(4), ^byte(5), ^byte(6)}) {
		return fmt.Errorf("the operator was given or gave %v, %v", old, now)
	}
	x.HdrData = 8
	if err := ends(md.Atomic(&x, User, Uint8), OpViolation); err != nil {
		return err
	}
	if err := md.Atomic(&x, User, Int32); !errors.Is(err, ErrArgInvalid) {
		return fmt.Errorf("on another type: %v", err)
	}
	return nil
}

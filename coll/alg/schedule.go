package alg

import (
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
)

// StepKind is what a step of a schedule does.
type StepKind uint8

// Steps.
const (
	StepSend     StepKind = iota // start to send Buf to Peer
	StepRecv                     // start to receive Buf from Peer
	StepWait                     // everything started is complete
	StepWaitSend                 // the send before it is complete
	StepCopy                     // Buf = From
	StepApply                    // Buf = From op Buf
)

// Step is one entry of a schedule.
type Step struct {
	Kind   StepKind
	Remote bool // Peer is a rank of the remote group, of an intercommunicator
	Peer   int
	Buf    core.Buffer
	From   core.Buffer
	Op     *core.Op
}

// Schedule is a recorded operation of one rank: steps in order, on buffers that are fixed. It can be run any number of times.
type Schedule struct {
	Steps     []Step
	Algorithm *Algorithm
	err       error
	waited    int // Steps[waited:] has no wait
	scratch   [3]scratch
	call      Call // while it is recorded
}

func (s *Schedule) add(st Step) { s.Steps = append(s.Steps, st) }

// wait adds a wait, unless nothing has been started since the last.
func (s *Schedule) wait() {
	for _, st := range s.Steps[s.waited:] {
		if st.Kind <= StepRecv {
			s.add(Step{Kind: StepWait})
			break
		}
	}
	s.waited = len(s.Steps)
}

// Record writes down what algorithm g does with a at this rank of c. The schedule's memory is that of into, if not nil, which must
// not be running. An error says why there is none.
func Record(into *Schedule, g *Algorithm, a *Args, c *core.Comm) (*Schedule, error) {
	return record(into, g, a, c.MyRank, c.Size(), c.Peers())
}

func record(into *Schedule, g *Algorithm, a *Args, rank, size, peers int) (*Schedule, error) {
	if into == nil {
		into = new(Schedule)
	}
	clear(into.Steps)
	into.Steps, into.waited, into.err, into.Algorithm = into.Steps[:0], 0, nil, g
	ints := into.call.ints[:0]
	into.call = Call{rank: rank, size: size, peers: peers, args: *a, rec: into, ints: ints}
	g.Run(&into.call, &into.call.args)
	into.wait()
	into.call.args = Args{}
	return into, into.err
}

// Forget drops the references to the user's memory and scratch memory above limit bytes.
func (s *Schedule) Forget(limit int64) {
	clear(s.Steps)
	s.Steps = s.Steps[:0]
	for i := range s.scratch {
		s.scratch[i].trim(limit)
	}
}

// Traffic is what one rank sends in one operation.
type Traffic struct {
	Messages, Bytes int64
}

func (t *Traffic) count(b core.Buffer) {
	t.Messages++
	t.Bytes += b.Bytes()
}

// weightless is a byte that takes no room: buffers of it stand for data where there is none.
var weightless = func() *datatype.Type {
	t, err := datatype.Resized(datatype.Byte, 0, 0)
	if err != nil {
		panic(err)
	}
	return t
}()

// Weightless is a buffer of n bytes for Count: without memory, however large.
func Weightless(n int64) core.Buffer { return core.MakeBuffer(nil, n, weightless) }

// Count tells what a rank of size ranks would send: nothing happens. Buffers of a are Weightless.
func Count(g *Algorithm, a *Args, rank, size int) Traffic {
	var t Traffic
	call := Call{rank: rank, size: size, args: *a, traffic: &t}
	g.Run(&call, &call.args)
	return t
}

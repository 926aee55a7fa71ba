package ompi_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ompi-go/ompi-go/ompi"
)

var (
	seedFlag  = flag.Uint64("metamorphic.seed", 0, "seed of the random program; 0: a new one")
	stepsFlag = flag.Int("metamorphic.steps", 0, "steps of the random program; 0: 40, 12 under the race detector")
)

const (
	programRanks = 4
	programVar   = "OMPI_GO_METAMORPHIC" // seed and steps for ranks that are processes
)

// TestMetamorphic runs one random program over every transport, with every kind of eager limit and by every protocol, in goroutines and in processes.
// The results must be equal. Each run checks what it receives, too.
func TestMetamorphic(t *testing.T) {
	p := program{seed: *seedFlag, steps: *stepsFlag}
	if p.steps == 0 {
		if p.steps = 40; raceEnabled {
			p.steps = 12
		}
	}
	if p.seed == 0 {
		p.seed = uint64(time.Now().UnixNano())
	}
	t.Logf("repeat with -run TestMetamorphic -metamorphic.seed=%d -metamorphic.steps=%d", p.seed, p.steps)
	first, where := uint64(0), ""
	compare := func(t *testing.T, name string, digest uint64) {
		switch {
		case where == "":
			first, where = digest, name
		case digest != first:
			t.Errorf("seed %d: result %016x over %s, %016x over %s", p.seed, digest, name, first, where)
		}
	}
	for _, way := range metamorphicWays() {
		name, params := way.name, way.params
		t.Run(name+" goroutines", func(t *testing.T) {
			var digest atomic.Uint64
			var opts []ompi.Option
			for i := 0; i < len(params); i += 2 {
				opts = append(opts, ompi.WithParam(params[i], params[i+1]))
			}
			job(t, programRanks, func(w *ompi.Comm) error {
				d, err := p.run(w)
				if w.Rank() == 0 {
					digest.Store(d)
				}
				return err
			}, opts...)
			compare(t, name+" goroutines", digest.Load())
		})
		t.Run(name+" processes", func(t *testing.T) {
			out := processes(t, programRanks, "metamorphic", params, []string{fmt.Sprintf("%s=%d,%d", programVar, p.seed, p.steps)})
			d, err := strconv.ParseUint(strings.TrimSpace(out), 16, 64)
			if err != nil {
				t.Fatalf("the ranks say %q", out)
			}
			compare(t, name+" processes", d)
		})
		if t.Failed() {
			return // the others would most likely say the same, slowly
		}
	}
}

// metamorphicWay is a way for messages: parameters and their values in turn.
type metamorphicWay struct {
	name   string
	params []string
}

// metamorphicWays are transports, limits and protocols, of every PML.
func metamorphicWays() (all []metamorphicWay) {
	for _, btl := range []string{"sm", "tcp", "sm-copy"} {
		for _, eager := range []string{"0", "1", "", "1m", "poor"} {
			params := []string{"pml", "ob1", "btl", "self," + strings.TrimSuffix(btl, "-copy")}
			switch eager {
			case "":
			case "poor": // as little credit as can be
				params = append(params, "pml_ob1_unexpected_bytes", "1")
			default:
				params = append(params, "btl_self_eager_limit", eager, "btl_"+strings.TrimSuffix(btl, "-copy")+"_eager_limit", eager)
			}
			if btl == "sm-copy" {
				params = append(params, "btl_sm_single_copy_mechanism", "none", "btl_sm_rndv_eager_limit", "4k", "btl_sm_fifo_size", "8")
			}
			all = append(all, metamorphicWay{fmt.Sprintf("%s eager %q", btl, eager), params})
		}
	}
	for _, wish := range []string{"rndv", "rget", "put", "pipeline", "coop"} {
		all = append(all, metamorphicWay{"sm " + wish, []string{"pml", "ob1", "btl", "self,sm", "pml_ob1_protocol", wish, "btl_sm_rdma_pipeline_frag_size", "4k", "btl_self_rdma_pipeline_frag_size", "1k"}})
	}
	for _, words := range []string{
		"",
		"portals4_nal tcp",
		"portals4_nal udp",
		"mtl_portals4_long_protocol rndv",
		"mtl_portals4_long_protocol rndv mtl_portals4_short_limit 16 mtl_portals4_eager_limit 8",
		"mtl_portals4_long_protocol triggered mtl_portals4_short_limit 64 mtl_portals4_eager_limit 64",
		"mtl_portals4_match_bits 4/12/24/24 mtl_portals4_use_logical true mtl_portals4_max_msg_size 5000",
		"mtl_portals4_flow_control recovery mtl_portals4_short_recv_num 2 mtl_portals4_short_recv_size 8k",
	} {
		all = append(all, metamorphicWay{"cm " + words, append([]string{"pml", "cm"}, strings.Fields(words)...)})
	}
	return all
}

// metamorphicRank is a rank that is a process.
func metamorphicRank(w *ompi.Comm) error {
	var p program
	if _, err := fmt.Sscanf(os.Getenv(programVar), "%d,%d", &p.seed, &p.steps); err != nil {
		return err
	}
	d, err := p.run(w)
	if err == nil && w.Rank() == 0 {
		fmt.Printf("%016x\n", d)
	}
	return err
}

// program is a random MPI program. All ranks draw the same plan from the same seed.
type program struct {
	seed  uint64
	steps int
}

func newPlan(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// player is a rank that performs it.
type player struct {
	w      *ompi.Comm
	plan   *rand.Rand
	id     int // messages planned so far
	digest uint64
}

// run performs the program and folds what all ranks received into one number.
func (p program) run(w *ompi.Comm) (uint64, error) {
	x := &player{w: w, plan: newPlan(p.seed), digest: 14695981039346656037, id: 10} // steps that name their sources have tags below
	if err := w.Instance().AttachBuffer(make([]byte, 1<<20)); err != nil {
		return 0, err
	}
	for step := range p.steps {
		if err := x.step(); err != nil {
			return 0, fmt.Errorf("seed %d step %d: %w", p.seed, step, err)
		}
	}
	if _, err := w.Instance().DetachBuffer(); err != nil {
		return 0, err
	}
	all := make([]uint64, w.Size())
	if err := w.Allgather(ompi.Slice([]uint64{x.digest}), ompi.Slice(all)); err != nil {
		return 0, err
	}
	for _, d := range all {
		x.add(d)
	}
	return x.digest, nil
}

func (x *player) step() error {
	type act struct {
		name string
		do   func() error
	}
	acts := []act{
		{"batch", func() error { return x.batch(x.w) }},
		{"batch", func() error { return x.batch(x.w) }},
		{"batch", func() error { return x.batch(x.w) }},
		{"pairs", x.pairs},
		{"collective", func() error { return x.collective(x.w) }},
		{"split", x.split},
		{"persistent", x.persistent},
		{"shift", x.shift},
		{"partitioned", x.partitioned},
		{"swaps", x.swaps},
	}
	a := acts[x.plan.IntN(len(acts))]
	if err := a.do(); err != nil {
		return fmt.Errorf("%s: %w", a.name, err)
	}
	return nil
}

func (x *player) add(v uint64) {
	for range 8 {
		x.digest = (x.digest ^ v&0xff) * 1099511628211
		v >>= 8
	}
}

func (x *player) addBytes(b []byte) {
	for _, v := range b {
		x.digest = (x.digest ^ uint64(v)) * 1099511628211
	}
}

// size draws a size in bytes around those at which protocols change.
func (x *player) size() int {
	sizes := []int{0, 1, 7, 8, 39, 40, 41, 100, 256, 257, 1000, 4080, 4096, 16367, 16368, 16369, 32745, 65520, 65521, 70_000, 262_144, 300_001}
	return sizes[x.plan.IntN(len(sizes))]
}

func fillMessage(b []byte, id int) {
	v := uint64(id)*0x9e3779b97f4a7c15 + 1
	for i := range b {
		v ^= v << 13
		v ^= v >> 7
		v ^= v << 17
		b[i] = byte(v)
	}
}

// checkMessage takes a received message into the digest.
func (x *player) checkMessage(m *message, st ompi.Status, got []byte) error {
	want := make([]byte, m.size)
	fillMessage(want, m.id)
	if st.Source != m.from || st.Tag != m.tag || st.Bytes() != int64(m.size) || string(got[:m.size]) != string(want) {
		return fmt.Errorf("message %d (%d -> %d, tag %d, %d bytes) came as %+v with the right data: %v",
			m.id, m.from, m.to, m.tag, m.size, st, string(got[:m.size]) == string(want))
	}
	x.add(uint64(st.Source)<<32 | uint64(st.Tag))
	x.addBytes(got[:m.size])
	return nil
}

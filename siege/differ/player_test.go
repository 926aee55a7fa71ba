package differ

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/ompi"
)

// player interprets a program at one rank, as testdata/differ.c does; each function here has its like there.
type player struct {
	ctx     context.Context
	out     *bufio.Writer
	world   *ompi.Comm
	step    uint32
	comms   [slots + 8]*ompi.Comm
	sides   [slots + 8]int // this rank's group, of those between two
	matrix  *ompi.Op
	later   []*job
	line    []string
	failure error // of the words of this line
}

const guard = 64

func play(ctx context.Context, world *ompi.Comm, text string, to io.Writer) (err error) {
	x := &player{ctx: ctx, out: bufio.NewWriter(to), world: world, matrix: ompi.NewOp(false, multiply)}
	x.comms[0] = world
	if err := world.Instance().AttachBuffer(make([]byte, 8<<20)); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.out.Flush()) }()
	for line := range strings.Lines(text) {
		x.line = strings.Fields(line)
		if len(x.line) == 0 || x.line[0][0] == '#' {
			continue
		}
		if err := x.run(); err != nil {
			return fmt.Errorf("step %s: %w", strings.TrimSpace(line), err)
		}
	}
	if err := x.finishAll(); err != nil {
		return err
	}
	x.say("end\n")
	for _, c := range slices.Backward(x.comms[1:]) {
		if c != nil {
			if err := c.Free(); err != nil {
				return err
			}
		}
	}
	_, err = world.Instance().DetachBuffer()
	return err
}

func (x *player) run() error {
	x.step = uint32(x.number())
	slot := x.number()
	c := x.comms[slot]
	name := x.word()
	if c == nil {
		return nil
	}
	if done, err := x.collective(c, slot, name); done || err != nil {
		return err
	}
	if err := x.finishAll(); err != nil {
		return err
	}
	x.say("%d", x.step)
	var err error
	switch name {
	case "p2p":
		err = x.batch(c)
	case "exchange":
		err = x.exchange(c)
	case "dims":
		err = x.dims()
	case "cart", "cartsub", "graph", "dgraph":
		err = x.topology(c, name)
	case "inter", "merge", "redup", "trade":
		err = x.inter(c, slot, name)
	case "type", "pack", "external":
		err = x.local(name)
	default:
		err = x.communicators(c, slot, name)
	}
	x.say("\n")
	return errors.Join(err, x.failure, x.out.Flush())
}

// ---- words ----

func (x *player) word() string {
	if len(x.line) == 0 {
		x.failure = errors.New("the line ends early")
		return "0"
	}
	w := x.line[0]
	x.line = x.line[1:]
	return w
}

func (x *player) number() int {
	n, err := strconv.Atoi(x.word())
	if err != nil {
		x.failure = err
	}
	return n
}

func (x *player) flag() bool { return x.number() != 0 }

func (x *player) numbers(n int) []int {
	v := make([]int, n)
	for i := range v {
		v[i] = x.number()
	}
	return v
}

func (x *player) addresses(n int) []int64 {
	v := make([]int64, n)
	for i := range v {
		v[i] = int64(x.number())
	}
	return v
}

// typ reads a type; the arguments of the constructors come in their order.
func (x *player) typ() *datatype.Type {
	t, err := x.oneType()
	if err != nil {
		x.failure = err
		return datatype.Byte
	}
	return t
}

func (x *player) oneType() (*datatype.Type, error) {
	switch w := x.word(); w {
	case "i":
		return datatype.Int32, nil
	case "l":
		return datatype.Int64, nil
	case "b":
		return datatype.Uint8, nil
	case "d":
		return datatype.Float64, nil
	case "dup":
		return x.typ().Dup(), nil
	case "cont":
		return datatype.Contiguous(x.number(), x.typ())
	case "vec":
		n, bl, stride := x.number(), x.number(), x.number()
		return datatype.Vector(n, bl, stride, x.typ())
	case "hvec":
		n, bl, stride := x.number(), x.number(), x.number()
		return datatype.HVector(n, bl, int64(stride), x.typ())
	case "idx":
		n := x.number()
		lens, displs := x.numbers(n), x.numbers(n)
		return datatype.Indexed(lens, displs, x.typ())
	case "hidx":
		n := x.number()
		lens, displs := x.numbers(n), x.addresses(n)
		return datatype.HIndexed(lens, displs, x.typ())
	case "ib":
		n, bl := x.number(), x.number()
		displs := x.numbers(n)
		return datatype.IndexedBlock(bl, displs, x.typ())
	case "hib":
		n, bl := x.number(), x.number()
		displs := x.addresses(n)
		return datatype.HIndexedBlock(bl, displs, x.typ())
	case "str":
		n := x.number()
		lens, displs, types := x.numbers(n), x.addresses(n), make([]*datatype.Type, n)
		for i := range types {
			types[i] = x.typ()
		}
		return datatype.Struct(lens, displs, types)
	case "res":
		lb, extent := x.number(), x.number()
		return datatype.Resized(x.typ(), int64(lb), int64(extent))
	case "sub":
		n := x.number()
		sizes, subs, starts, order := x.numbers(n), x.numbers(n), x.numbers(n), datatype.Order(x.number())
		return datatype.Subarray(sizes, subs, starts, order, x.typ())
	case "dar":
		size, rank, n := x.number(), x.number(), x.number()
		sizes, kinds, args, procs := x.numbers(n), x.numbers(n), x.numbers(n), x.numbers(n)
		dists := make([]datatype.Distribution, n)
		for i, k := range kinds {
			dists[i] = []datatype.Distribution{datatype.Block, datatype.Cyclic, datatype.None}[k]
			if args[i] < 0 {
				args[i] = datatype.DefaultArg
			}
		}
		order := datatype.Order(x.number())
		return datatype.Darray(size, rank, sizes, dists, args, procs, order, x.typ())
	default:
		return nil, fmt.Errorf("no such type: %q", w)
	}
}

// ---- memory ----

// area is memory for elements of a type, with guards.
type area struct {
	mem  []byte
	base int
}

func noise(v uint32) uint32 {
	v ^= v >> 16
	v *= 0x7feb352d
	v ^= v >> 15
	v *= 0x846ca68b
	return v ^ v>>16
}

func (x *player) area(t *datatype.Type, count int, salt int) area {
	_, extent := t.Extent()
	first, span := t.TrueExtent()
	var lo, hi int64
	if count > 0 {
		lo = min(first, 0)
		hi = max(int64(count-1)*extent+first+span, 0)
	}
	before := (guard - lo + 15) / 16 * 16
	a := area{make([]byte, before+hi+guard), int(before)}
	seed := noise(x.step*64 + uint32(x.world.Rank())*8 + uint32(salt))
	for i := range a.mem {
		if i%4 == 0 {
			seed = seed*1664525 + 1013904223
		}
		a.mem[i] = byte(seed >> (8 + 4*(i%4)))
	}
	return a
}

func (a area) of(t *datatype.Type, count int) ompi.Buffer {
	return ompi.TypedAt(a.mem, a.base, count, t)
}

// block is count elements at bytes from the base; an empty one may be said to lie behind the end.
func (a area) block(bytes int, t *datatype.Type, count int) ompi.Buffer {
	return ompi.TypedAt(a.mem, min(a.base+bytes, len(a.mem)-1), count, t)
}

// ---- steps under way ----

type job struct {
	step       uint32
	request    ompi.Request
	persistent bool
	areas      []area
	kind       []byte   // whose padding does not count
	skip       [][2]int // bytes from the base that do not count
}

func (x *player) say(format string, args ...any) { fmt.Fprintf(x.out, format, args...) }

func (x *player) sayArea(a area) { x.say(" %08x", crc32.ChecksumIEEE(a.mem)) }

func (j *job) own(a area, kind byte) area {
	j.areas = append(j.areas, a)
	j.kind = append(j.kind, kind)
	j.skip = append(j.skip, [2]int{})
	return a
}

func (a area) scrub(kind byte) {
	if kind == 'D' || kind == 'L' {
		for at := a.base; at+16 <= len(a.mem); at += 16 {
			clear(a.mem[at+12 : at+16])
		}
	}
}

func (x *player) finish(j *job) error {
	if _, err := j.request.WaitContext(x.ctx); err != nil {
		return fmt.Errorf("step %d: %w", j.step, err)
	}
	if j.persistent {
		if err := j.request.Free(); err != nil {
			return err
		}
	}
	x.say("%d", j.step)
	for i, a := range j.areas {
		clear(a.mem[a.base+j.skip[i][0] : a.base+max(j.skip[i][0], j.skip[i][1])])
		a.scrub(j.kind[i])
		x.sayArea(a)
	}
	x.say("\n")
	return x.out.Flush()
}

func (x *player) finishAll() error {
	for len(x.later) > 0 {
		j := x.later[len(x.later)-1]
		x.later = x.later[:len(x.later)-1]
		if err := x.finish(j); err != nil {
			return err
		}
	}
	return nil
}

// call is a collective in a mode: blocking, started, persistent, finished later.
func (j *job) call(mode int, block func() error, start, setUp func() ompi.Request) error {
	switch mode {
	case 0:
		return block()
	case 2:
		j.request, j.persistent = setUp(), true
		return j.request.Start()
	}
	j.request = start()
	return nil
}

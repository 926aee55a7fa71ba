package ob1

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/btl/btltest"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/pml"
	"github.com/ompi-go/ompi-go/progress"
)

var update = flag.Bool("update", false, "write the transcripts in testdata anew")

// TestScripts runs testdata/*.txt. A line that starts with "> " is a command, "#" a comment; what follows a command is its
// transcript: frames sent, memory read, requests completed. Commands are in run below.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			p := &player{t: t, named: map[string]*op{}, msgs: map[string]pml.Message{}}
			for line := range strings.Lines(string(want)) {
				line = strings.TrimSuffix(line, "\n")
				switch {
				case strings.HasPrefix(line, "> "):
					fmt.Fprintln(&p.out, line)
					p.command(line[2:])
				case line == "" || line[0] == '#':
					fmt.Fprintln(&p.out, line)
				}
			}
			p.end()
			if *update {
				if err := os.WriteFile(name, p.out.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got := p.out.String(); got != string(want) {
				t.Errorf("%s differs:\n%s", name, difference(string(want), got))
			}
		})
	}
}

// difference shows where two texts part.
func difference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := 0; i < len(w) || i < len(g); i++ {
		at := func(l []string) string {
			if i < len(l) {
				return l[i]
			}
			return "(end)"
		}
		if at(w) != at(g) {
			return fmt.Sprintf("line %d\n  want %s\n  have %s", i+1, at(w), at(g))
		}
	}
	return ""
}

// player performs a script.
type player struct {
	t     *testing.T
	out   bytes.Buffer
	w     *world
	pw    *pathWorld // of worlds with two paths; else nil
	begun map[string]func(error)
	ops   []*op
	named map[string]*op
	msgs  map[string]pml.Message
	seq   int
}

// op is a request of the script.
type op struct {
	name  string
	rank  int
	r     *core.Request
	mem   *memory
	send  bool
	told  bool
	probe *probe
}

// args are the words of a command.
type args struct {
	rank  int
	verb  string
	words map[string]string
}

func (p *player) command(line string) {
	f := strings.Fields(line)
	a := args{rank: -1, words: map[string]string{}}
	if n, err := strconv.Atoi(f[0]); err == nil {
		a.rank, f = n, f[1:]
	}
	a.verb = f[0]
	for _, w := range f[1:] {
		k, v, _ := strings.Cut(w, "=")
		a.words[k] = v
	}
	p.run(a)
	p.tell()
}

func (a args) has(k string) bool { _, ok := a.words[k]; return ok }

func (a args) num(k string, def int) int {
	switch v := a.words[k]; v {
	case "":
		return def
	case "any":
		if k == "tag" {
			return core.AnyTag
		}
		return core.AnySource
	default:
		n, err := strconv.Atoi(v)
		if err != nil {
			panic(fmt.Sprintf("%s: %s=%s", a.verb, k, v))
		}
		return n
	}
}

var modes = map[string]pml.Mode{"": pml.Standard, "sync": pml.Synchronous, "ready": pml.Ready}

// run performs one command.
//
//	world n= [eager= rndv= frag= inline= get= put= pipe= pipesend= pipefrag= shared= depth= recvdepth= protocol=] [gets] [puts] [slow] [later|hold] [checksum[=R]] [big=R] [budget= first=]
//	world paths [eager= rndv= frag= inline=] [eager2=] [gets] [checksum]: two paths, their completions later; path=2 below means the second
//	R isend to= tag= size= [mode=] [vector] [comm= inner] [as=]    R irecv from= tag= size= [vector] [comm= inner] [as=]
//	R cancel of=    R free of=    complete [at=]
//	R iprobe from= tag=    R probe from= tag= as=    R improbe from= tag= as=    R imrecv of= size= [as=]
//	deliver [at=|last|all]    corrupt [at=]    refuse n=    getfails|putfails|regfails [n=] how=unsupported|gone|not    R poll [n=]    R credit
//	endtransfer [at=] [how=]    refusetransfers n=    R registered    R cancelall
//	drop [at=]    doubt [at=] (it comes, and counts as lost)    reclaim [at=]    begin at= as= (to place it)    rest of= [broken]    R breaks peer= (a path)    settle (all paths)
//	R die peer=    R revoke    R addcomm k=    R delcomm k=    R sequence to= peer= (both ends)    R stats    frames
func (p *player) run(a args) {
	if a.verb == "world" {
		p.open(a)
		return
	}
	var r *rank
	if a.rank >= 0 {
		r = p.w.ranks[a.rank]
	}
	s := p.script(a)
	if p.pathCommand(a, s) {
		return
	}
	switch a.verb {
	case "isend":
		p.seq++
		m := newMemory(p.t, a.num("size", 0), a.num("tag", 0), a.has("vector"))
		p.add(a, &op{send: true, mem: m, r: r.o.Isend(r.channel(uint32(a.num("comm", 0)), a.has("inner")), m.buf, a.num("to", 0), a.num("tag", 0), modes[a.words["mode"]])})
	case "irecv":
		m := newMemory(p.t, a.num("size", 0), -1, a.has("vector"))
		p.add(a, &op{mem: m, r: r.o.Irecv(r.channel(uint32(a.num("comm", 0)), a.has("inner")), m.buf, a.num("from", 0), a.num("tag", 0))})
	case "imrecv":
		m := newMemory(p.t, a.num("size", 0), -1, a.has("vector"))
		p.add(a, &op{mem: m, r: r.o.Imrecv(p.msgs[a.words["of"]], m.buf)})
	case "cancel":
		q := p.named[a.words["of"]].r
		r.Do(func() { p.check(q.Owner.Cancel(q)) })
	case "free":
		q := p.named[a.words["of"]]
		q.told = true
		r.Do(q.r.Handle().Abandon)
	case "iprobe", "improbe":
		p.iprobe(a, r)
	case "probe":
		o := &op{probe: &probe{source: int32(a.num("from", 0)), tag: int32(a.num("tag", 0)), take: a.has("take")}}
		p.add(a, o)
		r.Do(func() { // what Probe does before it waits
			m := r.o.chans[0]
			if !r.o.look(m, o.probe) {
				m.probes = append(m.probes, o.probe)
				r.o.credit.wake()
			} else {
				r.Engine.Complete(&o.probe.Completion)
			}
		})
	case "deliver":
		p.deliver(a)
	case "corrupt":
		f := s.Frames()[a.num("at", 1)-1]
		f.Payload[len(f.Payload)/2] ^= 4
	case "complete":
		p.w.complete(a.num("at", 1) - 1)
	case "frames":
		for i, f := range s.Frames() {
			fmt.Fprintf(&p.out, "  %d: %s\n", i+1, frameText(f.String()))
		}
	case "refuse":
		s.Refuse(a.num("n", 1))
	case "getfails":
		s.FailGets(how[a.words["how"]])
	case "putfails":
		s.FailPuts(how[a.words["how"]])
	case "regfails":
		s.FailRegister(how[a.words["how"]], a.num("n", 0))
	case "endtransfer":
		s.EndTransfer(a.num("at", 1)-1, how[a.words["how"]])
	case "refusetransfers":
		s.RefuseTransfers(a.num("n", 1))
	case "registered":
		fmt.Fprintf(&p.out, "  %d\n", s.Registered(a.rank))
	case "cancelall":
		r.cancelAll()
	case "poll":
		for range a.num("n", 1) {
			r.Poll()
		}
	case "credit": // what this rank keeps and may send
		r.Do(func() {
			c := &r.o.credit
			fmt.Fprintf(&p.out, "  kept %d, at most %d;", c.stats.Kept, c.stats.Highest)
			for i, q := range r.o.peers {
				if q != nil && i != a.rank {
					fmt.Fprintf(&p.out, " left at %d: %d;", i, q.left)
				}
			}
			fmt.Fprintf(&p.out, " %d kept back\n", r.o.starveds)
		})
	case "die":
		r.die(a.num("peer", 0))
	case "revoke":
		r.revoke(0)
	case "addcomm":
		r.addComm(p.t, uint32(a.num("k", 1)))
	case "delcomm":
		r.o.DelComm(r.comms[uint32(a.num("k", 1))])
	case "sequence":
		r.Do(func() { r.o.chans[0].ranks[a.num("peer", 0)].sendSeq = uint16(a.num("to", 0)) })
		q := p.w.ranks[a.num("peer", 0)]
		q.Do(func() { q.o.chans[0].ranks[a.rank].expected = uint16(a.num("to", 0)) })
	case "stats":
		r.Do(func() { fmt.Fprintf(&p.out, "  %s\n", statsText(r.o.Stats())) })
	default:
		panic("unknown command " + a.verb)
	}
}

// how is what goes wrong, by name.
var how = map[string]error{"unsupported": btl.ErrNotSupported, "gone": errors.New("its memory is gone")}

// script is the path that a command is about.
func (p *player) script(a args) *btltest.Script {
	if a.num("path", 1) == 2 {
		return p.pw.both[1]
	}
	return p.w.script
}

// pathCommand performs a command about what a path does.
func (p *player) pathCommand(a args, s *btltest.Script) bool {
	frame := func() *btltest.Frame { return s.Frames()[a.num("at", 1)-1] }
	switch a.verb {
	case "drop":
		s.Drop(frame(), errors.New("lost"))
	case "doubt":
		s.Doubt(frame(), errors.New("in doubt"))
	case "reclaim":
		s.Reclaim(frame(), false)
	case "begin":
		if p.begun == nil {
			p.begun = map[string]func(error){}
		}
		if p.begun[a.words["as"]] = s.Begin(frame(), errors.New("in doubt")); p.begun[a.words["as"]] == nil {
			fmt.Fprintln(&p.out, "  it is not placed")
		}
	case "rest":
		var err error
		if a.has("broken") {
			err = errors.New("broken off")
		}
		p.begun[a.words["of"]](err)
	case "settle":
		p.pw.settle()
	case "breaks":
		s.Fail(a.rank, a.num("peer", 1-a.rank), false, errors.New("the cable is out"))
	default:
		return false
	}
	return true
}

func (p *player) openPaths(a args) {
	p.pw = newPathWorld(p.t, func(first, second *btltest.Script) {
		for _, s := range []*btltest.Script{first, second} {
			s.Facts = btl.Limits{Eager: int64(a.num("eager", 116)), RndvEager: int64(a.num("rndv", 20)), MaxSend: int64(a.num("frag", 124)), Latency: 1, Bandwidth: 1, Exclusivity: 1}
			s.Inline, s.Gets, s.Later = a.num("inline", 16), a.has("gets"), true
		}
		second.Facts.Eager = int64(a.num("eager2", a.num("eager", 116)))
	})
	p.w = p.pw.world
	for _, r := range p.w.ranks {
		if a.has("checksum") {
			r.o.opt.Checksum = true
			r.o.extend()
		}
	}
}

func (p *player) open(a args) {
	if a.has("paths") {
		p.openPaths(a)
		return
	}
	s := btltest.NewScript()
	s.Facts.Eager, s.Facts.RndvEager, s.Facts.MaxSend = int64(a.num("eager", 116)), int64(a.num("rndv", 20)), int64(a.num("frag", 124))
	s.Facts.MinGet, s.Facts.MinPut, s.Facts.MinShared = int64(a.num("get", 0)), int64(a.num("put", 0)), int64(a.num("shared", 0))
	s.Facts.MinPipeline, s.Facts.PipeSend, s.Facts.PipeFrag = int64(a.num("pipe", 0)), int64(a.num("pipesend", 0)), int64(a.num("pipefrag", 0))
	s.Inline, s.Gets, s.Puts, s.Slow, s.Later = a.num("inline", 16), a.has("gets"), a.has("puts"), a.has("slow"), a.has("later")
	opts, archs := make([]Options, a.num("n", 2)), make([]datatype.Arch, a.num("n", 2))
	for i := range opts {
		opts[i] = Options{Depth: a.num("depth", 4), RecvDepth: a.num("recvdepth", 2), Protocol: a.words["protocol"], Checksum: a.has("checksum") && a.num("checksum", i) == i}
		if a.num("big", -1) == i {
			archs[i] = datatype.ArchBig
		}
	}
	for i := range opts {
		opts[i].Unexpected = int64(a.num("budget", 0))
	}
	p.w = newMixedWorld(p.t, s, a.has("hold"), opts, archs)
	if a.has("first") {
		for _, r := range p.w.ranks {
			r.o.credit.open(int64(a.num("first", 0)), opts[0].Unexpected, int64(len(opts)))
		}
	}
}

func (p *player) add(a args, o *op) {
	o.rank, o.name = a.rank, a.words["as"]
	if o.name == "" {
		o.name = fmt.Sprintf("%c%d", "rs"[map[bool]int{true: 1}[o.send]], len(p.ops)+1)
	}
	p.ops = append(p.ops, o)
	p.named[o.name] = o
}

func (p *player) check(err error) {
	if err != nil {
		fmt.Fprintf(&p.out, "  error: %v\n", err)
	}
}

func (p *player) iprobe(a args, r *rank) {
	if a.verb == "improbe" {
		m, err := r.o.Improbe(r.channel(0, false), a.num("from", 0), a.num("tag", 0))
		p.check(err)
		if m == nil {
			fmt.Fprintln(&p.out, "  nothing")
			return
		}
		p.msgs[a.words["as"]] = m
		fmt.Fprintf(&p.out, "  took %s\n", statusText(m.Status()))
		return
	}
	st, ok, err := r.o.Iprobe(r.channel(0, false), a.num("from", 0), a.num("tag", 0))
	p.check(err)
	if !ok {
		fmt.Fprintln(&p.out, "  nothing")
		return
	}
	fmt.Fprintf(&p.out, "  there is %s\n", statusText(st))
}

func (p *player) deliver(a args) {
	s := p.script(a)
	f := s.Frames()
	switch {
	case a.has("all"):
		s.DeliverAll()
	case a.has("last"):
		s.Deliver(f[len(f)-1])
	default:
		s.Deliver(f[a.num("at", 1)-1])
	}
}

// tell writes what the last command did.
func (p *player) tell() {
	for _, l := range p.w.script.Log() {
		fmt.Fprintf(&p.out, "  %s\n", frameText(l))
	}
	if p.pw != nil {
		for _, l := range p.pw.both[1].Log() {
			fmt.Fprintf(&p.out, "  second path: %s\n", frameText(l))
		}
	}
	for _, o := range p.ops {
		if o.told {
			continue
		}
		if o.probe != nil {
			if o.probe.Done() {
				o.told = true
				p.probed(o)
			}
			continue
		}
		if o.r.Done() {
			o.told = true
			fmt.Fprintf(&p.out, "  %d: %s done%s\n", o.rank, o.name, o.outcome())
		}
	}
}

func (p *player) probed(o *op) {
	if o.probe.err != nil {
		fmt.Fprintf(&p.out, "  %d: %s error: %v\n", o.rank, o.name, o.probe.err)
		return
	}
	fmt.Fprintf(&p.out, "  %d: %s sees %s\n", o.rank, o.name, statusText(o.probe.st))
	if o.probe.msg != nil {
		p.msgs[o.name] = o.probe.msg
	}
}

func (o *op) outcome() string {
	st := o.r.Status
	s := ""
	switch {
	case st.Cancelled:
		s = ", cancelled"
	case !o.send && st.Source >= 0:
		s = ": " + statusText(st)
		if st.Err == nil || core.ClassOf(st.Err) == core.ErrTruncate {
			if !o.mem.holds(int(st.Bytes()), st.Tag) {
				s += " WRONG DATA"
			}
		}
	}
	if st.Err != nil {
		s += fmt.Sprintf(", error: %v", st.Err)
	}
	if !o.mem.intact() {
		s += " WROTE OUTSIDE"
	}
	return s
}

// end checks what must be true after every script: requests not told of were meant to stay pending.
func (p *player) end() {
	for _, o := range p.ops {
		if !o.told {
			fmt.Fprintf(&p.out, "  still pending: %d %s\n", o.rank, o.name)
		}
	}
}

var _ progress.Cond = (*probe)(nil)

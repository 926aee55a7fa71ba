package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// maxHeld bounds the part of a line that waits for its end. A longer line is cut there, so that a rank that writes no newline
// cannot fill mpirun's memory.
const maxHeld = 1 << 20

// outputs is where the output of all ranks goes: straight to mpirun's own, or tagged.
type outputs struct {
	out, err *tagger // nil when the ranks write straight
	pumps    []*pumpState
}

func newOutputs(tag bool) *outputs {
	if !tag {
		return &outputs{}
	}
	return &outputs{out: &tagger{w: os.Stdout}, err: &tagger{w: os.Stderr}}
}

// rankOutput is the pair of pipes of one rank, without files when it writes straight.
type rankOutput struct {
	ours   [2]*os.File // our ends of stdout and stderr
	theirs [2]int      // the rank's descriptors 1 and 2
	piped  bool
}

func (o *outputs) open() (*rankOutput, error) {
	r := &rankOutput{theirs: [2]int{1, 2}}
	if o.out == nil {
		return r, nil
	}
	out, outFD, err := pipeFrom("output of a rank")
	if err != nil {
		return nil, err
	}
	errs, errFD, err := pipeFrom("output of a rank")
	if err != nil {
		out.Close()
		unix.Close(outFD)
		return nil, err
	}
	return &rankOutput{[2]*os.File{out, errs}, [2]int{outFD, errFD}, true}, nil
}

func (r *rankOutput) closeOurs() {
	if r.piped {
		r.ours[0].Close()
		r.ours[1].Close()
	}
}

func (r *rankOutput) closeTheirs() {
	if r.piped {
		unix.Close(r.theirs[0])
		unix.Close(r.theirs[1])
	}
}

// pipeFrom returns a pipe that a rank writes. Its end must block, as programs expect of their output, so os.Pipe, whose ends
// both do not, will not do.
func pipeFrom(name string) (ours *os.File, theirs int, err error) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return nil, -1, fmt.Errorf("making a pipe for the %s: %w", name, err)
	}
	if err := unix.SetNonblock(p[0], true); err != nil {
		unix.Close(p[0])
		unix.Close(p[1])
		return nil, -1, fmt.Errorf("making a pipe for the %s: %w", name, err)
	}
	return os.NewFile(uintptr(p[0]), name), p[1], nil
}

// pump begins to copy a rank's output; the channel is closed when both streams have ended.
func (o *outputs) pump(rank int, r *rankOutput) <-chan struct{} {
	done := make(chan struct{})
	if !r.piped {
		close(done)
		return done
	}
	var both sync.WaitGroup
	for i, t := range []*tagger{o.out, o.err} {
		p := &pumpState{in: r.ours[i]}
		o.pumps = append(o.pumps, p)
		both.Go(func() { t.pump(rank, p) })
	}
	go func() {
		both.Wait()
		r.closeOurs()
		close(done)
	}()
	return done
}

// finish waits, once the ranks have ended, for what they wrote to be out. A pipe that something else than a rank holds open
// without writing is not waited for.
func (o *outputs) finish() {
	const step, quiet = 10 * time.Millisecond, 10 // steps without a byte
	still := 0
	var before uint64
	for still < quiet {
		open, busy, total := false, false, uint64(0)
		for _, p := range o.pumps {
			total += p.reads.Load()
			open = open || !p.ended.Load()
			busy = busy || p.writing.Load()
		}
		if !open {
			return
		}
		if still++; busy || total != before {
			still, before = 0, total
		}
		time.Sleep(step)
	}
}

// pumpState is what finish can see of a pump.
type pumpState struct {
	in      io.Reader
	reads   atomic.Uint64
	writing atomic.Bool
	ended   atomic.Bool
}

// tagger writes whole lines of many ranks to one stream.
type tagger struct {
	mu sync.Mutex
	w  io.Writer
}

// pump copies a rank's output to the stream, each line behind "[rank] ", until it ends. A last line without an end gets one.
func (t *tagger) pump(rank int, p *pumpState) {
	defer p.ended.Store(true)
	prefix := "[" + strconv.Itoa(rank) + "] "
	in := make([]byte, 32<<10)
	var held, out []byte // held: the beginning of a line; out: lines ready to go
	for {
		n, err := p.in.Read(in)
		p.writing.Store(true)
		p.reads.Add(1)
		rest := in[:n]
		out = out[:0]
		for {
			line, after, ok := bytes.Cut(rest, []byte{'\n'})
			if !ok {
				break
			}
			out = append(append(append(append(out, prefix...), held...), line...), '\n')
			held, rest = held[:0], after
		}
		held = append(held, rest...)
		if len(held) > 0 && (err != nil || len(held) >= maxHeld) {
			out = append(append(append(out, prefix...), held...), '\n')
			held = held[:0]
		}
		if len(out) > 0 {
			t.mu.Lock()
			// A stream that takes nothing more must not block the ranks: their output is read on and dropped.
			_, _ = t.w.Write(out)
			t.mu.Unlock()
		}
		p.writing.Store(false)
		if err != nil {
			return
		}
	}
}

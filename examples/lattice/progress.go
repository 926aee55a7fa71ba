package main

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/term"
)

// progress shows on a terminal how far the computation is.
type progress struct {
	active bool
	label  string
	steps  int
	next   time.Time
}

func newProgress(label string, steps int) *progress {
	return &progress{active: term.IsTerminal(int(os.Stderr.Fd())), label: label, steps: steps}
}

// show says that a number of steps are done, a few times a second.
func (p *progress) show(done int) {
	if !p.active {
		return
	}
	if now := time.Now(); now.After(p.next) {
		p.next = now.Add(200 * time.Millisecond)
		fmt.Fprintf(os.Stderr, "\r\x1b[K%s: step %d of %d (%d%%)", p.label, done, p.steps, 100*done/p.steps)
	}
}

func (p *progress) clear() {
	if p.active {
		fmt.Fprint(os.Stderr, "\r\x1b[K")
	}
}

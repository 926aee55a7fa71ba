package report

import (
	"fmt"
	"os"

	"golang.org/x/term"
)

// Progress shows on a terminal how far a long run is; elsewhere it writes nothing.
type Progress struct {
	to    *os.File
	shown bool
}

// NewProgress writes to f if that is a terminal.
func NewProgress(f *os.File) *Progress {
	if !term.IsTerminal(int(f.Fd())) {
		return &Progress{}
	}
	return &Progress{to: f}
}

// Show replaces the line shown last.
func (p *Progress) Show(format string, args ...any) {
	if p.to == nil {
		return
	}
	fmt.Fprintf(p.to, "\r\x1b[K"+format, args...)
	p.shown = true
}

// Clear takes the line away; results are printed only after it, since both may go to the same terminal.
func (p *Progress) Clear() {
	if p.shown {
		fmt.Fprint(p.to, "\r\x1b[K")
		p.shown = false
	}
}

package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// rankStdin returns what rank 0 reads. A file, pipe or socket it inherits as it is. A terminal it cannot: rank 0 is not in the
// terminal's foreground process group and would be stopped when it reads; so mpirun reads, and rank 0 gets a pipe. feed, if
// not nil, does that once rank 0 runs (it closes file), and returns when either side ends.
func rankStdin(null *os.File) (file *os.File, feed func(), err error) {
	var st unix.Stat_t
	if unix.Fstat(0, &st) != nil {
		return null, nil, nil // mpirun was started without a standard input
	}
	if _, err := unix.IoctlGetTermios(0, unix.TCGETS); err != nil {
		return os.Stdin, nil, nil
	}
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, fmt.Errorf("making a pipe for the input of rank 0: %w", err)
	}
	r, w := os.NewFile(uintptr(p[0]), "input"), os.NewFile(uintptr(p[1]), "input")
	return r, func() {
		r.Close() // so that the end of rank 0 is the end of the pipe
		feedTerminal(w)
		w.Close()
	}, nil
}

// feedTerminal copies the terminal's input while mpirun is in the foreground; in the background it waits, since reading there
// would stop it.
func feedTerminal(w io.Writer) {
	buf := make([]byte, 4096)
	for {
		front, err := unix.IoctlGetInt(0, unix.TIOCGPGRP)
		if err != nil {
			return
		}
		if front != unix.Getpgrp() {
			time.Sleep(200 * time.Millisecond)
			continue
		}
		n, err := os.Stdin.Read(buf)
		if n > 0 {
			if _, werr := w.Write(buf[:n]); werr != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

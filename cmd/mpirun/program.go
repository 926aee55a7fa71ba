package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// findProgram returns the path of what PROGRAM names: an executable or a directory. A name without a slash is looked for in
// PATH first.
func findProgram(name string) (path string, isDir bool, err error) {
	if !strings.Contains(name, "/") {
		// LookPath also says when PATH leads to the current directory; that is what the user wrote, so it is fine.
		if p, err := exec.LookPath(name); err == nil || errors.Is(err, exec.ErrDot) {
			return p, false, nil
		}
	}
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !strings.Contains(name, "/"):
		return "", false, &statusError{exitNotFound, fmt.Errorf("%s: found neither in PATH nor in the current directory", name)}
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return "", false, &statusError{exitNotFound, fmt.Errorf("%s: no such file or directory", name)}
	case err != nil:
		return "", false, &statusError{exitNotExecutable, err}
	case info.IsDir():
		return name, true, nil
	case strings.HasSuffix(name, ".go") && info.Mode().IsRegular() && unix.Access(name, unix.X_OK) != nil:
		dir := filepath.Dir(name)
		if !filepath.IsAbs(dir) && !strings.HasPrefix(dir, ".") {
			dir = "./" + dir
		}
		return "", false, &statusError{exitNotExecutable, fmt.Errorf("%s: a Go source file; give the directory of the program, %s", name, dir)}
	case !info.Mode().IsRegular() || unix.Access(name, unix.X_OK) != nil:
		return "", false, &statusError{exitNotExecutable, fmt.Errorf("%s: not an executable file", name)}
	}
	// An absolute path runs the same file whatever the rank's idea of its directory.
	path, err = filepath.Abs(name)
	return path, false, err
}

// buildProgram compiles the Go program in dir into tmp and returns the executable. What the compiler says goes to stderr.
func buildProgram(ctx context.Context, dir, tmp string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "build", "-o", tmp+"/", ".")
	cmd.Dir = dir
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	// The compiler's own children go with it; a group of its own keeps the terminal's Ctrl-C from reaching it twice.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		if errors.Is(err, exec.ErrNotFound) {
			return "", fmt.Errorf("%s is a directory, and building the Go program in it needs the go command, which is not in PATH", dir)
		}
		return "", fmt.Errorf("building the Go program in %s: %w", dir, err)
	}
	built, err := os.ReadDir(tmp)
	if err != nil {
		return "", err
	}
	if len(built) != 1 {
		return "", fmt.Errorf("building the Go package in %s gave %d files, want one program", dir, len(built))
	}
	return filepath.Join(tmp, built[0].Name()), nil
}

// Package peers builds the C program with which other MPI implementations are measured. Its sources, one idea a file, are in src; the
// program takes the same tests and options as ompi-bench, runs the same loops and prints the same columns.
//
// It is called by ompi-bench's compare runner.
package peers

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

//go:embed src/*.c src/*.h
var sources embed.FS

// Build compiles the program with an MPI compiler wrapper such as mpicc.openmpi and returns the executable's path. It is kept in cache
// under a name made of the sources and the wrapper, so that a second call costs nothing.
func Build(ctx context.Context, wrapper, cache string) (string, error) {
	cc, err := exec.LookPath(wrapper)
	if err != nil {
		return "", fmt.Errorf("build peer program: %w", err)
	}
	key, err := fingerprint(cc)
	if err != nil {
		return "", fmt.Errorf("build peer program: %w", err)
	}
	dir := filepath.Join(cache, key)
	program := filepath.Join(dir, "peer-"+filepath.Base(wrapper))
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("build peer program: %w", err)
	}
	// Built aside and renamed: whoever looks at the same time sees all or nothing.
	work, err := os.MkdirTemp(dir, "build-")
	if err != nil {
		return "", fmt.Errorf("build peer program: %w", err)
	}
	defer os.RemoveAll(work)
	files, err := unpack(work)
	if err != nil {
		return "", fmt.Errorf("build peer program: %w", err)
	}
	made := filepath.Join(work, "peer")
	cmd := exec.CommandContext(ctx, cc, append([]string{"-std=c99", "-O2", "-pthread", "-o", made}, files...)...)
	cmd.Dir = work
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build peer program with %s: %w\n%s", wrapper, err, strings.TrimSpace(string(out)))
	}
	if err := os.Rename(made, program); err != nil {
		return "", fmt.Errorf("build peer program: %w", err)
	}
	return program, nil
}

// fingerprint names the sources together with the compiler wrapper that is installed now.
func fingerprint(cc string) (string, error) {
	h := sha256.New()
	target, err := filepath.EvalSymlinks(cc)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(target)
	if err != nil {
		return "", err
	}
	fmt.Fprintln(h, target, info.Size(), info.ModTime().UnixNano())
	err = eachSource(func(name string, data []byte) error {
		_, err := fmt.Fprintf(h, "%s %d\n%s", name, len(data), data)
		return err
	})
	return hex.EncodeToString(h.Sum(nil)[:12]), err
}

func eachSource(do func(name string, data []byte) error) error {
	return fs.WalkDir(sources, "src", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := sources.ReadFile(p)
		return errors.Join(err, do(path.Base(p), data))
	})
}

// unpack writes the sources to dir and returns the names of those to compile.
func unpack(dir string) ([]string, error) {
	var compile []string
	err := eachSource(func(name string, data []byte) error {
		if strings.HasSuffix(name, ".c") {
			compile = append(compile, name)
		}
		return os.WriteFile(filepath.Join(dir, name), data, 0o644)
	})
	return compile, err
}

package shm

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ompi-go/ompi-go/rte"
)

// descriptors counts what this process has open.
func descriptors(t testing.TB) int {
	t.Helper()
	l, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	return len(l)
}

// mappings counts the segments that this process has mapped.
func mappings(t testing.TB) int {
	t.Helper()
	b, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(b), "/memfd:ompi-go")
}

// brokenJob cannot publish.
type brokenJob struct{ rte.Job }

var errPut = errors.New("no room in the key-value space")

func (brokenJob) Put(string, []byte) error { return errPut }

// TestOpenFails: whatever fails, Open says so and leaves nothing behind.
func TestOpenFails(t *testing.T) {
	occupy := func(name func(*Domain) string, kind int) func(*testing.T, *Config) {
		return func(t *testing.T, cfg *Config) {
			fd, err := unix.Socket(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
			if err == nil {
				err = unix.Bind(fd, &unix.SockaddrUnix{Name: name(&Domain{job: cfg.Job})})
			}
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { unix.Close(fd) })
		}
	}
	for _, c := range []struct {
		name  string
		spoil func(*testing.T, *Config)
		want  string
	}{
		{"memfd", func(_ *testing.T, c *Config) {
			c.sys = &kernel{memfd: func(string, int) (int, error) { return -1, unix.ENOSYS }, fallocate: unix.Fallocate}
		}, "memfd_create"},
		{"fallocate", func(_ *testing.T, c *Config) {
			c.sys = &kernel{memfd: unix.MemfdCreate, fallocate: func(int, uint32, int64, int64) error { return unix.ENOSPC }}
		}, "no memory for a segment's first"},
		{"size", func(_ *testing.T, c *Config) { c.Options.SegmentSize = 4096 }, "shm_segment_size 4096 is too small"},
		{"limit", func(_ *testing.T, c *Config) { c.Options.SegmentSize = 1 << 62 }, "4611686018427387904 bytes"},
		{"bell", occupy(func(d *Domain) string { return d.bellName(0) }, unix.SOCK_DGRAM), "doorbell"},
		{"socket", occupy(func(d *Domain) string { return d.passName(0) }, unix.SOCK_STREAM), "listening"},
		{"card", func(_ *testing.T, c *Config) { c.Job = brokenJob{c.Job} }, errPut.Error()},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newEngine(t)
			cfg := Config{Job: rte.NewHub(2).Job(0), Engine: e, Options: Options{Attach: "auto"}}
			c.spoil(t, &cfg)
			// The engine makes its own descriptors with the first one it watches; those stay.
			if warm, err := Open(Config{Job: rte.NewHub(2).Job(0), Engine: e, Options: Options{Attach: "auto"}}); err != nil {
				t.Fatal(err)
			} else {
				e.Lock()
				warm.Close()
				e.Unlock()
			}
			fds, maps := descriptors(t), mappings(t)
			if d, err := Open(cfg); err == nil || d != nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Open: %v, %v; want an error with %q", d, err, c.want)
			}
			if a, b := descriptors(t), mappings(t); a != fds || b != maps {
				t.Errorf("Open left %d descriptors and %d mappings", a-fds, b-maps)
			}
		})
	}
}

// TestNoMemory: a piece for which there is no memory is refused when it is taken, not when it is touched.
func TestNoMemory(t *testing.T) {
	full := false
	e := newEngine(t)
	d, err := Open(Config{Job: rte.NewHub(2).Job(0), Engine: e, Options: Options{Attach: "auto", SegmentSize: 64 << 10}, sys: &kernel{
		memfd: unix.MemfdCreate,
		fallocate: func(fd int, mode uint32, off, n int64) error {
			if full {
				return unix.ENOSPC
			}
			return unix.Fallocate(fd, mode, off, n)
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		e.Lock()
		defer e.Unlock()
		d.Close()
	}()
	p, _, err := d.Alloc(1000)
	if err != nil {
		t.Fatal(err)
	}
	full = true
	if _, _, err := d.Alloc(1001); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("Alloc without memory: %v", err)
	}
	d.Free(p, 1000)
	if _, _, err := d.Alloc(1000); err != nil {
		t.Errorf("Alloc of a piece that is there already: %v", err)
	}
	full = false
	if _, _, err := d.Alloc(1001); err != nil {
		t.Errorf("Alloc with memory again: %v", err)
	}
	if _, _, err := d.Alloc(1 << 20); err == nil || !strings.Contains(err.Error(), "shm_segment_size") {
		t.Errorf("Alloc beyond the segment: %v", err)
	}
}

// TestBadSegments: what a card leads to is not believed.
func TestBadSegments(t *testing.T) {
	memfd := func(size int64, seal bool) int {
		fd, err := unix.MemfdCreate("ompi-go", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
		if err == nil {
			err = unix.Ftruncate(fd, size)
		}
		if err == nil && seal {
			_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW)
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fd) })
		return fd
	}
	for _, c := range []struct {
		name string
		card func(good card) card
		want string
	}{
		{"unsealed", func(c card) card { c.fd = memfd(c.size, false); return c }, "not sealed"},
		{"somebody else's", func(c card) card { c.fd = memfd(c.size, true); return c }, "not its own"},
		{"short", func(c card) card { c.fd = memfd(c.size/2, true); return c }, "its card says"},
		{"no descriptor", func(c card) card { c.fd = 99999; return c }, "/fd/99999"},
		{"no process", func(c card) card { c.pid = 1<<31 - 1; return c }, "/proc/2147483647"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := pair(t, false, Options{Attach: "proc"})
			d[0].job = cardJob{d[0].job, c.card(d[1].card()).append(nil)}
			fds, maps := descriptors(t), mappings(t)
			if _, err := d[0].Attach(1); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Attach: %v; want %q", err, c.want)
			}
			if a, b := descriptors(t), mappings(t); a != fds || b != maps {
				t.Errorf("Attach left %d descriptors and %d mappings", a-fds, b-maps)
			}
		})
	}
}

// cardJob is told another card of its peers.
type cardJob struct {
	rte.Job
	card []byte
}

func (j cardJob) Get(int, string) ([]byte, error) { return j.card, nil }

func FuzzCard(f *testing.F) {
	f.Add(card{pid: 1, fd: 3, size: 1 << 20}.append(nil))
	f.Add([]byte{})
	f.Add([]byte{2})
	f.Add(make([]byte, cardSize))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := parseCard(b)
		if err != nil {
			return
		}
		if c.pid <= 0 || c.fd < 0 || c.size < pageSize {
			t.Errorf("%x gives %+v", b, c)
		}
		if got := c.append(nil); string(got) != string(b) {
			t.Errorf("%x became %x", b, got)
		}
	})
}

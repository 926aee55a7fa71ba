package nal

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/internal/mpiruntest"
	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/metrics"
	"github.com/ompi-go/ompi-go/rte"
	"github.com/ompi-go/ompi-go/shm"
)

// The test program is also a rank of the jobs that the tests start.
const roleVar = "OMPI_GO_NAL_TEST_ROLE"

func TestMain(m *testing.M) {
	role := os.Getenv(roleVar)
	if role == "" {
		os.Exit(m.Run())
	}
	if err := rankMain(role); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

// together runs f as each of n goroutine ranks.
func together(t *testing.T, n int, f func(job rte.Job) error) {
	t.Helper()
	hub := rte.NewHub(n)
	done := make(chan error)
	for r := range n {
		go func() {
			err := f(hub.Job(r))
			if err != nil {
				hub.Job(r).Abort(1, err.Error()) // the others are not to wait
			}
			done <- err
		}()
	}
	for range n {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func links(pattern, what string) int {
	n := 0
	names, _ := filepath.Glob(pattern)
	for _, name := range names {
		if to, err := os.Readlink(name); err == nil && strings.Contains(to, what) {
			n++
		}
	}
	return n
}

// TestGoroutines: the NALs carry messages between goroutine ranks while an ordinary session uses the same BTLs, and leave nothing.
func TestGoroutines(t *testing.T) {
	for _, c := range []struct{ nal, names, by string }{
		{"local,shm,tcp", "[local]", "local"},
		{"shm", "[shm]", "shm"},
		{"shm,tcp", "[shm tcp]", "shm"},
		{"tcp,shm", "[tcp shm]", "tcp"},
		{"tcp", "[tcp]", "tcp"},
		{"^local,udp", "[shm tcp]", "shm"},
		{"udp", "[udp]", "udp"},
		{"udp,shm", "[udp shm]", "udp"},
	} {
		t.Run(c.nal, func(t *testing.T) {
			sockets, files := links("/proc/self/fd/*", "socket:"), links("/proc/self/fd/*", "memfd:")
			maps, err := os.ReadFile("/proc/self/maps")
			if err != nil {
				t.Fatal(err)
			}
			before := strings.Count(string(maps), "memfd:")
			hub := shm.NewHub(3)
			together(t, 3, func(job rte.Job) error {
				r, err := open(job, hub, map[string]string{"portals4_nal": c.nal})
				if err != nil {
					return err
				}
				if got := fmt.Sprint(r.set.Names()); got != c.names {
					return fmt.Errorf("the open NALs are %s, want %s", got, c.names)
				}
				if err := r.exchange(c.by); err != nil {
					return err
				}
				if said := r.sayings(); len(said) > 0 {
					return fmt.Errorf("it said %v", said)
				}
				return r.close()
			})
			if n := links("/proc/self/fd/*", "socket:"); n != sockets {
				t.Errorf("%d sockets are left", n-sockets)
			}
			if n := links("/proc/self/fd/*", "memfd:"); n != files {
				t.Errorf("%d segments are left", n-files)
			}
			if maps, err = os.ReadFile("/proc/self/maps"); err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(maps), "memfd:"); n != before {
				t.Errorf("%d mappings are left", n-before)
			}
		})
	}
}

// TestFallback: what cannot be had is replaced by the next, and said.
func TestFallback(t *testing.T) {
	hub := shm.NewHub(2)
	together(t, 2, func(job rte.Job) error {
		r, err := open(job, hub, map[string]string{"portals4_nal": "shm,tcp", "shm_segment_size": "4096"})
		if err != nil {
			return err
		}
		if err := r.exchange("tcp"); err != nil {
			return err
		}
		if said := r.sayings(); len(said) != 1 || !strings.Contains(said["portals4-shm"], "Portals goes by tcp") || !strings.Contains(said["portals4-shm"], "too small") {
			return fmt.Errorf("it said %q", said)
		}
		return r.close()
	})
}

// TestUnreached: the error tells of each NAL why it does not reach a rank.
func TestUnreached(t *testing.T) {
	withoutUDP := func(env *btl.Env) {
		all := slices.DeleteFunc(env.Registry.Components("btl"), func(c mca.Component) bool { return c.Name() == "udp" })
		var err error
		if env.Registry, err = mca.BuildRegistry([]mca.Framework{{Name: "btl", Help: "for the test"}}, all); err != nil {
			t.Error(err)
		}
	}
	for _, c := range []struct{ nal, want string }{
		{"shm", "no nal reaches rank %d (shm: shm: shm_segment_size 4096 is too small for 2 local ranks); check the parameter portals4_nal"},
		{"udp", "the program has no btl udp"},
	} {
		hub := shm.NewHub(2)
		together(t, 2, func(job rte.Job) error {
			r, err := open(job, hub, map[string]string{"portals4_nal": c.nal, "shm_segment_size": "4096"}, withoutUDP)
			if err != nil {
				return err
			}
			want := strings.ReplaceAll(c.want, "%d", fmt.Sprint(1-job.Rank()))
			if _, err := r.link(1 - job.Rank()); err == nil || !strings.Contains(err.Error(), want) {
				return fmt.Errorf("Connect: %v", err)
			}
			return r.close()
		})
	}
}

// TestMetrics: the carriers' counters are told apart from those of the BTLs of the instance.
func TestMetrics(t *testing.T) {
	hub := shm.NewHub(2)
	together(t, 2, func(job rte.Job) error {
		r, err := open(job, hub, map[string]string{"portals4_nal": "tcp", "btl": "tcp"})
		if err != nil {
			return err
		}
		if err := r.exchange("tcp"); err != nil {
			return err
		}
		c, err := metrics.NewCollector(r.Engine, nil, r.set, r.Modules[0].(metrics.Source))
		if err != nil {
			return err
		}
		got := map[string]uint64{}
		for _, s := range c.Snapshot() {
			if s.Desc.Name == "ompi_btl_messages_received_total" {
				got[s.Labels[0]] = s.Value
			}
		}
		if got["portals4-tcp"] < messages || got["tcp"] != messages/10 {
			return fmt.Errorf("%v", got)
		}
		return r.close()
	})
}

// TestChoice: names are checked when parameters are loaded.
func TestChoice(t *testing.T) {
	for _, c := range []struct{ nal, want string }{
		{"", "local shm tcp udp"},
		{"tcp,local", "tcp local"},
		{"^shm", "local tcp udp"},
		{"tpc", `portals4_nal: it names "tpc"; did you mean tcp? (there are local, shm, tcp, udp)`},
		{"^sm", `it names "sm"; did you mean shm?`},
		{"tcp,tcp", "it names tcp twice"},
	} {
		_, params, err := loadParams(map[string]string{"portals4_nal": c.nal})
		if err != nil {
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q: %v", c.nal, err)
			}
			continue
		}
		var o Options
		list, err := []*kind(nil), params.Decode("portals4", "", &o)
		if err == nil {
			list, err = o.chosen()
		}
		var names []string
		for _, k := range list {
			names = append(names, k.name)
		}
		if got := strings.Join(names, " "); err != nil || got != c.want {
			t.Errorf("%q gives %q, %v; want %q", c.nal, got, err, c.want)
		}
	}
}

// launcher builds mpirun once for a test.
func launcher(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mpirun")
	if out, err := exec.Command("go", "build", "-o", path, "../../cmd/mpirun").CombinedOutput(); err != nil {
		t.Fatal(errors.Join(err, errors.New(string(out))))
	}
	return path
}

// TestProcesses: NALs between processes, beside a session that uses the same BTLs.
func TestProcesses(t *testing.T) {
	mpirun := launcher(t)
	for _, c := range []struct{ nal, btl, want string }{
		{"local,shm,tcp", "sm,tcp", `of \[shm tcp\] by shm: map\[\]`},
		{"local,shm,tcp", "tcp", `of \[shm tcp\] by shm: map\[\]`},
		{"tcp", "sm", `of \[tcp\] by tcp: map\[\]`},
		{"udp", "sm,udp", `of \[udp\] by udp: map\[\]`},
	} {
		t.Run(c.nal+"/"+c.btl, func(t *testing.T) {
			mpiruntest.New(t, mpirun, "-n", "2", "--mca", "portals4_nal", c.nal, "--mca", "btl", c.btl, os.Args[0]).Env(roleVar+"=talk").
				Run(0, "^rank 0 "+c.want, "^rank 1 "+c.want)
		})
	}
}

// TestDeath: a NAL tells of the end of a peer's process, once.
func TestDeath(t *testing.T) {
	mpirun := launcher(t)
	for _, nal := range []string{"shm", "tcp", "udp"} {
		t.Run(nal, func(t *testing.T) {
			mpiruntest.New(t, mpirun, "-n", "2", "--on-failure", "continue", "--mca", "portals4_nal", nal, "--mca", "btl_udp_timeout", "1s", os.Args[0]).Env(roleVar+"=die").
				Run(-1, `^\[`+nal+`\] has told: `)
		})
	}
}

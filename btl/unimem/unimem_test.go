package unimem

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"unsafe"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/btl/btltest"
	"github.com/ompi-go/ompi-go/progress"
	_ "github.com/ompi-go/ompi-go/rcache/rb"
	"github.com/ompi-go/ompi-go/rte"
	"github.com/ompi-go/ompi-go/shm"
)

const tag = btl.TagPML

type opener = func(int, rte.Job, *progress.Engine) (*shm.Domain, error)

// heap gives the ranks of a world shared memory as goroutine ranks have it, a hub to each world.
func heap() opener {
	var hub *shm.Hub
	return func(rank int, job rte.Job, e *progress.Engine) (*shm.Domain, error) {
		if rank == 0 {
			hub = shm.NewHub(job.Size())
		}
		return shm.Open(shm.Config{Job: job, Engine: e, Hub: hub})
	}
}

// mapped gives them what processes have, though all are in one process.
func mapped(_ int, job rte.Job, e *progress.Engine) (*shm.Domain, error) {
	return shm.Open(shm.Config{Job: job, Engine: e, Options: shm.Options{Attach: "auto"}})
}

// dmable is memory that can be registered.
func dmable(t testing.TB, r *btltest.Rank, n int64) []byte {
	t.Helper()
	var b []byte
	r.Do(func() {
		region, err := r.Module.(btl.Allocator).Alloc(n)
		if err != nil {
			t.Fatal(err)
		}
		b = unsafe.Slice((*byte)(region.Base()), n)
		t.Cleanup(func() {
			r.Do(func() {
				if err := region.Unref(); err != nil {
					t.Error(err)
				}
			})
		})
	})
	return b
}

func config(open opener, params map[string]string) btltest.Config {
	all := map[string]string{"btl": "unimem", "btl_unimem_register_cost": "0", "btl_unimem_memory": "24m"}
	maps.Copy(all, params)
	return btltest.Config{Component: component{}, Shm: open, Params: all, Memory: dmable}
}

// off is a step that is not taken.
func off(names ...string) map[string]string {
	p := map[string]string{}
	for _, n := range names {
		p["btl_unimem_"+n] = "false"
	}
	return p
}

func TestConformance(t *testing.T) {
	naive := off("rcache", "eager", "inline", "dmable_user", "rma")
	naive["btl_unimem_copies"] = "naive"
	tiny := map[string]string{"btl_unimem_mailbox_size": "16", "btl_unimem_buffers": "2", "btl_unimem_dma_burst": "512",
		"btl_unimem_max_send_size": "20k", "btl_unimem_eager_limit": "256"}
	for _, c := range []struct {
		name   string
		open   opener
		params map[string]string
	}{
		{"Heap", heap(), nil},
		{"HeapNaive", heap(), naive},
		{"HeapTiny", heap(), tiny},
		{"Mapped", mapped, nil},
		{"MappedTiny", mapped, tiny},
		{"NoInline", heap(), off("inline")},
		{"NoEager", heap(), off("eager", "rcache")},
		{"NoRMA", heap(), off("rma")},
	} {
		t.Run(c.name, func(t *testing.T) { btltest.Run(t, config(c.open, c.params)) })
	}
}

// TestOnlyByName: the model is nobody's default.
func TestOnlyByName(t *testing.T) {
	cfg := config(heap(), map[string]string{"btl": ""})
	job := rte.NewHub(1).Job(0)
	for _, list := range []string{"", "^self"} {
		cfg.Params["btl"] = list
		if mods, err := openWith(t, cfg, job); len(mods) != 0 || err != nil {
			t.Errorf("btl %q: %d modules, %v", list, len(mods), err)
		}
	}
	cfg.Params["btl"] = "unimem"
	if _, err := openWith(t, cfg, job); !errors.Is(err, btl.ErrUnavailable) || !strings.Contains(err.Error(), "alone on this host") {
		t.Errorf("alone: %v", err)
	}
}

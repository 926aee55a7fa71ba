package sm

import (
	"strings"
	"testing"
	"unsafe"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/btl/btltest"
	"github.com/ompi-go/ompi-go/progress"
	"github.com/ompi-go/ompi-go/rte"
	"github.com/ompi-go/ompi-go/shm"
)

const tag = btl.TagPML

// heap gives the ranks of a world shared memory as goroutine ranks have it, a hub to each world.
func heap() func(int, rte.Job, *progress.Engine) (*shm.Domain, error) {
	var hub *shm.Hub
	return func(rank int, job rte.Job, e *progress.Engine) (*shm.Domain, error) {
		if rank == 0 {
			hub = shm.NewHub(job.Size())
		}
		return shm.Open(shm.Config{Job: job, Engine: e, Hub: hub})
	}
}

// mapped gives them what processes have: mapped segments, doorbells, process_vm_readv, though all are in one process.
func mapped(opt shm.Options) func(int, rte.Job, *progress.Engine) (*shm.Domain, error) {
	return func(_ int, job rte.Job, e *progress.Engine) (*shm.Domain, error) {
		return shm.Open(shm.Config{Job: job, Engine: e, Options: opt})
	}
}

func TestConformance(t *testing.T) {
	tiny := map[string]string{"btl_sm_fifo_size": "8", "btl_sm_data_size": "4k", "btl_sm_max_send_size": "1k", "btl_sm_eager_limit": "1k"}
	for _, c := range []struct {
		name   string
		shm    func(int, rte.Job, *progress.Engine) (*shm.Domain, error)
		params map[string]string
	}{
		{"Heap", heap(), nil},
		{"HeapTiny", heap(), tiny},
		{"Mapped", mapped(shm.Options{Attach: "auto"}), nil},
		{"MappedSocket", mapped(shm.Options{Attach: "socket"}), map[string]string{"btl_sm_single_copy_mechanism": "none"}},
		{"MappedTiny", mapped(shm.Options{Attach: "proc"}), tiny},
	} {
		t.Run(c.name, func(t *testing.T) {
			btltest.Run(t, btltest.Config{Component: component{}, Shm: c.shm, Params: c.params, RawHandles: strings.HasPrefix(c.name, "Mapped")})
		})
	}
}

func TestUnavailable(t *testing.T) {
	if _, err := (component{}).Open(&btl.Env{}); err == nil || !strings.Contains(err.Error(), "alone on this host") {
		t.Errorf("Open without shared memory: %v", err)
	}
}

// duo is two ranks and the endpoint from the first to the second.
type duo struct {
	*btltest.World
	ep *endpoint
	to *module
}

// sized makes the rings of rank 0 of a given size.
type sized struct {
	component
	geo geometry
}

func (c sized) Open(env *btl.Env) ([]btl.Module, error) {
	mods, err := c.component.Open(env)
	if err == nil && c.geo.slots != 0 && env.Job.Rank() == 0 {
		mods[0].(*module).geo = c.geo
	}
	return mods, err
}

func newDuo(t testing.TB, cfg btltest.Config, geo geometry) *duo {
	t.Helper()
	cfg.Component = sized{component{}, geo}
	if cfg.Shm == nil {
		cfg.Shm = heap()
	}
	d := &duo{World: btltest.NewWorld(t, cfg, 2)}
	d.ep, d.to = d.Ranks[0].Endpoints[1].(*endpoint), d.Ranks[1].Module.(*module)
	return d
}

// connect has the receiver listen to the empty ring.
func (d *duo) connect(t testing.TB) {
	t.Helper()
	d.Until(t, "the ring", func() bool { return len(d.to.rings) == 1 })
}

// offset is where p lies in the ring's box.
func (d *duo) offset(p unsafe.Pointer) int64 { return int64(uintptr(p) - uintptr(d.ep.ring.box)) }

// TestSegmentFull: where a ring does not fit the peer is left to other transports, and the user is told what to do.
func TestSegmentFull(t *testing.T) {
	w := btltest.NewWorld(t, btltest.Config{Component: component{}, Shm: mapped(shm.Options{Attach: "auto", SegmentSize: 64 << 10})}, 2)
	for i, r := range w.Ranks {
		if err := r.Reasons[1-i]; r.Endpoints[1-i] != nil || err == nil || !strings.Contains(err.Error(), "shm_segment_size") {
			t.Errorf("rank %d: endpoint %v, because %v", i, r.Endpoints[1-i], err)
		}
		if said := r.Said()["sm-ring"]; !strings.Contains(said, "shm_segment_size") {
			t.Errorf("rank %d says %q", i, said)
		}
	}
}

// TestTooLarge: fragments above what the ring was made for are refused, not cut.
func TestTooLarge(t *testing.T) {
	d := newDuo(t, btltest.Config{}, geometry{slots: 8, data: 256})
	if _, err := d.ep.Send(btltest.NewFrag(&btltest.Completions{}, tag, 0, 16, 257)); err == nil || !strings.Contains(err.Error(), "max_send_size") {
		t.Errorf("Send of more than the data area: %v", err)
	}
	if _, err := d.ep.Send(btltest.NewFrag(&btltest.Completions{}, tag, 0, btl.HeaderMax, 256-btl.HeaderMax+1)); err == nil {
		t.Error("Send of a header and payload that have no room together")
	}
}

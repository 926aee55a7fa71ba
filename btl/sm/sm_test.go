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
			btltest.Run(t, btltest.Config{Component: component{}, Shm: c.shm, Params: c.params})
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

func newDuo(t testing.TB, cfg btltest.Config, geo geometry) *duo {
	t.Helper()
	cfg.Component = component{}
	if cfg.Shm == nil {
		cfg.Shm = heap()
	}
	d := &duo{World: btltest.NewWorld(t, cfg, 2)}
	if geo.slots != 0 {
		d.Ranks[0].Module.(*module).geo = geo
	}
	d.ep, d.to = d.Ranks[0].Endpoints[1].(*endpoint), d.Ranks[1].Module.(*module)
	return d
}

// connect makes the ring, empty, and has the receiver listen to it.
func (d *duo) connect(t testing.TB) {
	t.Helper()
	var err error
	d.Ranks[0].Do(func() { err = d.ep.connect() })
	if err != nil {
		t.Fatal(err)
	}
	d.Until(t, "the ring", func() bool { return len(d.to.rings) == 1 || len(d.Ranks[1].Failures()) > 0 })
}

// offset is where p lies in the ring's box.
func (d *duo) offset(p unsafe.Pointer) int64 { return int64(uintptr(p) - uintptr(d.ep.ring.box)) }

// TestSegmentFull: a ring that does not fit is an error that says what to do, not a hang.
func TestSegmentFull(t *testing.T) {
	d := newDuo(t, btltest.Config{Shm: mapped(shm.Options{Attach: "auto", SegmentSize: 64 << 10})}, geometry{})
	_, err := d.ep.Send(btltest.NewFrag(&btltest.Completions{}, tag, 0, 16, 8))
	if err == nil || !strings.Contains(err.Error(), "shm_segment_size") {
		t.Errorf("Send without room for a ring: %v", err)
	}
	if d.ep.SendInline(tag, 0, 0, nil, 0) {
		t.Error("an inline message was taken")
	}
}

// TestTooLarge: fragments above what the ring was made for are refused, not cut.
func TestTooLarge(t *testing.T) {
	d := newDuo(t, btltest.Config{}, geometry{slots: 8, data: 256})
	if _, err := d.ep.Send(btltest.NewFrag(&btltest.Completions{}, tag, 0, 16, 257)); err == nil || !strings.Contains(err.Error(), "max_send_size") {
		t.Errorf("Send of more than the data area: %v", err)
	}
	if _, err := d.ep.Send(btltest.NewFrag(&btltest.Completions{}, tag, 0, dataHdrMax+1, 100)); err == nil {
		t.Error("Send with a header that has no room")
	}
}

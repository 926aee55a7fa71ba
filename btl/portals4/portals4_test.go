package portals4

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/btl/btltest"
	_ "github.com/ompi-go/ompi-go/btl/sm" // what carries the interface's messages
	_ "github.com/ompi-go/ompi-go/btl/tcp"
	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/rte"
)

const tag = btl.TagPML

// config is a world whose interfaces talk over a NAL.
func config(nal string, params map[string]string) btltest.Config {
	all := map[string]string{"btl": "portals4", "portals4_nal": nal}
	maps.Copy(all, params)
	return btltest.Config{Component: component{}, Params: all, Hub: nal == "local"}
}

func TestConformance(t *testing.T) {
	tiny := map[string]string{"btl_portals4_eager_limit": "300", "btl_portals4_max_send_size": "30k", "btl_portals4_credit_bytes": "4k", "btl_portals4_credit_messages": "8",
		"btl_portals4_recv_md_num": "3", "btl_portals4_recv_md_size": "4k", "btl_portals4_free_list_max_num": "4", "btl_portals4_max_pending_ops": "1",
		"btl_portals4_eq_recv_size": "256", "btl_portals4_max_msg_size": "33k", "btl_portals4_recv_memory": "64k"}
	for _, c := range []struct {
		name, nal string
		params    map[string]string
	}{
		{"Local", "local", nil},
		{"LocalTiny", "local", tiny},
		{"Mapped", "shm", nil},
		{"MappedTiny", "shm", tiny},
		{"TCP", "tcp", nil},
		{"NothingCopied", "local", map[string]string{"btl_portals4_copy_limit": "0", "btl_portals4_max_inline_send": "8"}},
		{"EverythingCopied", "local", map[string]string{"btl_portals4_copy_limit": "1m", "btl_portals4_max_inline_send": "4k"}},
	} {
		t.Run(c.name, func(t *testing.T) { btltest.Run(t, config(c.nal, c.params)) })
	}
}

// openAlone opens the component in a job.
func openAlone(t *testing.T, params map[string]string, job rte.Job) ([]btl.Module, error) {
	t.Helper()
	reg, err := mca.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	var in mca.Input
	for name, value := range params {
		in.Settings = append(in.Settings, mca.Setting{Name: name, Value: value, Layer: mca.LayerAPI, Where: "the test"})
	}
	p, err := mca.Load(reg, in)
	if err != nil {
		t.Fatal(err)
	}
	return component{}.Open(&btl.Env{Params: p, Job: job, Registry: reg, Services: &btl.Services{}})
}

// TestOnlyByName: nobody opens an interface who has not asked for it.
func TestOnlyByName(t *testing.T) {
	job := rte.NewHub(1).Job(0)
	for _, list := range []string{"", "^tcp", "sm"} {
		if mods, err := openAlone(t, map[string]string{"btl": list}, job); len(mods) != 0 || err != nil {
			t.Errorf("btl %q: %d modules, %v", list, len(mods), err)
		}
	}
	if _, err := openAlone(t, map[string]string{"btl": "portals4"}, job); !errors.Is(err, btl.ErrUnavailable) || !strings.Contains(err.Error(), "one rank") {
		t.Errorf("alone: %v", err)
	}
}

// TestFit: options agree with each other, whatever the user says.
func TestFit(t *testing.T) {
	for _, c := range []struct {
		ranks int
		o     Options
	}{
		{2, Options{EagerLimit: 32 << 10, MaxSend: 64 << 10, RecvNum: 8, RecvSize: 4 << 10, Window: 4 << 10, EQSize: 256, Slots: 4, MaxPending: 1, MaxMsg: 1 << 40}},
		{5000, Options{EagerLimit: 16 << 20, MaxSend: 256, RecvNum: 3, RecvSize: 64 << 20, Window: 64 << 20, EQSize: 1 << 20, Slots: 64, MaxPending: 256, MaxMsg: 1 << 40}},
	} {
		o := c.o
		limits := limitsOf(1 << 20)
		o.fit(limits, c.ranks)
		events := o.EQSize - eqSpare - o.Slots - o.MaxPending - rankEvents*c.ranks
		if o.most() > 1<<20 || o.MaxMsg > 1<<20 || o.RecvSize < 2*o.most() || o.Window < 2*o.most() || events < 0 {
			t.Errorf("%d ranks: %+v became %+v, %d events to spare", c.ranks, c.o, o, events)
		}
		// Blocks for what was promised, though the largest message may be lost at the end of each.
		for _, bytes := range []int64{1, o.Window, 100 * o.Window} {
			if n := o.blocksFor(bytes, o.most()); int64(n-2)*(o.RecvSize-o.most()) < bytes {
				t.Errorf("%d blocks of %d bytes for %d", n, o.RecvSize, bytes)
			}
		}
	}
}

// TestUnreached: peers that do not fit are told why.
func TestUnreached(t *testing.T) {
	w := btltest.NewWorld(t, config("local", nil), 3)
	m := w.Ranks[0].Module.(*module)
	if err := w.Ranks[0].Reasons[0]; err == nil || !strings.Contains(err.Error(), "not to itself") {
		t.Errorf("itself: %v", err)
	}
	m.number = 1
	if err := m.reaches(w.Ranks[0].Env.Procs[1]); err == nil || !strings.Contains(err.Error(), "btl_portals4_max_btls") {
		t.Errorf("the second module: %v", err)
	}
	m.number = 0
	m.most = 1 << 20
	if err := m.reaches(w.Ranks[0].Env.Procs[1]); err == nil || !strings.Contains(err.Error(), "btl_portals4_max_send_size") {
		t.Errorf("longer messages: %v", err)
	}
}

// TestSettable: the eager limit can change while messages go, up to what peers were promised.
func TestSettable(t *testing.T) {
	w := btltest.NewWorld(t, config("local", nil), 2)
	r := w.Ranks[0]
	for value, ok := range map[string]bool{"100": true, "65537": false} {
		if err := r.Env.Params.Set("btl_portals4_eager_limit", value); (err == nil) != ok {
			t.Errorf("%s: %v", value, err)
		}
	}
	if got := r.Module.Limits().Eager; got != 100 {
		t.Errorf("the limit is %d", got)
	}
}

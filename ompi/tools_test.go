package ompi_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ompi-go/ompi-go/ompi"
)

func cvar(i *ompi.Instance, name string) ompi.Cvar {
	for _, v := range i.Cvars() {
		if v.Name == name {
			return v
		}
	}
	panic("no parameter " + name)
}

// TestCvars: settable parameters are those that concern this rank alone; writes are checked as at start and say where they come
// from; components see them.
func TestCvars(t *testing.T) {
	aboutOb1(t)
	job(t, 2, func(w *ompi.Comm) error {
		var m must
		i := w.Instance()
		var settable []string
		for _, v := range i.Cvars() {
			if v.Settable {
				settable = append(settable, v.Name)
			}
		}
		want := "btl_portals4_eager_limit btl_self_eager_limit btl_sm_eager_limit btl_tcp_eager_limit btl_udp_eager_limit mpi_sleep_after pml_ob1_send_pipeline_depth pml_ob1_recv_pipeline_depth pml_ob1_protocol"
		m.that(strings.Join(settable, " ") == want, "settable: %s", settable)

		for _, bad := range []struct{ name, value, text string }{
			{"btl_sm_eager_limit", "many", "bad value"},
			{"btl_sm_eager_limit", "2m", "too large"},
			{"btl_sm_eager_limit", "512k", "rings"},
			{"pml_ob1_send_pipeline_depth", "0", "too small"},
			{"pml_ob1_protocol", "telepathy", "bad value"},
			{"coll_basic_allreduce_long", "1k", "run time"},
			{"btl", "self", "run time"},
		} {
			v := cvar(i, bad.name)
			err := v.Set(bad.value)
			m.that(errors.Is(err, ompi.ErrArg) && strings.Contains(err.Error(), bad.text) && v.Get() == v.Value, "%s=%s: %v, now %s", bad.name, bad.value, err, v.Get())
		}
		for _, name := range settable {
			v := cvar(i, name)
			m.ok(v.Set(v.Value))
			m.that(cvar(i, name).Source.Source() == "run time", "%s comes from %s", name, cvar(i, name).Source.Source())
		}

		s, err := i.Pvars()
		m.ok(err)
		rndv := func() (n uint64) {
			for _, v := range s.Read() {
				if v.Name == "ompi_pml_messages_sent_total" && (v.Labels["protocol"] == "rndv" || v.Labels["protocol"] == "rget") {
					n += v.Value
				}
			}
			return n
		}
		b, peer := make([]byte, 2000), 1-w.Rank()
		exchange := func() {
			_, err := w.Sendrecv(ompi.Slice(b), peer, 0, ompi.Slice(make([]byte, 2000)), peer, 0)
			m.ok(err)
		}
		exchange()
		s.Reset()
		exchange()
		m.that(rndv() == 0, "%d long messages at the default limit", rndv())
		m.ok(cvar(i, "btl_sm_eager_limit").Set("1k"))
		m.that(cvar(i, "btl_sm_eager_limit").Get() == "1024", "the limit is %s", cvar(i, "btl_sm_eager_limit").Get())
		exchange()
		m.that(rndv() == 1, "%d long messages at the lower limit", rndv())
		m.ok(cvar(i, "btl_sm_eager_limit").Set("32k"))
		exchange()
		m.that(rndv() == 1, "%d long messages at the higher limit", rndv())
		s.Reset()
		m.that(rndv() == 0, "Reset leaves %d", rndv())
		return m.err
	})
}

// TestPvars: sessions count apart, and say in what.
func TestPvars(t *testing.T) {
	job(t, 1, func(w *ompi.Comm) error {
		var m must
		a, err := w.Instance().Pvars()
		m.ok(err)
		b, err := w.Instance().Pvars()
		m.ok(err)
		send := func() {
			m.ok(w.Send(ompi.Slice(make([]byte, 100)), 0, 0))
			_, err := w.Recv(ompi.Slice(make([]byte, 100)), 0, 0)
			m.ok(err)
		}
		bytes := func(s *ompi.PvarSession) (n uint64) {
			for _, v := range s.Read() {
				if v.Name == "ompi_pml_bytes_sent_total" {
					m.that(v.Unit == "bytes" && v.Help != "", "%+v", v)
					n += v.Value
				}
			}
			return n
		}
		send()
		m.that(bytes(a) == 100, "%d bytes", bytes(a))
		a.Reset()
		send()
		m.that(bytes(a) == 100 && bytes(b) == 200, "%d and %d bytes", bytes(a), bytes(b))
		return m.err
	})
}

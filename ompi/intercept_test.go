package ompi_test

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/ompi-go/ompi-go/ompi"
)

// recorder is an interceptor that keeps what it sees.
type recorder struct {
	mu    sync.Mutex
	calls []ompi.Call
}

func (r *recorder) see(call ompi.Call, next func() error) error {
	r.mu.Lock()
	r.calls = append(r.calls, call)
	r.mu.Unlock()
	return next()
}

func (r *recorder) take() []ompi.Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	calls := r.calls
	r.calls = nil
	return calls
}

// TestInterceptor: each call is seen once, under MPI's name, and nothing that it does inside.
func TestInterceptor(t *testing.T) {
	var rec recorder
	job(t, 1, func(w *ompi.Comm) error {
		var m must
		i := w.Instance()
		b, x := ompi.Slice([]byte{1}), ompi.Slice(make([]byte, 1))
		rec.take()
		saw := func(want ...string) {
			var got []string
			for _, c := range rec.take() {
				got = append(got, c.Name)
			}
			m.that(slices.Equal(got, want), "saw %v, want %v", got, want)
		}
		wait := func(r ompi.Request) { _, err := r.Wait(); m.ok(err) }

		m.ok(w.Send(b, 0, 1))
		_, err := w.Recv(x, ompi.AnySource, 1)
		m.ok(err)
		saw("Send", "Recv")
		m.ok(w.Rsend(b, ompi.ProcNull, 1))
		m.ok(w.Ssend(b, ompi.ProcNull, 1))
		m.that(w.Send(b, 3, 1) != nil, "Send to nobody")
		saw("Rsend", "Ssend", "Send")

		r := w.Irecv(x, 0, 1)
		wait(w.Isend(b, 0, 1))
		_, ok, err := r.Status()
		for !ok && err == nil {
			_, ok, err = r.Test()
		}
		rec.take()
		wait(r)
		saw("Wait")
		for _, start := range []struct {
			name string
			f    func(ompi.Buffer, int, int) ompi.Request
		}{{"Isend", w.Isend}, {"Issend", w.Issend}, {"Irsend", w.Irsend}, {"Ibsend", w.Ibsend}, {"Irecv", w.Irecv}} {
			r := start.f(b, ompi.ProcNull, 0)
			m.ok(ompi.WaitAll(r))
			saw(start.name, "Waitall")
		}
		for _, start := range []struct {
			name string
			f    func(ompi.Buffer, int, int) ompi.Request
		}{{"Send_init", w.SendInit}, {"Ssend_init", w.SsendInit}, {"Rsend_init", w.RsendInit}, {"Bsend_init", w.BsendInit}, {"Recv_init", w.RecvInit}} {
			r := start.f(b, ompi.ProcNull, 0)
			m.ok(r.Start())
			_, _, err := ompi.WaitAny(r)
			m.ok(err)
			m.ok(ompi.StartAll(r))
			_, err = ompi.WaitSome([]ompi.Request{r}, make([]int, 1), nil)
			m.ok(err)
			m.ok(r.Free())
			saw(start.name, "Start", "Waitany", "Startall", "Waitsome", "Request_free")
		}
		r = w.Irecv(x, 0, 1)
		reqs := []ompi.Request{r}
		_, _ = ompi.TestAll(r)
		_, _ = ompi.TestAllStatus(reqs, make([]ompi.Status, 1))
		_, _, _, _ = ompi.TestAny(r)
		_, _ = ompi.TestSome(reqs, make([]int, 1), nil)
		_, _, _ = r.Test()
		_, _, _ = r.Status()
		m.ok(r.Cancel())
		m.ok(ompi.WaitAllStatus(reqs, make([]ompi.Status, 1)))
		saw("Irecv", "Testall", "Testall", "Testany", "Testsome", "Test", "Request_get_status", "Cancel", "Waitall")

		_, err = w.Sendrecv(b, 0, 0, x, 0, 0)
		m.ok(err)
		_, err = w.SendrecvReplace(x, 0, 0, 0, 0)
		m.ok(err)
		wait(w.Isendrecv(b, 0, 0, x, 0, 0))
		saw("Sendrecv", "Sendrecv_replace", "Isendrecv", "Wait")

		m.ok(i.AttachBuffer(make([]byte, 100)))
		m.ok(w.Bsend(b, 0, 9))
		_, err = w.Probe(0, 9)
		m.ok(err)
		_, _, err = w.Iprobe(0, 9)
		m.ok(err)
		msg, _, err := w.Mprobe(0, 9)
		m.ok(err)
		_, _, _, err = w.Improbe(0, 9)
		m.ok(err)
		_, err = msg.Recv(x)
		m.ok(err)
		m.ok(i.FlushBuffer())
		_, err = i.DetachBuffer()
		m.ok(err)
		saw("Buffer_attach", "Bsend", "Probe", "Iprobe", "Mprobe", "Improbe", "Mrecv", "Buffer_flush", "Buffer_detach")

		s, p := w.PsendInit(b, 1, 0, 0), w.PrecvInit(x, 1, 0, 0)
		m.ok(ompi.StartAll(s, p))
		m.ok(s.Pready(0))
		_, err = p.Parrived(0)
		m.ok(err)
		m.ok(ompi.WaitAll(s, p))
		saw("Psend_init", "Precv_init", "Startall", "Pready", "Parrived", "Waitall")
		r = i.GrequestStart(ompi.GrequestFuncs{})
		m.ok(r.GrequestComplete())
		wait(r)
		saw("Grequest_start", "Grequest_complete", "Wait")

		d, err := w.Dup()
		m.ok(err)
		m.ok(d.Barrier())
		m.ok(d.Free())
		_, err = w.Split(0, 0)
		m.ok(err)
		_, err = w.SplitType(ompi.SplitHost, 0)
		m.ok(err)
		_, err = w.Create(w.Group())
		m.ok(err)
		saw("Comm_dup", "Barrier", "Comm_free", "Comm_split", "Comm_split_type", "Comm_create")
		m.ok(w.Bcast(b, 0))
		m.ok(w.Allreduce(b, x, ompi.Max))
		saw("Bcast", "Allreduce")
		return m.err
	}, ompi.WithInterceptor(rec.see))
}

// TestInterceptorSays: what an interceptor is told, and that its answer is the call's.
func TestInterceptorSays(t *testing.T) {
	var rec recorder
	mine := errors.New("not now")
	deny := ""
	job(t, 1, func(w *ompi.Comm) error {
		var m must
		b := make([]int32, 5)
		rec.take()
		m.ok(w.Send(ompi.Slice(b), 0, 4))
		c := rec.take()[0]
		m.that(c == ompi.Call{Name: "Send", Comm: w, Peer: 0, Bytes: 20}, "Send is %+v", c)
		deny = "Recv"
		_, err := w.Recv(ompi.Slice(b), 0, 4)
		m.that(errors.Is(err, mine), "Recv: %v", err)
		deny = "Irecv"
		_, err = w.Irecv(ompi.Slice(b), 0, 4).Wait()
		m.that(errors.Is(err, mine), "Irecv: %v", err)
		deny = ""
		st, err := w.Recv(ompi.Slice(b), 0, 4)
		m.that(err == nil && st.Bytes() == 20, "Recv: %+v, %v", st, err)
		return m.err
	}, ompi.WithInterceptor(func(call ompi.Call, next func() error) error {
		if call.Name == deny {
			return mine
		}
		return rec.see(call, next)
	}))
}

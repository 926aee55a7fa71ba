package ompi_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/metrics"
	"github.com/ompi-go/ompi-go/ompi"
)

// counters are the values of a gatherer, by name without the prefix and labels without the rank.
func counters(g prometheus.Gatherer) (map[string]uint64, error) {
	families, err := g.Gather()
	if err != nil {
		return nil, err
	}
	out := make(map[string]uint64)
	for _, f := range families {
		for _, m := range f.Metric {
			key := strings.TrimSuffix(strings.TrimPrefix(f.GetName(), "ompi_"), "_total")
			for _, l := range m.Label {
				if l.GetName() != metrics.RankLabel {
					key += " " + l.GetValue()
				}
			}
			out[key] = uint64(m.Counter.GetValue())
		}
	}
	return out, nil
}

// grown runs f and gives the counters that have changed; those of the progress engine, which depend on time, are left out.
func grown(w *ompi.Comm, f func() error) (map[string]uint64, error) {
	before, err := counters(w.Instance().Metrics())
	if err != nil {
		return nil, err
	}
	if err := f(); err != nil {
		return nil, err
	}
	after, err := counters(w.Instance().Metrics())
	if err != nil {
		return nil, err
	}
	for key, v := range after {
		if v < before[key] {
			return nil, fmt.Errorf("%s went from %d to %d", key, before[key], v)
		}
		if after[key] = v - before[key]; after[key] == 0 || strings.HasPrefix(key, "progress_") {
			delete(after, key)
		}
	}
	return after, nil
}

// The sizes of this test's transport, so that no default matters.
var countedSizes = []ompi.Option{
	ompi.WithParam("btl_sm_max_inline_send", "256"), ompi.WithParam("btl_sm_eager_limit", "16k"),
	ompi.WithParam("btl_sm_max_send_size", "32k"), ompi.WithParam("btl_sm_rndv_eager_limit", "0"),
	ompi.WithParam("btl", "self,sm"),
}

const bigMessage = 64 << 10

// TestCountersOfAKnownExchange: each protocol, and messages that come before their receives.
func TestCountersOfAKnownExchange(t *testing.T) {
	aboutOb1(t)
	columns, err := datatype.Vector(bigMessage/8, 1, 2, datatype.Int64)
	if err != nil {
		t.Fatal(err)
	}
	if err := columns.Commit(); err != nil {
		t.Fatal(err)
	}
	want := []map[string]uint64{{
		"pml_messages_sent inline": 5, "pml_bytes_sent inline": 40, // three small ones, two more at the end
		"pml_messages_sent eager": 2, "pml_bytes_sent eager": 2000,
		"pml_messages_sent coop": 1, "pml_bytes_sent coop": bigMessage,
		"pml_messages_sent rndv": 2, "pml_bytes_sent rndv": bigMessage + 8, // not contiguous; synchronous
		"pml_messages_received eager": 1, "pml_bytes_received eager": 8, "pml_matches": 1,
		// The first fragments, and those of the one that is not contiguous.
		"btl_messages_sent sm process": 10 + 3, "btl_bytes_sent sm process": 40 + 2000 + bigMessage + 8,
	}, {
		"pml_messages_sent inline": 1, "pml_bytes_sent inline": 8,
		"pml_messages_received eager": 7, "pml_bytes_received eager": 2040,
		"pml_messages_received coop": 1, "pml_bytes_received coop": bigMessage,
		"pml_messages_received rndv": 2, "pml_bytes_received rndv": bigMessage + 8,
		"pml_matches": 10, "pml_unexpected": 1, "pml_kept_bytes": 512, "pml_released_bytes": 512, "pml_kept_highest_bytes": 512,
		// The start signal, an ACK for each rndv, a FIN for the coop.
		"btl_messages_sent sm process": 4, "btl_bytes_sent sm process": 8,
		"btl_gets sm process": 1, "btl_get_bytes sm process": bigMessage,
	}}
	var both sync.WaitGroup
	both.Add(2)
	job(t, 2, func(w *ompi.Comm) error {
		small, medium := make([]byte, 8), make([]byte, 1000)
		big, wide := make([]byte, bigMessage), make([]int64, bigMessage/8*2)
		send := func() error {
			if _, err := w.Recv(ompi.Slice(small), 1, 0); err != nil {
				return err
			}
			var errs []error
			for range 3 {
				errs = append(errs, w.Send(ompi.Slice(small), 1, 1))
			}
			for range 2 {
				errs = append(errs, w.Send(ompi.Slice(medium), 1, 2))
			}
			errs = append(errs, w.Send(ompi.Slice(big), 1, 3), w.Send(ompi.Typed(wide, 1, columns), 1, 4),
				w.Send(ompi.Slice(small), 1, 6), w.Send(ompi.Slice(small), 1, 5), w.Ssend(ompi.Slice(small), 1, 7))
			return errors.Join(errs...)
		}
		receive := func() error {
			// All receives but that of tag 6 are there before the first message.
			var reqs []ompi.Request
			for i := range 3 {
				reqs = append(reqs, w.Irecv(ompi.Slice(make([]byte, 8+i)), 0, 1))
			}
			for range 2 {
				reqs = append(reqs, w.Irecv(ompi.Slice(make([]byte, len(medium))), 0, 2))
			}
			reqs = append(reqs, w.Irecv(ompi.Slice(big), 0, 3), w.Irecv(ompi.Typed(wide, 1, columns), 0, 4),
				w.Irecv(ompi.Slice(make([]byte, 8)), 0, 5), w.Irecv(ompi.Slice(make([]byte, 8)), 0, 7))
			if err := w.Send(ompi.Slice(small), 0, 0); err != nil {
				return err
			}
			if err := ompi.WaitAll(reqs...); err != nil {
				return err
			}
			_, err := w.Recv(ompi.Slice(small), 0, 6)
			return err
		}
		part := []func() error{send, receive}[w.Rank()]
		got, err := grown(w, part)
		both.Done()
		both.Wait() // what a rank does next may reach the other before that one has counted
		if err != nil {
			return err
		}
		// Whether a send found room at once depends on how soon the other rank looks.
		delete(got, "pml_retries")
		if !maps.Equal(got, want[w.Rank()]) {
			t.Errorf("rank %d:\ngot  %v\nwant %v", w.Rank(), got, want[w.Rank()])
		}
		return nil
	}, countedSizes...)
}

// TestCountersOfMessagesToSelf: messages that never leave the rank are counted like others.
func TestCountersOfMessagesToSelf(t *testing.T) {
	aboutOb1(t)
	job(t, 1, func(w *ompi.Comm) error {
		got, err := grown(w, func() error {
			buf := make([]byte, 8)
			for range 3 {
				r := w.Irecv(ompi.Slice(buf), 0, 0)
				if err := w.Send(ompi.Slice(make([]byte, 8)), 0, 0); err != nil {
					return err
				}
				if _, err := r.Wait(); err != nil {
					return err
				}
			}
			return nil
		})
		want := map[string]uint64{
			"pml_messages_sent inline": 3, "pml_bytes_sent inline": 24, "pml_messages_received eager": 3, "pml_bytes_received eager": 24,
			"pml_matches": 3, "btl_messages_sent self self": 3, "btl_bytes_sent self self": 24,
		}
		if !maps.Equal(got, want) {
			t.Errorf("got  %v\nwant %v", got, want)
		}
		return err
	})
}

// TestMetricsAfterFinalize: the last values stay, and those of several ranks go together.
func TestMetricsAfterFinalize(t *testing.T) {
	const n = 3
	var ranks [n]*ompi.Instance
	job(t, n, func(w *ompi.Comm) error {
		ranks[w.Rank()] = w.Instance()
		if err := w.Barrier(); err != nil {
			return err
		}
		before, err := counters(w.Instance().Metrics())
		if err != nil {
			return err
		}
		if err := w.Instance().Finalize(); err != nil {
			return err
		}
		after, err := counters(w.Instance().Metrics())
		if err != nil {
			return err
		}
		for key, v := range before {
			if after[key] < v {
				return fmt.Errorf("%s was %d and is %d after Finalize", key, v, after[key])
			}
		}
		return nil
	}, ompi.WithParam("coll", "basic"))
	var all prometheus.Gatherers
	total := uint64(0)
	for _, i := range ranks {
		all = append(all, i.Metrics())
		c, err := counters(i.Metrics())
		if err != nil {
			t.Fatal(err)
		}
		total += c["pml_messages_sent inline"]
	}
	if total == 0 {
		t.Error("a barrier without a message")
	}
	families, err := all.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		seen := make(map[string]bool)
		for _, m := range f.Metric {
			for _, l := range m.Label {
				if l.GetName() == metrics.RankLabel {
					seen[l.GetValue()] = true
				}
			}
		}
		if len(seen) != n {
			t.Errorf("%s has series of the ranks %v", f.GetName(), seen)
		}
	}
}

// counting is a BTL that reaches nobody and has a counter.
type counting struct{ desc *metrics.Desc }

func (counting) Framework() string                     { return "btl" }
func (counting) Name() string                          { return "counting" }
func (counting) Options() any                          { return nil }
func (c counting) Open(*btl.Env) ([]btl.Module, error) { return []btl.Module{c, c}, nil }
func (counting) Limits() btl.Limits                    { return btl.Limits{} }
func (counting) Flush() bool                           { return true }
func (counting) Close() error                          { return nil }
func (c counting) Describe() []*metrics.Desc           { return []*metrics.Desc{c.desc} }
func (c counting) Metrics(emit metrics.Emit)           { emit(c.desc, 21) }
func (counting) AddProcs([]*core.Proc) ([]btl.Endpoint, []error) {
	return []btl.Endpoint{nil}, []error{errors.New("it reaches nobody")}
}

// TestMetricsOfAnOutsideComponent: its counters are shown, those of its modules added; a wrong declaration is told to whoever
// asks, and to nobody else.
func TestMetricsOfAnOutsideComponent(t *testing.T) {
	good := &metrics.Desc{Name: "ompi_btl_oddities_total", Help: "Odd things."}
	job(t, 1, func(w *ompi.Comm) error {
		c, err := counters(w.Instance().Metrics())
		if err == nil && c["btl_oddities"] != 42 {
			err = fmt.Errorf("the counter is %d", c["btl_oddities"])
		}
		return err
	}, ompi.WithComponent(counting{good}))
	bad := &metrics.Desc{Name: "oddities", Help: "Odd things."}
	job(t, 1, func(w *ompi.Comm) error {
		if _, err := counters(w.Instance().Metrics()); err == nil || !strings.Contains(err.Error(), `"oddities"`) {
			return fmt.Errorf("error %v", err)
		}
		return nil
	}, ompi.WithComponent(counting{bad}))
}

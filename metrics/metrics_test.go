package metrics

import (
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"pgregory.net/rapid"
)

var (
	callsDesc = &Desc{Name: "ompi_test_calls_total", Help: "Calls."}
	sentDesc  = &Desc{Name: "ompi_test_sent_total", Help: "Things sent.", Labels: []string{"btl", "peer"}}
)

// source emits what its function says.
type source struct {
	descs []*Desc
	read  func(Emit)
}

func (s source) Describe() []*Desc { return s.descs }

func (s source) Metrics(emit Emit) {
	if s.read != nil {
		s.read(emit)
	}
}

func TestDescribe(t *testing.T) {
	for _, c := range []struct {
		name string
		desc Desc
		want string // in the error; empty: none
	}{
		{"good", Desc{Name: "ompi_btl_resent_total", Help: "x", Labels: []string{"btl", "peer"}}, ""},
		{"the same again", Desc{Name: sentDesc.Name, Help: sentDesc.Help, Labels: []string{"btl", "peer"}}, ""},
		{"no total", Desc{Name: "ompi_btl_resent", Help: "x"}, `"ompi_btl_resent" is not named`},
		{"no prefix", Desc{Name: "btl_resent_total", Help: "x"}, "is not named"},
		{"nothing between", Desc{Name: "ompi_total", Help: "x"}, "is not named"},
		{"no help", Desc{Name: "ompi_x_total"}, "ompi_x_total has no help"},
		{"the rank", Desc{Name: "ompi_x_total", Help: "x", Labels: []string{"rank"}}, `label "rank"`},
		{"a label twice", Desc{Name: "ompi_x_total", Help: "x", Labels: []string{"a", "a"}}, `label "a"`},
		{"a label malformed", Desc{Name: "ompi_x_total", Help: "x", Labels: []string{"A b"}}, `label "A b"`},
		{"another help", Desc{Name: sentDesc.Name, Help: "x", Labels: []string{"btl", "peer"}}, "declared twice"},
		{"other labels", Desc{Name: sentDesc.Name, Help: sentDesc.Help, Labels: []string{"btl"}}, "declared twice"},
	} {
		t.Run(c.name, func(t *testing.T) {
			all, err := Describe(source{descs: []*Desc{sentDesc, callsDesc}}, source{descs: []*Desc{&c.desc}})
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				for i := 1; i < len(all); i++ {
					if all[i-1].Name >= all[i].Name {
						t.Errorf("%s comes before %s", all[i-1].Name, all[i].Name)
					}
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
			if _, err := NewCollector(&sync.Mutex{}, nil, source{descs: []*Desc{sentDesc, callsDesc, &c.desc}}); err == nil {
				t.Error("a collector of it can be made")
			}
		})
	}
}

// token is a lock that knows whether it is held.
type token struct {
	sync.Mutex
	held bool
}

func (l *token) Lock()   { l.Mutex.Lock(); l.held = true }
func (l *token) Unlock() { l.held = false; l.Mutex.Unlock() }

func register(t *testing.T, lock sync.Locker, constant map[string]string, sources ...Source) *prometheus.Registry {
	t.Helper()
	c, err := NewCollector(lock, constant, sources...)
	if err != nil {
		t.Fatal(err)
	}
	r := prometheus.NewPedanticRegistry()
	if err := r.Register(c); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestText(t *testing.T) {
	var lock token
	n := uint64(0)
	first := source{[]*Desc{callsDesc, sentDesc}, func(emit Emit) {
		if !lock.held {
			t.Error("read without the token")
		}
		n++
		emit(callsDesc, n)
		emit(sentDesc, 1<<40, "sm", "host")
		emit(sentDesc, 5, "tcp", "remote")
	}}
	second := source{[]*Desc{sentDesc}, func(emit Emit) {
		emit(sentDesc, 2, "tcp", "remote")
		emit(sentDesc, 3, "tcp", "host")
	}}
	r := register(t, &lock, map[string]string{RankLabel: "7"}, first, second)
	for _, calls := range []string{"1", "2"} {
		got, err := Text(r)
		if err != nil {
			t.Fatal(err)
		}
		want := `# HELP ompi_test_calls_total Calls.
# TYPE ompi_test_calls_total counter
ompi_test_calls_total{rank="7"} ` + calls + `
# HELP ompi_test_sent_total Things sent.
# TYPE ompi_test_sent_total counter
ompi_test_sent_total{btl="sm",peer="host",rank="7"} 1.099511627776e+12
ompi_test_sent_total{btl="tcp",peer="host",rank="7"} 3
ompi_test_sent_total{btl="tcp",peer="remote",rank="7"} 7
`
		if string(got) != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
	}
	if lock.held {
		t.Error("the token was kept")
	}
}

// TestWrongEmission: what a source does wrong is an error of the scrape, not a panic and not a wrong number.
func TestWrongEmission(t *testing.T) {
	for _, c := range []struct {
		name string
		read func(Emit)
		want string
	}{
		{"not described", func(emit Emit) { emit(callsDesc, 1) }, "ompi_test_calls_total with the labels [] is emitted but not described"},
		{"described otherwise", func(emit Emit) { emit(&Desc{Name: sentDesc.Name, Help: sentDesc.Help}, 1) }, "not described"},
		{"a label missing", func(emit Emit) { emit(sentDesc, 1, "sm") }, "ompi_test_sent_total"},
		{"bytes that are no text", func(emit Emit) { emit(sentDesc, 1, "sm", "\xff\xfe") }, "UTF-8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, err := Text(register(t, &sync.Mutex{}, nil, source{[]*Desc{sentDesc}, c.read}))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q; text\n%s", err, c.want, text)
			}
		})
	}
}

// TestManyReaders: scrapes go on while counters move; the race detector watches, and no reader sees a counter go back.
func TestManyReaders(t *testing.T) {
	var lock sync.Mutex
	n := uint64(0)
	r := register(t, &lock, nil, source{[]*Desc{callsDesc}, func(emit Emit) { emit(callsDesc, n) }})
	stop := make(chan struct{})
	var writer, readers sync.WaitGroup
	writer.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			lock.Lock()
			n++
			lock.Unlock()
		}
	})
	for range 4 {
		readers.Go(func() {
			last := -1.0
			for range 50 {
				f, err := r.Gather()
				if err != nil {
					t.Error(err)
					return
				}
				v := f[0].Metric[0].Counter.GetValue()
				if v < last {
					t.Errorf("%g after %g", v, last)
				}
				last = v
			}
		})
	}
	readers.Wait()
	close(stop)
	writer.Wait()
}

// TestSumModel compares sum with a map.
func TestSumModel(t *testing.T) {
	label := rapid.SampledFrom([]string{"", "a", "b", "ab", "a,b"})
	rapid.Check(t, func(t *rapid.T) {
		type series struct {
			desc      *Desc
			btl, peer string
		}
		want := make(map[series]uint64)
		var all []sample
		for range rapid.IntRange(0, 30).Draw(t, "samples") {
			v := rapid.Uint64Range(0, 1<<50).Draw(t, "value")
			if rapid.Bool().Draw(t, "plain") {
				want[series{desc: callsDesc}] += v
				all = append(all, sample{callsDesc, v, nil})
				continue
			}
			k := series{sentDesc, label.Draw(t, "btl"), label.Draw(t, "peer")}
			want[k] += v
			all = append(all, sample{sentDesc, v, []string{k.btl, k.peer}})
		}
		got := make(map[series]uint64)
		for _, s := range sum(all) {
			k := series{desc: s.desc}
			if len(s.labels) == 2 {
				k.btl, k.peer = s.labels[0], s.labels[1]
			}
			if _, twice := got[k]; twice {
				t.Fatalf("%v is there twice", k)
			}
			got[k] = s.value
		}
		if !maps.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

func TestMarkdown(t *testing.T) {
	got := Markdown([]*Desc{callsDesc, {Name: "ompi_a_total", Help: "a | b", Labels: []string{"btl", "peer"}}})
	want := "| Name | Labels | What it counts |\n| --- | --- | --- |\n" +
		"| `ompi_test_calls_total` |  | Calls. |\n" +
		"| `ompi_a_total` | `btl`, `peer` | a \\| b |\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

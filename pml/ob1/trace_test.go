package ob1

import (
	"testing"

	"github.com/ompi-go/ompi-go/trace"
	"github.com/ompi-go/ompi-go/trace/tracetest"
)

// traceWorld has every rank of a world keep a trace, which must be in order when the test ends, whatever it did.
func (w *world) traceWorld(t testing.TB) {
	for _, r := range w.ranks {
		r.Do(func() {
			r.o.tr = &tracer{ring: trace.New(1 << 10), o: r.o, users: func(channel uint32) bool { return channel%2 == 0 }, me: r.Job.Rank()}
		})
	}
	t.Cleanup(func() { w.trace(t) })
}

// trace gives what the ranks have recorded so far.
func (w *world) trace(t testing.TB) *tracetest.File {
	t.Helper()
	b := []byte(trace.Begin)
	for i, r := range w.ranks {
		if i > 0 {
			b = append(b, trace.Separator...)
		}
		b = r.o.tr.ring.Append(b, i)
	}
	b = append(b, trace.End...)
	f, err := tracetest.Parse(b)
	if err != nil {
		t.Errorf("the trace: %v", err)
		return &tracetest.File{}
	}
	return f
}

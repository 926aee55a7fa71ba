package osctest

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/ompi-go/ompi-go/ompi"
)

// rank is one rank while it runs a case. Its checks end the case by a panic, which conduct makes an error of.
type rank struct {
	*ompi.Comm
	cfg   *Config
	log   func(format string, args ...any)
	me, n int
}

// failure is what checks panic with.
type failure struct{ err error }

func fail(format string, args ...any) {
	where := ""
	for skip := 2; skip < 6; skip++ {
		if _, file, line, ok := runtime.Caller(skip); ok {
			where = fmt.Sprintf("%s %s:%d", where, filepath.Base(file), line)
		}
	}
	panic(&failure{fmt.Errorf("%s (%s)", fmt.Sprintf(format, args...), strings.TrimSpace(where))})
}

// ok fails the case when there is an error.
func ok(err error) {
	if err != nil {
		fail("%v", err)
	}
}

// that fails the case unless what must be true is.
func that(truth bool, format string, args ...any) {
	if !truth {
		fail(format, args...)
	}
}

// refused fails the case unless err is of class and its text has all words.
func refused(err error, class ompi.ErrorClass, what string, words ...string) {
	if !errors.Is(err, class) {
		fail("%s: %v, want %v", what, err, class)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			fail("%s: %q does not speak of %q", what, err, w)
		}
	}
}

func done(r ompi.Request) {
	_, err := r.Wait()
	ok(err)
}

// same fails the case at the first byte that is not as it should be.
func same(got, want []byte, format string, args ...any) {
	if bytes.Equal(got, want) {
		return
	}
	if len(got) != len(want) {
		fail("%s: %d bytes, want %d", fmt.Sprintf(format, args...), len(got), len(want))
	}
	k := 0
	for got[k] == want[k] {
		k++
	}
	to := min(k+24, len(got))
	fail("%s: from byte %d on % x, want % x", fmt.Sprintf(format, args...), k, got[k:to], want[k:to])
}

func (r *rank) barrier() { ok(r.Barrier()) }

// threads runs f in n goroutines of this rank.
func (r *rank) threads(n int, f func(k int)) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	var first any
	for k := range n {
		wg.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					mu.Lock()
					defer mu.Unlock()
					if first == nil {
						first = p
					}
				}
			}()
			f(k)
		})
	}
	wg.Wait()
	if first != nil {
		panic(first)
	}
}

// flavors runs f over a window of each kind that is tested and has memory of its own.
func (r *rank) flavors(size, unit int, f func(w *window), opts ...ompi.WinOption) {
	for _, fl := range r.cfg.Flavors {
		w := r.window(fl, size, unit, opts...)
		f(w)
		w.free()
	}
}

// group is the group of some ranks.
func (r *rank) group(ranks ...int) *ompi.Group {
	g, err := r.Group().Incl(ranks)
	ok(err)
	return g
}

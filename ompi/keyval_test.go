package ompi_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"

	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/ompi"
)

func TestAttributesOfCommunicators(t *testing.T) {
	job(t, 2, func(w *ompi.Comm) error {
		var log []string
		note := func(format string, args ...any) { log = append(log, fmt.Sprintf(format, args...)) }
		copied := ompi.NewKeyval(func(v int) (int, bool, error) { note("copy %d", v); return v + 100, true, nil }, func(v int) error { note("delete %d", v); return nil })
		skipped := ompi.NewKeyval(func(v string) (string, bool, error) { note("skip %s", v); return "", false, nil }, func(v string) error { note("delete %s", v); return nil })
		plain := ompi.NewKeyval[[]byte](nil, nil)
		anything := ompi.NewKeyval[any](func(v any) (any, bool, error) { return v, true, nil }, nil)

		c, err := w.Dup()
		if err != nil {
			return err
		}
		if _, ok := copied.Get(c); ok {
			return errors.New("there is a value before the first Set")
		}
		err = errors.Join(copied.Set(c, 1), copied.Set(c, 2), skipped.Set(c, "s"), plain.Set(c, []byte{7}), anything.Set(c, nil))
		if err != nil {
			return err
		}
		d, err := c.Dup()
		if err != nil {
			return err
		}
		if v, ok := copied.Get(d); !ok || v != 102 {
			return fmt.Errorf("the copy is %d, %v", v, ok)
		}
		if v, ok := anything.Get(d); !ok || v != nil {
			return fmt.Errorf("a nil any: %v, %v", v, ok)
		}
		_, s := skipped.Get(d)
		_, p := plain.Get(d)
		if s || p {
			return fmt.Errorf("copied what is not to be copied: %v, %v", s, p)
		}
		e, err := d.Split(0, 0)
		if err != nil {
			return err
		}
		if _, ok := copied.Get(e); ok {
			return errors.New("Split copied an attribute")
		}
		if err := copied.Delete(d); err != nil {
			return err
		}
		if err := copied.Delete(d); !errors.Is(err, ompi.ErrKeyval) {
			return fmt.Errorf("Delete of nothing: %v", err)
		}
		if err := errors.Join(e.Free(), d.Free(), c.Free()); err != nil {
			return err
		}
		want := []string{"delete 1", "copy 2", "skip s", "delete 102", "delete s", "delete 2"}
		if !slices.Equal(log, want) {
			return fmt.Errorf("callbacks %q, want %q", log, want)
		}
		if err := copied.Set(c, 1); !errors.Is(err, ompi.ErrComm) {
			return fmt.Errorf("Set on a freed communicator: %v", err)
		}
		var none *ompi.Keyval[int]
		var nobody *ompi.Comm
		if err := none.Set(w, 1); !errors.Is(err, ompi.ErrKeyval) {
			return fmt.Errorf("a nil key: %v", err)
		}
		if err := copied.Set(nobody, 1); !errors.Is(err, ompi.ErrComm) {
			return fmt.Errorf("a nil communicator: %v", err)
		}
		if err := copied.Set(nil, 1); !errors.Is(err, ompi.ErrArg) {
			return fmt.Errorf("nil: %v", err)
		}
		return nil
	})
}

// TestCopyRefuses: a copy callback's error at one rank fails Dup and Idup on all, and what was copied before goes away again.
func TestCopyRefuses(t *testing.T) {
	eachSize(t, func(w *ompi.Comm) error {
		last := w.Rank() == w.Size()-1
		deleted := 0
		good := ompi.NewKeyval(func(v int) (int, bool, error) { return v, true, nil }, func(int) error { deleted++; return nil })
		bad := ompi.NewKeyval(func(v int) (int, bool, error) {
			if last {
				return 0, false, io.ErrNoProgress
			}
			return v, false, nil
		}, nil)
		c, err := w.Dup()
		if err != nil {
			return err
		}
		if err := errors.Join(good.Set(c, 1), bad.Set(c, 2)); err != nil {
			return err
		}
		check := func(err error) error {
			var e *ompi.Error
			if err == nil || errors.Is(err, io.ErrNoProgress) != last || !errors.As(err, &e) || e.Op == "" {
				return fmt.Errorf("%v", err)
			}
			return nil
		}
		d, err := c.Dup()
		if d != nil || check(err) != nil {
			return fmt.Errorf("Dup: %v, %w", d, check(err))
		}
		_, r, err := c.Idup()
		if err == nil {
			_, err = r.Wait()
		}
		if check(err) != nil {
			return fmt.Errorf("Idup: %w", check(err))
		}
		if deleted != 2 {
			return fmt.Errorf("%d copies deleted, want 2", deleted)
		}
		if err := bad.Delete(c); err != nil {
			return err
		}
		if d, err = c.Dup(); err != nil {
			return err
		}
		return errors.Join(works(d, upTo(w.Size())), d.Free(), c.Free())
	})
}

// TestDeleteRefuses: an error in a delete callback keeps the communicator, on all ranks.
func TestDeleteRefuses(t *testing.T) {
	eachSize(t, func(w *ompi.Comm) error {
		refuse := w.Rank() == 0
		key := ompi.NewKeyval(nil, func(int) error {
			if refuse {
				return io.ErrNoProgress
			}
			return nil
		})
		c, err := w.Dup()
		if err != nil {
			return err
		}
		if err := key.Set(c, 1); err != nil {
			return err
		}
		if err := key.Set(c, 2); errors.Is(err, io.ErrNoProgress) != refuse {
			return fmt.Errorf("replacing: %v", err)
		}
		if err := c.Free(); err == nil || errors.Is(err, io.ErrNoProgress) != refuse {
			return fmt.Errorf("Free: %v", err)
		}
		if v, ok := key.Get(c); refuse && (!ok || v != 1) {
			return fmt.Errorf("the value is %d, %v", v, ok)
		}
		if err := works(c, upTo(w.Size())); err != nil {
			return err
		}
		refuse = false
		return c.Free()
	})
}

// TestSelfIsFreedFirst: attributes of Self go at the beginning of Finalize, the last one first (MPI-3.1 §8.7.1).
func TestSelfIsFreedFirst(t *testing.T) {
	var mu sync.Mutex
	seen := map[int]string{}
	job(t, 3, func(w *ompi.Comm) error {
		me := w.Rank()
		for _, name := range []string{"a", "b", "c"} {
			key := ompi.NewKeyval(nil, func(v string) error {
				mu.Lock()
				seen[me] += v
				mu.Unlock()
				return w.Barrier() // everything still works
			})
			if err := key.Set(w.Instance().Self(), name); err != nil {
				return err
			}
		}
		return nil
	})
	for r, s := range seen {
		if s != "cba" {
			t.Errorf("rank %d: %q", r, s)
		}
	}
	if len(seen) != 3 {
		t.Errorf("callbacks of %d ranks", len(seen))
	}
}

func TestAttributesOfTypes(t *testing.T) {
	key := ompi.NewKeyval(func(v int) (int, bool, error) {
		if v < 0 {
			return 0, false, io.ErrNoProgress
		}
		return v + 1, true, nil
	}, nil)
	v, err := datatype.Vector(2, 1, 2, datatype.Int32)
	if err != nil {
		t.Fatal(err)
	}
	if err := key.Set(v, 1); err != nil {
		t.Fatal(err)
	}
	if n, ok := key.Get(v.Dup().Dup()); !ok || n != 3 {
		t.Errorf("the duplicate's duplicate has %d, %v", n, ok)
	}
	if err := key.Set(v, -1); err != nil {
		t.Fatal(err)
	}
	// Dup has no error: who uses the duplicate gets it.
	bad := v.Dup()
	if err := bad.Commit(); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("Commit: %v", err)
	}
	if err := ompi.Typed(make([]int32, 4), 1, bad).Err(); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("Typed: %v", err)
	}
	if err := key.Delete(v); err != nil {
		t.Fatal(err)
	}
	if err := v.Dup().Commit(); err != nil {
		t.Errorf("without the attribute: %v", err)
	}
}

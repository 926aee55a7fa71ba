package attr

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
)

func TestLifeOfAValue(t *testing.T) {
	var log []string
	k := &Key{Delete: func(v any) error { log = append(log, fmt.Sprint("delete ", v)); return nil }}
	var s Set
	if _, ok := s.Get(k); ok {
		t.Error("an empty set has a value")
	}
	for _, v := range []int{1, 2} {
		if err := s.Put(k, v); err != nil {
			t.Fatal(err)
		}
	}
	if v, ok := s.Get(k); !ok || v != 2 {
		t.Errorf("Get: %v, %v", v, ok)
	}
	for _, want := range []bool{true, false} {
		if had, err := s.Remove(k); had != want || err != nil {
			t.Errorf("Remove: %v, %v", had, err)
		}
	}
	if want := []string{"delete 1", "delete 2"}; !slices.Equal(log, want) {
		t.Errorf("callbacks %q, want %q", log, want)
	}
}

func TestAnErrorKeepsTheValue(t *testing.T) {
	no := errors.New("no")
	k := &Key{Delete: func(any) error { return no }}
	var s Set
	if err := s.Put(k, 1); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(k, 2); !errors.Is(err, no) {
		t.Errorf("Put over it: %v", err)
	}
	if _, err := s.Remove(k); !errors.Is(err, no) {
		t.Errorf("Remove: %v", err)
	}
	if err := s.Clear(); !errors.Is(err, no) {
		t.Errorf("Clear: %v", err)
	}
	if v, ok := s.Get(k); !ok || v != 1 {
		t.Errorf("the value is %v, %v, want 1", v, ok)
	}
}

func TestOrders(t *testing.T) {
	var log []int
	keys := make([]*Key, 4)
	var s Set
	for n := range keys {
		keys[n] = &Key{
			Copy:   func(v any) (any, bool, error) { return v.(int) * 10, n != 2, nil },
			Delete: func(v any) error { log = append(log, v.(int)); return nil },
		}
		if err := s.Put(keys[n], n+1); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Put(&Key{}, 5); err != nil { // without callbacks: not copied
		t.Fatal(err)
	}
	var to Set
	if err := s.Copy(&to); err != nil || to.Len() != 3 {
		t.Fatalf("Copy: %v, %d values", err, to.Len())
	}
	for _, set := range []*Set{&to, &s} {
		if err := set.Clear(); err != nil {
			t.Fatal(err)
		}
	}
	if want := []int{40, 20, 10, 4, 3, 2, 1}; !slices.Equal(log, want) {
		t.Errorf("deleted %v, want %v", log, want)
	}
}

func TestCopyFails(t *testing.T) {
	no := errors.New("no")
	gone := 0
	first := &Key{Copy: func(v any) (any, bool, error) { return v, true, nil }, Delete: func(any) error { gone++; return nil }}
	second := &Key{Copy: func(any) (any, bool, error) { return nil, false, no }}
	var s, to Set
	if err := errors.Join(s.Put(first, 1), s.Put(second, 2)); err != nil {
		t.Fatal(err)
	}
	if err := s.Copy(&to); !errors.Is(err, no) || to.Len() != 0 || gone != 1 {
		t.Errorf("Copy: %v, %d left, %d deleted", err, to.Len(), gone)
	}
}

func TestManyGoroutines(t *testing.T) {
	var s Set
	var wg sync.WaitGroup
	for range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			k := &Key{}
			for n := range 100 {
				_ = s.Put(k, n)
				if v, ok := s.Get(k); !ok || v != n {
					t.Errorf("%v, %v", v, ok)
				}
			}
			_, _ = s.Remove(k)
		}()
	}
	wg.Wait()
	if s.Len() != 0 {
		t.Errorf("%d left", s.Len())
	}
}

package core

import "testing"

// TestStale: a handle is stale when its slot serves another operation, and not before: also not while the outcome is being taken.
func TestStale(t *testing.T) {
	for _, persistent := range []bool{false, true} {
		var r Request
		r.Renew(nil, "", 0, Buffer{})
		r.Persistent = persistent
		h := r.Handle()
		fresh := func(when string, want bool) {
			t.Helper()
			if h.Stale() != want {
				t.Errorf("persistent %v, %s: stale %v", persistent, when, !want)
			}
		}
		fresh("new", false)
		if persistent {
			r.SetActive(true)
			fresh("active", false)
		}
		if !h.Claim() {
			t.Fatal("it cannot be claimed")
		}
		fresh("claimed", false)
		h.Release()
		fresh("taken", false)
		if persistent {
			h.Abandon()
			fresh("freed", false)
		}
		r.Renew(nil, "", 0, Buffer{})
		fresh("in its next life", true)
	}
}

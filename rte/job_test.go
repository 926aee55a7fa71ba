package rte_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/ompi-go/ompi-go/rte"
)

// ringOfTrust is what any job must do, whoever launched it: every rank publishes values small and large, meets the others,
// reads them, and leaves. It is run by goroutine ranks, by ranks under fake launchers, and by processes under real ones.
func ringOfTrust(j rte.Job) error {
	if _, err := j.Get(j.Rank(), "card"); !errors.Is(err, rte.ErrNotFound) {
		return fmt.Errorf("early Get: %w", err)
	}
	large := func(rank int) []byte { return bytes.Repeat([]byte{byte(rank), 0xff, '\n'}, 3000) }
	values := map[string]func(rank int) []byte{
		"card":  func(rank int) []byte { return fmt.Appendf(nil, "rank %d of %d", rank, j.Size()) },
		"large": large,
		"empty": func(int) []byte { return []byte{} },
		"a.b-c_D.0123456789.0123456789.0123456789": func(rank int) []byte { return []byte{byte(rank)} },
	}
	for key, value := range values {
		if err := j.Put(key, value(j.Rank())); err != nil {
			return err
		}
		if err := j.Put(key, nil); err == nil {
			return fmt.Errorf("a second Put of %q works", key)
		}
		if _, err := j.Get(j.Rank(), key); !errors.Is(err, rte.ErrNotFound) {
			return fmt.Errorf("a Get before the Fence: %w", err)
		}
	}
	if err := j.Fence(); err != nil {
		return err
	}
	for rank := range j.Size() {
		for key, value := range values {
			for range 2 { // fetched, then remembered
				got, err := j.Get(rank, key)
				if err != nil || !bytes.Equal(got, value(rank)) {
					return fmt.Errorf("key %q of rank %d: %d bytes %.20q, %w", key, rank, len(got), got, err)
				}
			}
		}
	}
	for _, key := range []string{"", "has space", "a=b", "0123456789.0123456789.0123456789.0123456789"} {
		if err := j.Put(key, nil); err == nil {
			return fmt.Errorf("key %q is taken", key)
		}
	}
	for _, rank := range []int{-1, j.Size()} {
		if _, err := j.Get(rank, "card"); err == nil {
			return fmt.Errorf("rank %d has a card", rank)
		}
		if j.Node(rank) != -1 || j.Locality(rank) != rte.Remote {
			return fmt.Errorf("rank %d has a node", rank)
		}
	}
	if err := sameJob(j); err != nil {
		return err
	}
	if err := placed(j); err != nil {
		return err
	}
	if err := j.Fence(); err != nil {
		return err
	}
	return errors.Join(j.Finalize(), j.Finalize())
}

// sameJob checks that all agree on name and secret.
func sameJob(j rte.Job) error {
	secret := j.Secret()
	id := append(append([]byte(nil), secret[:]...), j.ID().String()...)
	if err := j.Put("id", id); err != nil {
		return err
	}
	if err := j.Fence(); err != nil {
		return err
	}
	for rank := range j.Size() {
		if got, err := j.Get(rank, "id"); err != nil || !bytes.Equal(got, id) {
			return fmt.Errorf("rank %d is in another job: %w", rank, err)
		}
	}
	if secret == [32]byte{} {
		return errors.New("the secret is all zero")
	}
	return nil
}

// placed checks that the views of who is near agree with each other.
func placed(j rte.Job) error {
	var local []int
	for rank := range j.Size() {
		near := j.Node(rank) == j.Node(j.Rank())
		if near {
			local = append(local, rank)
		}
		l := j.Locality(rank)
		if (rank == j.Rank()) != (l == rte.Self) || near == (l == rte.Remote) {
			return fmt.Errorf("rank %d on node %d is %v to rank %d on node %d", rank, j.Node(rank), l, j.Rank(), j.Node(j.Rank()))
		}
	}
	if got := j.LocalRanks(); !slices.Equal(got, local) {
		return fmt.Errorf("local ranks %v, want %v", got, local)
	}
	return nil
}

func TestLocalityString(t *testing.T) {
	for l, want := range map[rte.Locality]string{
		rte.Self: "self", rte.SameProcess: "process", rte.SameHost: "host", rte.Remote: "remote", 9: "locality 9",
	} {
		if l.String() != want {
			t.Errorf("%v, want %s", l, want)
		}
	}
}

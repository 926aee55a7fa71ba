package pmi_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/ompi-go/ompi-go/rte/pmi"
	"github.com/ompi-go/ompi-go/rte/pmi/pmitest"
)

// scripted answers each request line with the next of the replies; it hangs up after the last.
func scripted(replies ...string) io.ReadWriteCloser {
	ours, theirs := net.Pipe()
	go func() {
		rd := bufio.NewReader(theirs)
		for _, r := range replies {
			if _, err := rd.ReadString('\n'); err != nil {
				break
			}
			if _, err := io.WriteString(theirs, r); err != nil {
				break
			}
		}
		theirs.Close()
	}()
	return ours
}

func TestClientInit(t *testing.T) {
	const maxes = "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n"
	for _, c := range []struct {
		name, wrong string
		replies     []string
	}{
		{"hydra", "", []string{"cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n", maxes, "cmd=my_kvsname kvsname=kvs_1_0\n"}},
		{"newer 1.x", "", []string{"cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=2\n", maxes, "cmd=my_kvsname kvsname=ƒ2n\n"}},
		{"refused", "mismatch", []string{"cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1 msg=mismatch\n"}},
		{"version 2", "speaks version", []string{"cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n"}},
		{"wrong answer", "answered init with", []string{maxes}},
		{"no limits", "lacks keylen_max", []string{"cmd=response_to_init pmi_version=1 rc=0\n", "cmd=maxes\n"}},
		{"no name", "lacks kvsname", []string{"cmd=response_to_init pmi_version=1 rc=0\n", maxes, "cmd=my_kvsname\n"}},
		{"end", "pmi", []string{"cmd=response_to_init pmi_version=1 rc=0\n"}},
		{"rubbish", "names no command", []string{"hello\n"}},
		{"unasked", "pmi", []string{"cmd=response_to_init pmi_version=1 rc=0\ncmd=more\n", maxes, maxes}},
	} {
		t.Run(c.name, func(t *testing.T) {
			client := pmi.NewClient(scripted(c.replies...), nil)
			defer client.Close()
			err := client.Init()
			if c.wrong == "" && err != nil || c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)) {
				t.Errorf("Init: %v, want %q", err, c.wrong)
			}
		})
	}
}

func TestClientLost(t *testing.T) {
	lost := make(chan error, 1)
	client := pmi.NewClient(scripted("cmd=put_result rc=0\n"), func(err error) { lost <- err })
	if err := client.Put("k", "v"); err != nil {
		t.Fatal(err)
	}
	if err := <-lost; !errors.Is(err, io.EOF) {
		t.Errorf("lost: %v", err)
	}
	if err := client.Put("k", "v"); err == nil {
		t.Error("Put without a launcher works")
	}
}

func TestClientFinalizeIsNoLoss(t *testing.T) {
	client := pmi.NewClient(scripted("cmd=finalize_ack\n"), func(err error) { t.Errorf("lost: %v", err) })
	if err := client.Finalize(); err != nil {
		t.Error(err)
	}
}

func TestPortClient(t *testing.T) {
	good := "cmd=initack rc=0\ncmd=set size=2\ncmd=set rank=1\ncmd=set debug=0\n"
	client, rank, size, err := pmi.NewPortClient(scripted(good, "cmd=finalize_ack\n"), "4", nil)
	if err != nil || rank != 1 || size != 2 {
		t.Fatalf("rank %d of %d, %v", rank, size, err)
	}
	if err := client.Finalize(); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{
		"", "cmd=initack\n", "cmd=set size=2\ncmd=set rank=1\ncmd=set debug=0\ncmd=initack\n", "cmd=initack rc=1\n",
		"cmd=initack\ncmd=set size=2\ncmd=set rank=2\ncmd=set debug=0\n", "cmd=initack\ncmd=set\ncmd=set\ncmd=set\n",
	} {
		if _, _, _, err := pmi.NewPortClient(scripted(bad), "4", nil); err == nil {
			t.Errorf("the greeting %q is taken", bad)
		}
	}
}

// launchers serve one rank of a job each.
func launchers(size int) map[string]func(rank int, conn io.ReadWriter) error {
	server := pmi.NewServer(size, "kvs", nil, nil)
	slurm := pmitest.NewSlurm(size)
	return map[string]func(rank int, conn io.ReadWriter) error{
		"server": server.Serve,
		"slurm":  func(_ int, conn io.ReadWriter) error { return slurm.Serve(conn) },
	}
}

// TestExchange has all ranks put, meet, and read each other, twice.
func TestExchange(t *testing.T) {
	const size = 5
	for name, serve := range launchers(size) {
		t.Run(name, func(t *testing.T) {
			var all sync.WaitGroup
			for rank := range size {
				ours, theirs := net.Pipe()
				all.Go(func() {
					defer theirs.Close()
					if err := serve(rank, theirs); err != nil {
						t.Errorf("serving rank %d: %v", rank, err)
					}
				})
				all.Go(func() {
					if err := exchange(pmi.NewClient(ours, nil), rank, size); err != nil {
						t.Errorf("rank %d: %v", rank, err)
						ours.Close()
					}
				})
			}
			all.Wait()
		})
	}
}

func exchange(c *pmi.Client, rank, size int) error {
	if err := c.Init(); err != nil {
		return err
	}
	for round := range 2 {
		key := func(rank int) string { return fmt.Sprintf("k%d.%d", round, rank) }
		value := strings.Repeat("x", c.Room(key(rank)))
		if len(value) < 900 {
			return fmt.Errorf("room for %d bytes only", len(value))
		}
		if _, err := c.Get(key(rank)); !errors.Is(err, pmi.ErrRefused) {
			return fmt.Errorf("early get: %w", err)
		}
		if err := c.Put(key(rank), value); err != nil {
			return err
		}
		if _, err := c.Get(key(rank)); !errors.Is(err, pmi.ErrRefused) {
			return fmt.Errorf("get before the barrier: %w", err)
		}
		if err := c.Barrier(); err != nil {
			return err
		}
		for r := range size {
			if got, err := c.Get(key(r)); err != nil || got != value {
				return fmt.Errorf("get of rank %d: %d bytes, %w", r, len(got), err)
			}
		}
	}
	if err := c.Put("long", strings.Repeat("x", 1000)); err == nil {
		return errors.New("a request longer than 1023 bytes was sent")
	}
	return c.Finalize()
}

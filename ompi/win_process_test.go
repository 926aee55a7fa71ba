package ompi_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ompi-go/ompi-go/ompi"
)

// TestWindowDeath: a member dies between operations. The others' calls end with ErrProcFailed, and they make another window among themselves.
func TestWindowDeath(t *testing.T) {
	for _, osc := range []string{"sm", "pt2pt", "rdma"} {
		out, errOut, err := launch(t, 3, "window-death", []string{"--on-failure", "continue", "--mca", "osc", osc, "--mca", "coll", "^portals4"}, nil)
		if err == nil || strings.Count(out, "good") != 2 {
			t.Errorf("%s: %v\n%s%s", osc, err, out, errOut)
		}
	}
}

func windowDeathRank(c *ompi.Comm) error {
	win, _, err := ompi.WinAllocate[int64](c, 8)
	if err != nil {
		return err
	}
	if err := allOf(win.LockAll(0), c.Barrier()); err != nil {
		return err
	}
	if c.Rank() == 1 {
		time.Sleep(20 * time.Millisecond)
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	v := []int64{7}
	begin := time.Now()
	for err = nil; err == nil && time.Since(begin) < 20*time.Second; {
		if err = win.Put(ompi.Slice(v), ompi.At(1, 2)); err == nil {
			err = win.Flush(1)
		}
	}
	if !errors.Is(err, ompi.ErrProcFailed) {
		return fmt.Errorf("operations end with %w", err)
	}
	if err := awaited(win.Rput(ompi.Slice(v), ompi.At(1, 2))); !errors.Is(err, ompi.ErrProcFailed) {
		return fmt.Errorf("a request ends with %w", err)
	}
	_ = win.UnlockAll() // whatever it says: the epoch is over
	if err := win.LockAll(0); !errors.Is(err, ompi.ErrProcFailed) {
		return fmt.Errorf("LockAll: %w", err)
	}
	if err := win.Free(); !errors.Is(err, ompi.ErrProcFailed) {
		return fmt.Errorf("Free: %w", err)
	}
	g, err := c.Group().Incl([]int{0, 2})
	if err != nil {
		return err
	}
	d, err := c.CreateGroup(g, 3)
	if err != nil {
		return err
	}
	win, mem, err := ompi.WinAllocate[int64](d, 8)
	if err != nil {
		return err
	}
	if err := allOf(win.Fence(0), win.Put(ompi.Slice(v), ompi.At(1-d.Rank(), 2)), win.Fence(ompi.ModeNoSucceed)); err != nil {
		return err
	}
	if mem[2] != 7 {
		return fmt.Errorf("memory %v", mem)
	}
	if err := win.Free(); err != nil {
		return err
	}
	fmt.Println("good")
	return nil
}

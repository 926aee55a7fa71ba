package limits

import (
	"context"
	"os"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) {
	ServeChild()
	os.Exit(m.Run())
}

func TestMeasure(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var before, after unix.CPUSet
	if err := unix.SchedGetaffinity(os.Getpid(), &before); err != nil {
		t.Fatal(err)
	}
	all, err := Measure(context.Background(), exe)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, l := range all {
		names = append(names, l.Name)
		if l.Missing == "" && (l.Min <= 0 || l.Median < l.Min || l.Max < l.Median) {
			t.Errorf("%+v", l)
		}
		t.Logf("%-24s %8d %12.3f %s %s", l.Name, l.Size, l.Median, l.Unit, l.Missing)
	}
	want := []string{"core-to-core hop", "memcpy", "memcpy", "process_vm_readv", "process_vm_readv", "loopback tcp one way"}
	if !slices.Equal(names, want) {
		t.Errorf("limits %q, want %q", names, want)
	}
	if err := unix.SchedGetaffinity(os.Getpid(), &after); err != nil || after != before {
		t.Errorf("affinity was left changed (%v)", err)
	}
}

// On a machine of one core the other process still lends its memory.
func TestChildWithoutCore(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c, err := startChild(context.Background(), exe, -1)
	if err != nil {
		t.Fatal(err)
	}
	defer c.end()
	if v, err := c.readv(4096); err != nil && !os.IsPermission(err) || v < 0 {
		t.Errorf("%v, %v", v, err)
	}
}

func TestMissingProgram(t *testing.T) {
	if _, err := Measure(context.Background(), "/nonexistent/ompi-bench"); err == nil {
		t.Error("no error without a second process")
	}
}

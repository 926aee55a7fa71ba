package rte

import (
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
)

func TestCgroupCores(t *testing.T) {
	const (
		v2mount = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n"
		v1mount = "33 23 0:29 /docker/abc /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n" +
			"34 23 0:30 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory\n"
	)
	for _, c := range []struct {
		name  string
		want  float64
		files map[string]string
	}{
		{"nothing known", 0, nil},
		{"no limit", 0, map[string]string{
			"proc/self/cgroup": "0::/a/b\n", "proc/self/mountinfo": v2mount, "sys/fs/cgroup/a/b/cpu.max": "max 100000\n",
		}},
		{"v2, a parent limits more", 1.5, map[string]string{
			"proc/self/cgroup": "0::/a/b\n", "proc/self/mountinfo": v2mount,
			"sys/fs/cgroup/a/b/cpu.max": "400000 100000\n", "sys/fs/cgroup/a/cpu.max": "150000 100000\n",
		}},
		{"v2 in a cgroup namespace", 2, map[string]string{
			"proc/self/cgroup": "0::/\n", "proc/self/mountinfo": v2mount, "sys/fs/cgroup/cpu.max": "200000 100000\n",
		}},
		{"v1 in a container", 3, map[string]string{
			"proc/self/cgroup": "5:memory:/docker/abc\n4:cpu,cpuacct:/docker/abc\n", "proc/self/mountinfo": v1mount,
			"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "300000\n", "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
		}},
		{"v1 without a limit", 0, map[string]string{
			"proc/self/cgroup": "4:cpu,cpuacct:/docker/abc/sub\n", "proc/self/mountinfo": v1mount,
			"sys/fs/cgroup/cpu,cpuacct/sub/cpu.cfs_quota_us": "-1\n", "sys/fs/cgroup/cpu,cpuacct/sub/cpu.cfs_period_us": "100000\n",
		}},
		{"a group of another root", 2, map[string]string{
			"proc/self/cgroup": "4:cpu,cpuacct:/docker/abcdef\n", "proc/self/mountinfo": v1mount,
			"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "200000\n", "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
		}},
		{"rubbish", 0, map[string]string{
			"proc/self/cgroup": "x\n0::/a\n", "proc/self/mountinfo": "y\nz - w\n" + v2mount, "sys/fs/cgroup/a/cpu.max": "many few\n",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := fstest.MapFS{}
			for name, text := range c.files {
				root[name] = &fstest.MapFile{Data: []byte(text)}
			}
			if got := cgroupCores(root); got != c.want {
				t.Errorf("%v cores, want %v", got, c.want)
			}
		})
	}
	if n := UsableCores(); n < 1 || n > runtime.NumCPU() {
		t.Errorf("%d usable cores of %d", n, runtime.NumCPU())
	}
}

func TestHostID(t *testing.T) {
	first, second := HostID(), HostID()
	if first == "" || first != second || !strings.HasPrefix(first, BootID()) {
		t.Errorf("host id %q, then %q", first, second)
	}
}

package rte

import (
	"os"
	"strings"
)

// HostID tells one running machine from another: the kernel's boot id and the host name, as "bootid/hostname". Containers of
// one machine have the same boot id and may differ in name. Without a boot id (no /proc) it is the name alone.
func HostID() string {
	name, err := os.Hostname()
	if err != nil || name == "" {
		name = "localhost"
	}
	if id := BootID(); id != "" {
		return id + "/" + name
	}
	return name
}

// BootID is the kernel's random name of this boot of the machine, "" where there is none. Processes with equal boot ids reach
// each other over loopback unless network namespaces part them.
func BootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

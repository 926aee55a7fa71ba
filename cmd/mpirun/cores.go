package main

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// coreList returns the cores this process may use, each as its hardware threads, ascending by their first.
func coreList() ([][]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("reading the CPU affinity: %w", err)
	}
	return groupCores(&set, os.DirFS("/sys/devices/system/cpu")), nil
}

// groupCores sorts hardware threads into cores by what the kernel says are siblings. A thread about which it says nothing is a
// core of its own.
func groupCores(set *unix.CPUSet, sys fs.FS) [][]int {
	index := map[string]int{}
	var cores [][]int
	for cpu := range len(set) * 64 {
		if !set.IsSet(cpu) {
			continue
		}
		name := fmt.Sprintf("alone %d", cpu)
		if b, err := fs.ReadFile(sys, fmt.Sprintf("cpu%d/topology/thread_siblings_list", cpu)); err == nil {
			name = strings.TrimSpace(string(b))
		}
		i, ok := index[name]
		if !ok {
			i = len(cores)
			index[name] = i
			cores = append(cores, nil)
		}
		cores[i] = append(cores[i], cpu)
	}
	return cores
}

// bindings gives rank i core i mod cores: its CPU set, and how many threads it has there to itself, at least 1.
func bindings(cores [][]int, ranks int) (sets []unix.CPUSet, threads []int) {
	sets, threads = make([]unix.CPUSet, ranks), make([]int, ranks)
	for r := range ranks {
		c := r % len(cores)
		for _, cpu := range cores[c] {
			sets[r].Set(cpu)
		}
		sharing := (ranks - c + len(cores) - 1) / len(cores)
		threads[r] = max(1, len(cores[c])/sharing)
	}
	return sets, threads
}

// spareCores lists the first hardware threads of the cores that bindings gives to no rank.
func spareCores(cores [][]int, ranks int) string {
	var list []string
	for _, c := range cores[min(ranks, len(cores)):] {
		list = append(list, strconv.Itoa(c[0]))
	}
	return strings.Join(list, ",")
}

// threadsOf is GOMAXPROCS for a rank that is not bound.
func threadsOf(cores, ranks int) []int {
	return slices.Repeat([]int{max(1, cores/ranks)}, ranks)
}

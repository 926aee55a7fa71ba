//go:build race

package tuned_test

// Under the race detector data checks cost ten times as much, and what it looks for shows on few ranks.
var (
	sampleSizes = []int{3, 4, 6}
	fullSizes   = []int{5}
)

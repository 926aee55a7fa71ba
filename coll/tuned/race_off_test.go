//go:build !race

package tuned_test

var (
	sampleSizes = []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17}
	fullSizes   = []int{1, 2, 5, 8, 13}
)

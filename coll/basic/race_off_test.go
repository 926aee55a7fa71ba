//go:build !race

package basic_test

var fullSizes []int // the suite's own

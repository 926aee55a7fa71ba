//go:build !race

package sm

var fullSizes []int // the suite's own

const underRace = false

//go:build !race

package portals4

var fullSizes []int // the suite's own

const underRace = false

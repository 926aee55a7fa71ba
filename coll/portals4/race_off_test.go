//go:build !race

package portals4

var sampleSizes = []int{2, 3, 5, 8, 17}

const underRace = false

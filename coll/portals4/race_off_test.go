//go:build !race

package portals4

var fullSizes = []int{1, 2, 3, 4, 6, 9, 16}

const underRace = false

//go:build race

package portals4

// Under the race detector data checks cost ten times as much, and what it looks for shows on few ranks.
var fullSizes = []int{1, 2, 3, 5, 8}

const underRace = true

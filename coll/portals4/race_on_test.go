//go:build race

package portals4

// What the race detector looks for shows on few ranks.
var sampleSizes = []int{2, 5}

const underRace = true

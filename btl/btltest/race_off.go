//go:build !race

package btltest

// raceEnabled tells that the race detector is on, which allocates.
const raceEnabled = false

//go:build !race

package mtltest

// raceEnabled tells that the race detector is on, which allocates.
const raceEnabled = false

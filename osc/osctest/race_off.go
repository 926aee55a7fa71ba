//go:build !race

package osctest

const raceEnabled = false

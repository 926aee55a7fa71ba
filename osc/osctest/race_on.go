//go:build race

package osctest

const raceEnabled = true

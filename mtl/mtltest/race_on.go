//go:build race

package mtltest

const raceEnabled = true

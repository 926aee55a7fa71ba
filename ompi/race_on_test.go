//go:build race

package ompi_test

const raceEnabled = true

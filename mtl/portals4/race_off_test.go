//go:build !race

package portals4

const raceEnabled = false

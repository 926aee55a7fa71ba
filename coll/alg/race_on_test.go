//go:build race

package alg

// Counting 4096 ranks has nothing to race with, and takes ten times as long.
const manyRanks = 256

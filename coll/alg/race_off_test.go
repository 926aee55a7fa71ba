//go:build !race

package alg

const manyRanks = 4096

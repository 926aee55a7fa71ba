// Package control is the conversation between our mpirun and each rank it started, beside PMI: a rank's last words (an error
// report, an abort with a reason), the launcher's news of deaths, and requests for metrics.
//
// It travels over a stream socket whose number the rank finds in the environment variable [EnvFD]. Each message is a frame:
//
//	 0        1        2                 4                                   8
//	+--------+--------+-----------------+-----------------------------------+----------------- - -
//	| version| kind   | 0               | length of the payload             | payload: JSON
//	+--------+--------+-----------------+-----------------------------------+----------------- - -
//
// Numbers are little-endian. A frame of another version is an error; a kind that one side does not know is skipped.
//
// Only package rte and cmd/mpirun may use this package.
package control

// Package siege besieges the finished programs with what goes wrong in practice: bad parameters, bad arguments, ranks that
// panic, leave or are killed at every stage, shared memory and single copy refused, launchers that speak something else. It
// builds mpirun and starts real processes with it; nothing here is simulated.
//
// Each attack must end within seconds with a message that names the rank and the cause, the right exit status, and nothing left
// behind: no process, no name in a file system, no socket. The package holds only tests; nobody imports it.
package siege

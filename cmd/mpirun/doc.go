// Mpirun starts the ranks of a job on this machine, serves them as PMI-1 launcher and watches over them: whatever way the job
// ends, nothing of it is left.
//
//	mpirun [-n N] [--mca NAME VALUE]... [--tune FILE] [-x NAME[=VALUE]]... [--bind-to none|core]
//	       [--tag-output] [--timeout SEC] [--on-failure abort|continue] [--metrics ADDR] [--trace FILE]
//	       PROGRAM [ARGS...]
//
// PROGRAM is an executable or the directory of a Go program, which is built first. Programs of other MPI libraries that speak
// PMI-1 (MPICH and its relatives) run too. The exit status is that of the rank that failed first, 128+N if it was killed by
// signal N, 124 after --timeout, 126 or 127 if PROGRAM cannot be started, 2 for a bad command line.
package main

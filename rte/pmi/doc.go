// Package pmi speaks the PMI-1 wire protocol, by which a launcher and the processes it started exchange the few words a
// parallel job needs before its own network exists: who am I, how many are we, a key-value space, a barrier, the end.
//
// A message is one line of text, `cmd=NAME key=value key=value\n`. The process asks, the launcher answers; exactly one
// request is under way at a time. MPICH's Hydra, Slurm (srun --mpi=pmi2) and Flux serve this protocol, and so does our own
// mpirun. [Client] is the process's side, [Server] the launcher's, [Mapping] the launcher's statement of which ranks share a
// node.
//
// Only package rte and cmd/mpirun may use this package; everyone else talks to an rte.Job.
package pmi

// Package rte is the run-time environment of a job: who am I, who are my peers, which of them are near, and the exchange of
// what they must know of each other before the first message (the modex).
//
// A [Job] comes from [Join], which finds out from the environment who started the process (our mpirun, another launcher
// that speaks PMI-1, or nobody), or from a [Hub], whose ranks are goroutines of one process. All look the same from above.
//
// Every floor above may use this package; it knows nothing of MPI messages.
package rte

/* onesided.h - what the files of the one-sided tests share. */
#ifndef OMPI_GO_ONESIDED_H
#define OMPI_GO_ONESIDED_H

#include "peer.h"

/* Memory of every rank that the others reach. */
struct window {
	MPI_Win win;
	char *memory;
	MPI_Aint *begins;   /* where each rank's memory begins: an address in a dynamic window */
	MPI_Group others;   /* of ranks 0 and 1: the other one */
	MPI_Group ring;     /* both neighbours */
	int dynamic, sync, calls;
	const char *test;   /* by its name goes the operation */
	size_t bytes;
};

/* Synchronisations, as ompi-bench's --sync. */
enum { SYNC_LOCK, SYNC_LOCK_ALL, SYNC_PSCW, SYNC_FENCE, SYNC_FLUSH, SYNC_FLUSH_LOCAL, SYNC_LOCK_ALL_FLUSH };

/* One operation of a size on the beginning of a rank's memory. */
struct remote {
	struct context *c;
	struct window *w;
	int size, target, calls;
	MPI_Aint at;
	void (*call)(const struct remote *r);
};

/* window.c */
struct remote remote_operation(struct context *c, size_t size, int target, int calls);

/* as often as it has calls */
static inline void act(const struct remote *r)
{
	for (int i = 0; i < r->calls; i++)
		r->call(r);
}

/* passive.c: loops over iterations; one may stand inside an epoch that is open already */
void flushing(const struct remote *r, int iterations);
void flushing_local(const struct remote *r, int iterations);
void locking(const struct remote *r, int kind, int iterations);
void locking_all(const struct remote *r, int iterations);

/* active.c */
void fencing(const struct remote *r, int iterations);
void exchanging(const struct remote *r, MPI_Group with, int iterations);

#endif

/*
 * epochs.c - what a synchronisation costs, with so many puts of eight bytes in its epoch. Unit: microseconds an epoch, mean over the
 * ranks that have it:
 *
 *	fence           all ranks, each puts to its right neighbour
 *	pscw            all ranks post to and start with both neighbours on the ring, and put to the right one
 *	lock_exclusive  all ranks but 0 race for the lock of rank 0
 *	lock_shared     all ranks but 0 share it
 *	lock_all        all ranks but 0 lock all, and put to rank 0
 *	flush           rank 1, inside one lock of all, puts to and flushes rank 0; the others wait in a barrier
 */
#include "onesided.h"

#include <string.h>

#define EPOCH_BYTES 8

static double timed(const struct remote *r, const char *kind, int iterations)
{
	MPI_Win win = r->w->win;
	int fence = strcmp(kind, "fence") == 0, flush = strcmp(kind, "flush") == 0;
	double start, spent;

	if (fence)
		MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
	if (flush)
		MPI_Win_lock_all(0, win);
	start = MPI_Wtime();
	if (fence)
		fencing(r, iterations);
	else if (flush)
		flushing(r, iterations);
	else if (strcmp(kind, "pscw") == 0)
		exchanging(r, r->w->ring, iterations);
	else if (strcmp(kind, "lock_all") == 0)
		locking_all(r, iterations);
	else
		locking(r, strcmp(kind, "lock_exclusive") == 0 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, iterations);
	spent = MPI_Wtime() - start;
	if (fence)
		MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
	if (flush)
		MPI_Win_unlock_all(win);
	return spent * 1e6 / iterations;
}

double measure_epoch(struct context *c, size_t puts, int iterations)
{
	const char *kind = c->window->test + strlen("sync_");
	int all = strcmp(kind, "fence") == 0 || strcmp(kind, "pscw") == 0;
	int actors = all ? c->ranks : strcmp(kind, "flush") == 0 ? 1 : c->ranks - 1;
	double mine = 0, sum = 0;

	if (all || (c->rank > 0 && c->rank <= actors)) {
		struct remote r = remote_operation(c, EPOCH_BYTES, all ? (c->rank + 1) % c->ranks : 0, (int)puts);

		r.at += c->rank * EPOCH_BYTES; /* every rank its own place */
		mine = timed(&r, kind, iterations);
	}
	MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
	return sum / actors;
}

/* passive.c - epochs in which the target does not take part. */
#include "onesided.h"

void flushing(const struct remote *r, int iterations)
{
	for (int i = 0; i < iterations; i++) {
		act(r);
		MPI_Win_flush(r->target, r->w->win);
	}
}

void flushing_local(const struct remote *r, int iterations)
{
	for (int i = 0; i < iterations; i++) {
		act(r);
		MPI_Win_flush_local(r->target, r->w->win);
	}
}

void locking(const struct remote *r, int kind, int iterations)
{
	for (int i = 0; i < iterations; i++) {
		MPI_Win_lock(kind, r->target, 0, r->w->win);
		act(r);
		MPI_Win_unlock(r->target, r->w->win);
	}
}

void locking_all(const struct remote *r, int iterations)
{
	for (int i = 0; i < iterations; i++) {
		MPI_Win_lock_all(0, r->w->win);
		act(r);
		MPI_Win_unlock_all(r->w->win);
	}
}

/* active.c - epochs in which origins and targets both take part. */
#include "onesided.h"

void fencing(const struct remote *r, int iterations)
{
	for (int i = 0; i < iterations; i++) {
		act(r);
		MPI_Win_fence(0, r->w->win);
	}
}

void exchanging(const struct remote *r, MPI_Group with, int iterations)
{
	for (int i = 0; i < iterations; i++) {
		MPI_Win_post(with, 0, r->w->win);
		MPI_Win_start(with, 0, r->w->win);
		act(r);
		MPI_Win_complete(r->w->win);
		MPI_Win_wait(r->w->win);
	}
}

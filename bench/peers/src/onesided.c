/* onesided.c - operations of rank 0 on rank 1's memory, each with its share of the synchronisation. Units: microseconds, MB/s. */
#include "onesided.h"

/* Rank 0's turn, then rank 1's. */
static double fence_turns(struct context *c, const struct remote *r, int iterations)
{
	MPI_Win win = r->w->win;
	double start, spent;

	MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
	start = MPI_Wtime();
	for (int i = 0; i < iterations; i++) {
		if (c->rank == 0)
			act(r);
		MPI_Win_fence(0, win);
		if (c->rank == 1)
			act(r);
		MPI_Win_fence(0, win);
	}
	spent = MPI_Wtime() - start;
	MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
	return spent;
}

static void access_epoch(const struct remote *r)
{
	MPI_Win_start(r->w->others, 0, r->w->win);
	act(r);
	MPI_Win_complete(r->w->win);
}

static void exposure_epoch(const struct remote *r)
{
	MPI_Win_post(r->w->others, 0, r->w->win);
	MPI_Win_wait(r->w->win);
}

static double pscw_turns(struct context *c, const struct remote *r, int iterations)
{
	double start = MPI_Wtime();

	for (int i = 0; i < iterations; i++) {
		if (c->rank == 0) {
			access_epoch(r);
			exposure_epoch(r);
		} else {
			exposure_epoch(r);
			access_epoch(r);
		}
	}
	return MPI_Wtime() - start;
}

/* The other rank does not take part. An epoch around all iterations is begun and ended outside the measured time. */
static double passively(const struct remote *r, int iterations)
{
	MPI_Win win = r->w->win;
	int sync = r->w->sync;
	double start, spent;

	if (sync == SYNC_FLUSH || sync == SYNC_FLUSH_LOCAL)
		MPI_Win_lock(MPI_LOCK_SHARED, r->target, 0, win);
	if (sync == SYNC_LOCK_ALL_FLUSH)
		MPI_Win_lock_all(0, win);
	start = MPI_Wtime();
	if (sync == SYNC_LOCK)
		locking(r, MPI_LOCK_SHARED, iterations);
	else if (sync == SYNC_LOCK_ALL)
		locking_all(r, iterations);
	else if (sync == SYNC_FLUSH_LOCAL)
		flushing_local(r, iterations);
	else
		flushing(r, iterations);
	spent = MPI_Wtime() - start;
	if (sync == SYNC_FLUSH || sync == SYNC_FLUSH_LOCAL)
		MPI_Win_unlock(r->target, win);
	if (sync == SYNC_LOCK_ALL_FLUSH)
		MPI_Win_unlock_all(win);
	return spent;
}

/* Seconds; turns is how often an iteration has the operations and the synchronisation. Ranks from 2 on take part in fences only. */
static double operations(struct context *c, size_t size, int iterations, int calls, int *turns)
{
	int sync = c->window->sync;
	struct remote r = remote_operation(c, size, c->rank < 2 ? 1 - c->rank : 0, calls);

	*turns = sync == SYNC_FENCE || sync == SYNC_PSCW ? 2 : 1;
	if (sync == SYNC_FENCE)
		return fence_turns(c, &r, iterations);
	if (sync == SYNC_PSCW)
		return c->rank < 2 ? pscw_turns(c, &r, iterations) : 0;
	return c->rank == 0 ? passively(&r, iterations) : 0;
}

double measure_rma_latency(struct context *c, size_t size, int iterations)
{
	int calls = c->window->calls ? c->window->calls : 1, turns;
	double spent = operations(c, size, iterations, calls, &turns);

	return spent * 1e6 / ((double)turns * iterations * calls);
}

double measure_rma_bw(struct context *c, size_t size, int iterations)
{
	int calls = c->window->calls ? c->window->calls : WINDOW, turns;
	double spent = operations(c, size, iterations, calls, &turns);

	return c->rank == 0 ? (double)size * calls * iterations * turns / 1e6 / spent : 0;
}

double measure_put_bibw(struct context *c, size_t size, int iterations)
{
	int calls = c->window->calls ? c->window->calls : WINDOW;
	struct remote r = remote_operation(c, size, c->rank < 2 ? 1 - c->rank : 0, c->rank < 2 ? calls : 0);
	double start, spent;

	if (c->window->sync == SYNC_FENCE) {
		MPI_Win_fence(MPI_MODE_NOPRECEDE, r.w->win);
		start = MPI_Wtime();
		fencing(&r, iterations);
		spent = MPI_Wtime() - start;
		MPI_Win_fence(MPI_MODE_NOSUCCEED, r.w->win);
	} else {
		start = MPI_Wtime();
		if (c->rank < 2)
			exchanging(&r, r.w->others, iterations);
		spent = MPI_Wtime() - start;
	}
	return c->rank == 0 ? 2.0 * size * calls * iterations / 1e6 / spent : 0;
}

/*
 * overlap.c - a non-blocking collective, or an exchange of two messages in each
 * pair of ranks, alone, then with as long a computation between its start and
 * the wait for it, as OSU does. Overlap is the part of the communication that is
 * hidden behind the computation, in per cent.
 */
#include "collective.h"

#include <stdio.h>

/* where computations leave their result, so that they are not left out */
static volatile double sink;

/* Computes for a time that grows with the number of steps, each of which needs the result of the one before. */
static double spin(double x, long steps)
{
	for (long i = 0; i < steps; i++)
		x = x * 0.999999 + 1e-6;
	return x;
}

/* Steps in a microsecond: the most of several trials of all ranks, since a disturbance only slows. */
static double calibrate(void)
{
	const long steps = 100000;
	double rate = 0, most;

	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 0; i < 10; i++) {
		double start = MPI_Wtime(), now;

		sink = spin(sink, steps);
		now = steps / ((MPI_Wtime() - start) * 1e6);
		if (now > rate)
			rate = now;
	}
	MPI_Allreduce(&rate, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	return most;
}

/* A message to the other rank of the pair, and one from it. */
static void start_exchange(struct context *c, size_t size)
{
	int pairs = c->ranks / 2, peer = c->rank < pairs ? c->rank + pairs : c->rank - pairs;

	MPI_Irecv(c->recv, (int)size, MPI_CHAR, peer, 100, MPI_COMM_WORLD, &c->requests[0]);
	MPI_Isend(c->send, (int)size, MPI_CHAR, peer, 100, MPI_COMM_WORLD, &c->requests[1]);
}

/*
 * One loop for both: with c->steps of computation in each iteration, or none.
 * c->computed becomes the microseconds of the computation.
 */
static double measure(struct context *c, size_t size, int iterations)
{
	const struct collective *of = c->subject;
	struct arguments a;
	double spent = 0, computed = 0;

	if (of)
		make_arguments(&a, c, size);
	for (int i = 0; i < iterations; i++) {
		double start = MPI_Wtime();
		MPI_Request r;

		if (of)
			of->start(&a, &r);
		else
			start_exchange(c, size);
		if (c->steps) {
			double begun = MPI_Wtime();

			sink = spin(sink, c->steps);
			computed += MPI_Wtime() - begun;
		}
		if (of)
			MPI_Wait(&r, MPI_STATUS_IGNORE);
		else
			MPI_Waitall(2, c->requests, MPI_STATUSES_IGNORE);
		spent += MPI_Wtime() - start;
		MPI_Barrier(MPI_COMM_WORLD);
	}
	if (of)
		free_arguments(&a);
	c->computed[c->measured++ % REPETITIONS] = mean(c, computed, iterations);
	return mean(c, spent, iterations);
}

static void overlap(const struct test *t, struct context *c, const struct options *o, size_t size, double rate)
{
	double pure, overall, hidden, more[3];
	char label[32];

	c->steps = 0;
	pure = repeat(t, c, o, measure, size);
	MPI_Bcast(&pure, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	c->steps = (long)(pure * rate);
	c->measured = 0;
	overall = repeat(t, c, o, measure, size);
	more[0] = median(c->computed, c->measured < REPETITIONS ? c->measured : REPETITIONS);
	more[1] = pure;
	hidden = pure > 0 ? 100 * (1 - (overall - more[0]) / pure) : 0;
	more[2] = hidden < 0 ? 0 : hidden > 100 ? 100 : hidden;
	snprintf(label, sizeof label, "%zu", size);
	if (c->rank == 0)
		report_row(t, label, overall, more, 3, NULL);
}

int run_overlap(const struct test *t, struct context *c, const struct options *o)
{
	double rate = calibrate();

	for (size_t size = t->min; size <= t->max; size = size ? size * 2 : 1) {
		overlap(t, c, o, size, rate);
		if (t->max == 0)
			break;
	}
	return 0;
}

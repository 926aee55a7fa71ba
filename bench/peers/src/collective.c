/* collective.c - collectives over all ranks. Unit: microseconds a call, mean over the ranks. */
#include "collective.h"

double mean(struct context *c, double seconds, int iterations)
{
	double mine = seconds * 1e6 / iterations, sum = 0;

	MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
	return sum / c->ranks;
}

/* One iteration: the call, or where a request has been prepared, that. */
static void once(const struct collective *of, const struct arguments *a, MPI_Request *prepared)
{
	if (*prepared == MPI_REQUEST_NULL) {
		of->call(a);
		return;
	}
	MPI_Start(prepared);
	MPI_Wait(prepared, MPI_STATUS_IGNORE);
}

/*
 * Ranks that run ahead would hide the time until the last one is done, so where
 * they may, a barrier, which is not timed, follows every iteration.
 */
static double loop(const struct collective *of, const struct arguments *a, MPI_Request *prepared, int iterations)
{
	double start = MPI_Wtime(), spent = 0;

	if (!of->ahead) {
		for (int i = 0; i < iterations; i++)
			once(of, a, prepared);
		return MPI_Wtime() - start;
	}
	for (int i = 0; i < iterations; i++) {
		start = MPI_Wtime();
		once(of, a, prepared);
		spent += MPI_Wtime() - start;
		MPI_Barrier(MPI_COMM_WORLD);
	}
	return spent;
}

double measure_collective(struct context *c, size_t size, int iterations)
{
	MPI_Request none = MPI_REQUEST_NULL;
	struct arguments a;
	double spent;

	make_arguments(&a, c, size);
	spent = loop(c->subject, &a, &none, iterations);
	free_arguments(&a);
	return mean(c, spent, iterations);
}

double measure_persistent(struct context *c, size_t size, int iterations)
{
	const struct collective *of = c->subject;
	struct arguments a;
	MPI_Request r;
	double spent;

	make_arguments(&a, c, size);
	of->prepare(&a, &r);
	spent = loop(of, &a, &r, iterations);
	MPI_Request_free(&r);
	free_arguments(&a);
	return mean(c, spent, iterations);
}

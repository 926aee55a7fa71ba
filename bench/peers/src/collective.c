/* collective.c - collectives over all ranks. Unit: microseconds a call, mean over the ranks. */
#include "peer.h"

static double mean(struct context *c, double seconds, int iterations)
{
	double mine = seconds * 1e6 / iterations, sum = 0;

	MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
	return sum / c->ranks;
}

double measure_barrier(struct context *c, size_t size, int iterations)
{
	double start = MPI_Wtime();

	(void)size;
	for (int i = 0; i < iterations; i++)
		MPI_Barrier(MPI_COMM_WORLD);
	return mean(c, MPI_Wtime() - start, iterations);
}

/*
 * A root that may run ahead would hide the time until the last rank has the
 * data, so a barrier, which is not timed, follows every broadcast.
 */
double measure_bcast(struct context *c, size_t size, int iterations)
{
	double spent = 0;

	for (int i = 0; i < iterations; i++) {
		double start = MPI_Wtime();

		MPI_Bcast(c->send, (int)size, MPI_CHAR, 0, MPI_COMM_WORLD);
		spent += MPI_Wtime() - start;
		MPI_Barrier(MPI_COMM_WORLD);
	}
	return mean(c, spent, iterations);
}

double measure_allreduce(struct context *c, size_t size, int iterations)
{
	int count = (int)(size / sizeof(float));
	double start = MPI_Wtime();

	for (int i = 0; i < iterations; i++)
		MPI_Allreduce(c->send, c->recv, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
	return mean(c, MPI_Wtime() - start, iterations);
}

double measure_alltoall(struct context *c, size_t size, int iterations)
{
	double start = MPI_Wtime();

	for (int i = 0; i < iterations; i++)
		MPI_Alltoall(c->send, (int)size, MPI_CHAR, c->recv, (int)size, MPI_CHAR, MPI_COMM_WORLD);
	return mean(c, MPI_Wtime() - start, iterations);
}

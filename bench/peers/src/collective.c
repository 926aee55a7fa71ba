/* collective.c - collectives over all ranks. Unit: microseconds a call, mean over the ranks. */
#include "collective.h"

double mean(struct context *c, double seconds, int iterations)
{
	double mine = seconds * 1e6 / iterations, sum = 0;

	MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
	return sum / c->ranks;
}

double measure_collective(struct context *c, size_t size, int iterations)
{
	const struct collective *of = c->subject;
	struct arguments a;
	double start, spent = 0;

	make_arguments(&a, c, size);
	start = MPI_Wtime();
	if (!of->ahead) {
		for (int i = 0; i < iterations; i++)
			of->call(&a);
		spent = MPI_Wtime() - start;
	} else {
		/* ranks that run ahead would hide the time until the last one is done: an untimed barrier follows each */
		for (int i = 0; i < iterations; i++) {
			start = MPI_Wtime();
			of->call(&a);
			spent += MPI_Wtime() - start;
			MPI_Barrier(MPI_COMM_WORLD);
		}
	}
	free_arguments(&a);
	return mean(c, spent, iterations);
}

double measure_persistent(struct context *c, size_t size, int iterations)
{
	const struct collective *of = c->subject;
	struct arguments a;
	MPI_Request r;
	double start, spent = 0;

	make_arguments(&a, c, size);
	of->prepare(&a, &r);
	start = MPI_Wtime();
	if (!of->ahead) {
		for (int i = 0; i < iterations; i++) {
			MPI_Start(&r);
			MPI_Wait(&r, MPI_STATUS_IGNORE);
		}
		spent = MPI_Wtime() - start;
	} else {
		for (int i = 0; i < iterations; i++) {
			start = MPI_Wtime();
			MPI_Start(&r);
			MPI_Wait(&r, MPI_STATUS_IGNORE);
			spent += MPI_Wtime() - start;
			MPI_Barrier(MPI_COMM_WORLD);
		}
	}
	MPI_Request_free(&r);
	free_arguments(&a);
	return mean(c, spent, iterations);
}

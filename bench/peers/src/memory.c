/*
 * memory.c - resident memory of a rank after it has spoken with both
 * neighbours. Unit: KiB, mean over the ranks.
 */
#define _DEFAULT_SOURCE
#include "peer.h"

#include <stdio.h>
#include <unistd.h>

static double resident_kib(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	long size = 0, resident = 0;

	if (!f || fscanf(f, "%ld %ld", &size, &resident) != 2) {
		fprintf(stderr, "peer: cannot read /proc/self/statm\n");
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	fclose(f);
	return resident * (sysconf(_SC_PAGESIZE) / 1024.0);
}

int run_memory(const struct test *t, struct context *c, const struct options *o)
{
	double mine, sum = 0;

	(void)t;
	(void)o;
	neighbour_exchange(c);
	mine = resident_kib();
	MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
	if (c->rank == 0)
		printf("%-16d%20.1f\n", c->ranks, sum / c->ranks);
	return 0;
}

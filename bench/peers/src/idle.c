/*
 * idle.c - every rank but 0 waits in a blocking receive while rank 0 is away.
 * Unit: per cent of one core that the busiest waiting rank used. -i gives the
 * seconds.
 */
#define _DEFAULT_SOURCE
#include "peer.h"

#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

static double cpu_seconds(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_utime.tv_sec + u.ru_stime.tv_sec + (u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

int run_idle(const struct test *t, struct context *c, const struct options *o)
{
	int seconds = o->iterations ? o->iterations : 2;
	double used = 0, worst = 0;

	(void)t;
	neighbour_exchange(c);
	MPI_Barrier(MPI_COMM_WORLD);
	if (c->rank == 0) {
		struct timespec pause = { seconds, 0 };

		nanosleep(&pause, NULL);
		for (int r = 1; r < c->ranks; r++)
			MPI_Send(c->send, 1, MPI_CHAR, r, 20, MPI_COMM_WORLD);
	} else {
		double cpu = cpu_seconds(), start = MPI_Wtime();

		MPI_Recv(c->recv, 1, MPI_CHAR, 0, 20, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		used = 100 * (cpu_seconds() - cpu) / (MPI_Wtime() - start);
	}
	MPI_Reduce(&used, &worst, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
	if (c->rank == 0)
		printf("%-16d%20.3f\n", seconds, worst);
	return 0;
}

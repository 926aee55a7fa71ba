/* latency.c - ping-pong of one pair (ranks 0 and 1) and of all pairs at once. Unit: microseconds one way. */
#include "peer.h"

static double pingpong(struct context *c, int peer, int first, size_t size, int iterations)
{
	double start = MPI_Wtime();

	for (int i = 0; i < iterations; i++) {
		if (first) {
			MPI_Send(c->send, (int)size, MPI_CHAR, peer, 1, MPI_COMM_WORLD);
			MPI_Recv(c->recv, (int)size, MPI_CHAR, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		} else {
			MPI_Recv(c->recv, (int)size, MPI_CHAR, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			MPI_Send(c->send, (int)size, MPI_CHAR, peer, 1, MPI_COMM_WORLD);
		}
	}
	return (MPI_Wtime() - start) * 1e6 / (2.0 * iterations);
}

double measure_latency(struct context *c, size_t size, int iterations)
{
	if (c->rank > 1)
		return 0;
	return pingpong(c, 1 - c->rank, c->rank == 0, size, iterations);
}

double measure_multi_lat(struct context *c, size_t size, int iterations)
{
	int pairs = c->ranks / 2;
	int first = c->rank < pairs;
	double mine = pingpong(c, first ? c->rank + pairs : c->rank - pairs, first, size, iterations);
	double sum = 0;

	if (!first)
		mine = 0;
	MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
	return sum / pairs;
}

/* bandwidth.c - windows of non-blocking messages. Unit: MB/s, 1 MB = 1,000,000 bytes. */
#include "peer.h"

/* One direction: a window of messages, then a four-byte answer. Returns seconds. */
static double stream(struct context *c, int peer, int sender, size_t size, int iterations)
{
	double start = MPI_Wtime();

	for (int i = 0; i < iterations; i++) {
		if (sender) {
			for (int w = 0; w < WINDOW; w++)
				MPI_Isend(c->send, (int)size, MPI_CHAR, peer, 100, MPI_COMM_WORLD, &c->requests[w]);
			MPI_Waitall(WINDOW, c->requests, MPI_STATUSES_IGNORE);
			MPI_Recv(c->recv, 4, MPI_CHAR, peer, 101, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		} else {
			for (int w = 0; w < WINDOW; w++)
				MPI_Irecv(c->recv, (int)size, MPI_CHAR, peer, 100, MPI_COMM_WORLD, &c->requests[w]);
			MPI_Waitall(WINDOW, c->requests, MPI_STATUSES_IGNORE);
			MPI_Send(c->send, 4, MPI_CHAR, peer, 101, MPI_COMM_WORLD);
		}
	}
	return MPI_Wtime() - start;
}

double measure_bw(struct context *c, size_t size, int iterations)
{
	if (c->rank > 1)
		return 0;
	return (double)size * WINDOW * iterations / 1e6 / stream(c, 1 - c->rank, c->rank == 0, size, iterations);
}

double measure_bibw(struct context *c, size_t size, int iterations)
{
	int peer = 1 - c->rank, mine = 100 + c->rank, theirs = 100 + peer;
	double start = MPI_Wtime();

	if (c->rank > 1)
		return 0;
	for (int i = 0; i < iterations; i++) {
		for (int w = 0; w < WINDOW; w++)
			MPI_Irecv(c->recv, (int)size, MPI_CHAR, peer, theirs, MPI_COMM_WORLD, &c->requests[w]);
		for (int w = 0; w < WINDOW; w++)
			MPI_Isend(c->send, (int)size, MPI_CHAR, peer, mine, MPI_COMM_WORLD, &c->requests[WINDOW + w]);
		MPI_Waitall(2 * WINDOW, c->requests, MPI_STATUSES_IGNORE);
	}
	return 2.0 * size * WINDOW * iterations / 1e6 / (MPI_Wtime() - start);
}

/* All pairs at once; the rate is that of the mean sender's time. */
double measure_mbw_mr(struct context *c, size_t size, int iterations)
{
	int pairs = c->ranks / 2;
	int sender = c->rank < pairs;
	double mine = stream(c, sender ? c->rank + pairs : c->rank - pairs, sender, size, iterations);
	double sum = 0;

	if (!sender)
		mine = 0;
	MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
	if (c->rank != 0)
		return 0;
	return (double)size * WINDOW * iterations * pairs / 1e6 / (sum / pairs);
}

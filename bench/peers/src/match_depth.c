/*
 * match_depth.c - `depth` receives with distinct tags are posted, then matched
 * in reverse order: a list that is searched from its head costs depth/2 steps a
 * message. Unit: microseconds a message.
 */
#include "peer.h"

#include <stdlib.h>

double measure_match_depth(struct context *c, size_t depth, int iterations)
{
	double spent = 0;
	MPI_Request *requests;
	int n = (int)depth;

	if (c->rank > 1)
		return 0;
	requests = malloc((depth ? depth : 1) * sizeof *requests);
	if (!requests)
		MPI_Abort(MPI_COMM_WORLD, 1);
	for (int i = 0; i < iterations; i++) {
		if (c->rank == 0) {
			double start;

			for (int t = 0; t < n; t++)
				MPI_Irecv(c->recv + 8 * (size_t)t, 8, MPI_CHAR, 1, t, MPI_COMM_WORLD, &requests[t]);
			start = MPI_Wtime();
			MPI_Send(c->send, 8, MPI_CHAR, 1, n, MPI_COMM_WORLD);
			MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
			spent += MPI_Wtime() - start;
		} else {
			MPI_Recv(c->recv, 8, MPI_CHAR, 0, n, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			for (int t = n - 1; t >= 0; t--)
				MPI_Send(c->send, 8, MPI_CHAR, 0, t, MPI_COMM_WORLD);
		}
	}
	free(requests);
	return n ? spent * 1e6 / iterations / n : 0;
}

/* neighbour.c - one message to and from each neighbour on a ring: the least that makes a job wire up. */
#include "peer.h"

void neighbour_exchange(struct context *c)
{
	int left = (c->rank + c->ranks - 1) % c->ranks;
	int right = (c->rank + 1) % c->ranks;
	char out[2][8] = { "left", "right" }, in[2][8];

	MPI_Sendrecv(out[0], 8, MPI_CHAR, left, 10, in[0], 8, MPI_CHAR, right, 10, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Sendrecv(out[1], 8, MPI_CHAR, right, 11, in[1], 8, MPI_CHAR, left, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

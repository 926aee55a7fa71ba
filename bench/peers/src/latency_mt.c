/*
 * latency_mt.c - ping-pong between one sending thread of rank 0 and several
 * receiving threads of rank 1, which all wait for the same tag. Unit:
 * microseconds one way.
 */
#include "peer.h"

#include <pthread.h>

struct share {
	struct context *c;
	char *buffer;
	size_t size;
	int iterations;
};

static void *receiver(void *arg)
{
	struct share *s = arg;

	for (int i = 0; i < s->iterations; i++) {
		MPI_Recv(s->buffer, (int)s->size, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Send(s->c->send, (int)s->size, MPI_CHAR, 0, 2, MPI_COMM_WORLD);
	}
	return NULL;
}

double measure_latency_mt(struct context *c, size_t size, int iterations)
{
	pthread_t threads[RECEIVER_THREADS];
	struct share shares[RECEIVER_THREADS];
	double start = MPI_Wtime();

	if (c->rank == 0) {
		for (int i = 0; i < iterations; i++) {
			MPI_Send(c->send, (int)size, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
			MPI_Recv(c->recv, (int)size, MPI_CHAR, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		}
		return (MPI_Wtime() - start) * 1e6 / (2.0 * iterations);
	}
	if (c->rank > 1)
		return 0;
	for (int t = 0; t < RECEIVER_THREADS; t++) {
		shares[t].c = c;
		shares[t].size = size;
		/* every thread its own part: two receives may not fill the same memory */
		shares[t].buffer = c->recv + t * size;
		shares[t].iterations = iterations / RECEIVER_THREADS + (t < iterations % RECEIVER_THREADS);
		if (pthread_create(&threads[t], NULL, receiver, &shares[t]))
			MPI_Abort(MPI_COMM_WORLD, 1);
	}
	for (int t = 0; t < RECEIVER_THREADS; t++)
		pthread_join(threads[t], NULL);
	return 0;
}

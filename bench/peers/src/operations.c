/* operations.c - the calls, as ompi-bench's table of operations. */
#include "collective.h"

#include <string.h>

#if MPI_VERSION >= 4
#define PERSISTENT(Upper) MPI_##Upper##_init
#elif defined(OPEN_MPI)
#include <mpi-ext.h>
#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
#define PERSISTENT(Upper) MPIX_##Upper##_init
#endif
#endif

#define ROOT 0

/*
 * The three forms of one operation take the same arguments; those of the
 * non-blocking and the persistent one go on after the communicator.
 */
#define BLOCKING(lower, Upper, ...) \
	static int call_##lower(const struct arguments *a) { return MPI_##Upper(__VA_ARGS__); }
#define NON_BLOCKING(lower, Upper, ...) \
	static int start_##lower(const struct arguments *a, MPI_Request *r) { return MPI_I##lower(__VA_ARGS__, r); }
#ifdef PERSISTENT
#define PREPARED(lower, Upper, ...) \
	static int prepare_##lower(const struct arguments *a, MPI_Request *r) { return PERSISTENT(Upper)(__VA_ARGS__, MPI_INFO_NULL, r); }
#define PREPARE(lower) prepare_##lower
#else
#define PREPARED(lower, Upper, ...)
#define PREPARE(lower) NULL
#endif
#define OPERATION(...) BLOCKING(__VA_ARGS__) NON_BLOCKING(__VA_ARGS__) PREPARED(__VA_ARGS__)

#define ONE a->send, a->size, MPI_CHAR
#define ONE_IN a->recv, a->size, MPI_CHAR
#define EACH a->send, a->sizes, a->displs, MPI_CHAR
#define EACH_IN a->recv, a->sizes, a->displs, MPI_CHAR
#define TYPED a->send, a->sizes, a->displs, a->types
#define TYPED_IN a->recv, a->sizes, a->displs, a->types
#define SUM(count) a->send, a->recv, count, MPI_FLOAT, MPI_SUM

OPERATION(barrier, Barrier, a->comm)
OPERATION(bcast, Bcast, ONE, ROOT, a->comm)
OPERATION(gather, Gather, ONE, ONE_IN, ROOT, a->comm)
OPERATION(gatherv, Gatherv, ONE, EACH_IN, ROOT, a->comm)
OPERATION(scatter, Scatter, ONE, ONE_IN, ROOT, a->comm)
OPERATION(scatterv, Scatterv, EACH, ONE_IN, ROOT, a->comm)
OPERATION(allgather, Allgather, ONE, ONE_IN, a->comm)
OPERATION(allgatherv, Allgatherv, ONE, EACH_IN, a->comm)
OPERATION(alltoall, Alltoall, ONE, ONE_IN, a->comm)
OPERATION(alltoallv, Alltoallv, EACH, EACH_IN, a->comm)
OPERATION(alltoallw, Alltoallw, TYPED, TYPED_IN, a->comm)
OPERATION(reduce, Reduce, SUM(a->count), ROOT, a->comm)
OPERATION(allreduce, Allreduce, SUM(a->count), a->comm)
OPERATION(reduce_scatter_block, Reduce_scatter_block, SUM(a->count), a->comm)
OPERATION(reduce_scatter, Reduce_scatter, SUM(a->shares), a->comm)
OPERATION(scan, Scan, SUM(a->count), a->comm)
OPERATION(exscan, Exscan, SUM(a->count), a->comm)
OPERATION(neighbor_allgather, Neighbor_allgather, ONE, ONE_IN, a->comm)
OPERATION(neighbor_allgatherv, Neighbor_allgatherv, ONE, EACH_IN, a->comm)
OPERATION(neighbor_alltoall, Neighbor_alltoall, ONE, ONE_IN, a->comm)
OPERATION(neighbor_alltoallv, Neighbor_alltoallv, EACH, EACH_IN, a->comm)
OPERATION(neighbor_alltoallw, Neighbor_alltoallw, a->send, a->sizes, a->places, a->types, a->recv, a->sizes, a->places, a->types, a->comm)

#define ROW(lower, least, per_peer, neighbours, ahead) \
	{ #lower, least, per_peer, neighbours, ahead, call_##lower, start_##lower, PREPARE(lower) }

static const struct collective collectives[] = {
	/* name, first size, per peer, neighbours, ahead */
	ROW(barrier, 0, 0, 0, 0),
	ROW(bcast, 1, 0, 0, 1),
	ROW(gather, 1, 1, 0, 1),
	ROW(gatherv, 1, 1, 0, 1),
	ROW(scatter, 1, 1, 0, 1),
	ROW(scatterv, 1, 1, 0, 1),
	ROW(allgather, 1, 1, 0, 0),
	ROW(allgatherv, 1, 1, 0, 0),
	ROW(alltoall, 1, 1, 0, 0),
	ROW(alltoallv, 1, 1, 0, 0),
	ROW(alltoallw, 1, 1, 0, 0),
	ROW(reduce, 4, 0, 0, 1),
	ROW(allreduce, 4, 0, 0, 0),
	ROW(reduce_scatter_block, 4, 1, 0, 0),
	ROW(reduce_scatter, 4, 0, 0, 0),
	ROW(scan, 4, 0, 0, 1),
	ROW(exscan, 4, 0, 0, 1),
	ROW(neighbor_allgather, 1, 0, 1, 0),
	ROW(neighbor_allgatherv, 1, 0, 1, 0),
	ROW(neighbor_alltoall, 1, 0, 1, 0),
	ROW(neighbor_alltoallv, 1, 0, 1, 0),
	ROW(neighbor_alltoallw, 1, 0, 1, 0),
};

const struct collective *collective_at(size_t i)
{
	return i < sizeof collectives / sizeof collectives[0] ? &collectives[i] : NULL;
}

const struct collective *find_collective(const char *name, size_t n)
{
	const struct collective *of;

	for (size_t i = 0; (of = collective_at(i)); i++)
		if (strlen(of->name) == n && memcmp(of->name, name, n) == 0)
			return of;
	return NULL;
}

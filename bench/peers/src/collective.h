/* collective.h - the collectives in their three forms. */
#ifndef OMPI_GO_COLLECTIVE_H
#define OMPI_GO_COLLECTIVE_H

#include "peer.h"

/*
 * What the collectives of one size take, made before the clock runs. A block is
 * `size` bytes; there is one for every rank, or for both neighbours on the ring.
 */
struct arguments {
	MPI_Comm comm;
	char *send, *recv;
	int size;               /* bytes of a block */
	int count;              /* single-precision numbers of a block */
	int *sizes, *displs;    /* of the blocks, in bytes */
	MPI_Aint *places;       /* the displacements again, as the neighbours' form wants them */
	MPI_Datatype *types;    /* of the blocks: bytes */
	int *shares;            /* everybody's part of one block of numbers */
};

struct collective {
	const char *name;
	size_t least;           /* first size in bytes; 0: an operation without data */
	int per_peer;           /* buffers hold a block for every rank */
	int neighbours;         /* works on a ring, with a block for each neighbour */
	int ahead;              /* some ranks may be through before others have begun */
	int (*call)(const struct arguments *a);
	int (*start)(const struct arguments *a, MPI_Request *r);
	int (*prepare)(const struct arguments *a, MPI_Request *r); /* NULL: the library has no persistent collectives */
};

/* operations.c: the i-th collective, and the one of a name of n characters; NULL if there is none */
const struct collective *collective_at(size_t i);
const struct collective *find_collective(const char *name, size_t n);

/* arguments.c */
void make_arguments(struct arguments *a, struct context *c, size_t size);
void free_arguments(struct arguments *a);

/* collective.c: microseconds from seconds, mean over the ranks */
double mean(struct context *c, double seconds, int iterations);

#endif

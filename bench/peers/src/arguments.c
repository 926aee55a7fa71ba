/* arguments.c - what the collectives of one size take. */
#include "collective.h"

#include <stdlib.h>

/* Every rank has the one before and the one after it as neighbours. */
static MPI_Comm ring(struct context *c)
{
	int periodic = 1;

	if (c->ring == MPI_COMM_NULL)
		MPI_Cart_create(MPI_COMM_WORLD, 1, &c->ranks, &periodic, 0, &c->ring);
	return c->ring;
}

void make_arguments(struct arguments *a, struct context *c, size_t size)
{
	const struct collective *of = c->subject;
	int blocks = of->neighbours ? 2 : c->ranks;

	a->comm = of->neighbours ? ring(c) : MPI_COMM_WORLD;
	a->send = c->send;
	a->recv = c->recv;
	a->size = (int)size;
	a->count = (int)(size / sizeof(float));
	a->sizes = need(blocks * sizeof *a->sizes);
	a->displs = need(blocks * sizeof *a->displs);
	a->places = need(blocks * sizeof *a->places);
	a->types = need(blocks * sizeof *a->types);
	a->shares = need(c->ranks * sizeof *a->shares);
	for (int i = 0; i < blocks; i++) {
		a->sizes[i] = a->size;
		/* operations with one block for all never look at the displacements, which would not fit */
		a->displs[i] = of->per_peer || of->neighbours ? i * a->size : 0;
		a->places[i] = a->displs[i];
		a->types[i] = MPI_CHAR;
	}
	for (int i = 0; i < c->ranks; i++) /* the first ones get the rest */
		a->shares[i] = a->count / c->ranks + (i < a->count % c->ranks);
}

void free_arguments(struct arguments *a)
{
	free(a->sizes);
	free(a->displs);
	free(a->places);
	free(a->types);
	free(a->shares);
}

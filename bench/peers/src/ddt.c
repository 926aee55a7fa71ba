/*
 * ddt.c - the ping-pong of ranks 0 and 1 with every layout: once with a
 * datatype at both ends, and for comparison with loops that pack and unpack
 * around a contiguous message. Unit: microseconds one way.
 */
#include "layout.h"
#include "peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct exchange {
	const struct layout *layout;
	char *mem, *in; /* what is sent from and received into */
};

struct course {
	const struct test *t;
	struct context *c;
	const struct options *o;
};

/* Exchanges one message and compares what came with what loops would have put there. */
static void check(const struct context *c, const struct exchange *x, size_t bytes)
{
	const struct layout *l = x->layout;
	char *packed = need(bytes), *want = need(l->span);
	int size, other = 1 - c->rank;

	MPI_Type_size(l->type, &size);
	MPI_Sendrecv(x->mem + l->base, 1, l->type, other, 1, x->in + l->base, 1, l->type, other, 1,
		MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	memset(want, 0, l->span);
	layout_pack(l, x->mem, packed);
	layout_unpack(l, packed, want);
	if ((size_t)size != bytes || memcmp(x->in, want, l->span)) {
		fprintf(stderr, "peer: layout %s:%zu: the datatype and the loops disagree\n", l->name, bytes);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	free(packed);
	free(want);
}

static double measure_typed(struct context *c, size_t size, int iterations)
{
	const struct exchange *x = c->subject;
	MPI_Datatype t = x->layout->type;
	char *out = x->mem + x->layout->base, *in = x->in + x->layout->base;
	int peer = 1 - c->rank;
	double start = MPI_Wtime();

	(void)size;
	if (c->rank > 1)
		return 0;
	for (int i = 0; i < iterations; i++) {
		if (c->rank == 0)
			MPI_Send(out, 1, t, peer, 1, MPI_COMM_WORLD);
		MPI_Recv(in, 1, t, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		if (c->rank == 1)
			MPI_Send(out, 1, t, peer, 1, MPI_COMM_WORLD);
	}
	return (MPI_Wtime() - start) * 1e6 / (2.0 * iterations);
}

static void send_packed(struct context *c, const struct exchange *x, size_t size)
{
	layout_pack(x->layout, x->mem, c->send);
	MPI_Send(c->send, (int)size, MPI_CHAR, 1 - c->rank, 1, MPI_COMM_WORLD);
}

static double measure_packed(struct context *c, size_t size, int iterations)
{
	const struct exchange *x = c->subject;
	double start = MPI_Wtime();

	if (c->rank > 1)
		return 0;
	for (int i = 0; i < iterations; i++) {
		if (c->rank == 0)
			send_packed(c, x, size);
		MPI_Recv(c->recv, (int)size, MPI_CHAR, 1 - c->rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		layout_unpack(x->layout, c->recv, x->in);
		if (c->rank == 1)
			send_packed(c, x, size);
	}
	return (MPI_Wtime() - start) * 1e6 / (2.0 * iterations);
}

static void measure_layout(struct layout *l, void *arg)
{
	const struct course *on = arg;
	struct context *c = on->c;
	struct exchange x = { l, need(l->span), need(l->span) };
	size_t bytes = layout_bytes(l);
	char label[64], sum[32];
	double value, packed;

	if (bytes < on->t->min || bytes > on->t->max)
		goto done;
	layout_fill(x.mem, l->span);
	memset(x.in, 0, l->span);
	c->subject = &x;
	if (c->rank < 2)
		check(c, &x, bytes);
	value = repeat(on->t, c, on->o, measure_typed, bytes);
	packed = repeat(on->t, c, on->o, measure_packed, bytes);
	layout_pack(l, x.mem, c->send);
	snprintf(label, sizeof label, "%s:%zu", l->name, bytes);
	snprintf(sum, sizeof sum, "%016llx", checksum(c->send, bytes));
	if (c->rank == 0)
		report_row(on->t, label, value, &packed, 1, sum);
done:
	free(x.mem);
	free(x.in);
}

int run_ddt(const struct test *t, struct context *c, const struct options *o)
{
	struct course on = { t, c, o };

	each_layout(measure_layout, &on);
	return 0;
}

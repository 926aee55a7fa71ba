/* layout_points.c - particles and mesh points picked by index. */
#include "layout.h"
#include "peer.h"

#include <stdlib.h>

/* One array of a set of points: numbers of 4 or 8 bytes, some a point. */
struct property {
	size_t elem;
	int each;
	MPI_Datatype type;
};

/* Particles that leave for a neighbour: the same ones out of several arrays. */
static int picked(struct layout *l, int which, const struct property *properties, int count)
{
	static const int sizes[] = { 64, 512, 2048, 8192 };
	MPI_Datatype types[MAX_PARTS];
	size_t at[MAX_PARTS];
	int n;

	if (which >= (int)(sizeof sizes / sizeof sizes[0]))
		return 0;
	n = sizes[which];
	for (int i = 0; i < count; i++) {
		const struct property *of = &properties[i];
		struct part *p = add_part(l);

		at[i] = p->at = l->span;
		p->elem = of->elem;
		p->block = of->each;
		p->index = scattered(n, of->each);
		p->places = n;
		l->span += of->elem * of->each * 8 * n;
		MPI_Type_create_indexed_block(n, of->each, p->index, of->type, &types[i]);
	}
	l->type = struct_of(count, at, types);
	return 1;
}

/* position, tag, type, mask */
int make_lammps_atomic(struct layout *l, int which)
{
	const struct property properties[] = {
		{ 8, 3, MPI_DOUBLE }, { 4, 1, MPI_INT }, { 4, 1, MPI_INT }, { 4, 1, MPI_INT }
	};

	return picked(l, which, properties, 4);
}

/* position, tag, type, mask, charge, molecule */
int make_lammps_full(struct layout *l, int which)
{
	const struct property properties[] = {
		{ 8, 3, MPI_DOUBLE }, { 4, 1, MPI_INT }, { 4, 1, MPI_INT }, { 4, 1, MPI_INT }, { 8, 1, MPI_DOUBLE }, { 4, 1, MPI_INT }
	};

	return picked(l, which, properties, 6);
}

static int mesh(int which)
{
	static const int sizes[] = { 256, 1024, 4096, 16384 };

	return which < (int)(sizeof sizes / sizeof sizes[0]) ? sizes[which] : 0;
}

/* one float at points of the outer core, in no order */
int make_specfem_oc(struct layout *l, int which)
{
	int n = mesh(which);
	struct part *p = add_part(l);

	if (!n)
		return 0;
	l->span = 4 * 8 * (size_t)n;
	p->elem = 4;
	p->block = 1;
	p->index = scattered(n, 1);
	p->places = n;
	shuffle(p->index, n);
	MPI_Type_create_indexed_block(n, 1, p->index, MPI_FLOAT, &l->type);
	return 1;
}

/* written with lengths, as the code does, though all are equal */
static MPI_Datatype threes(struct part *p, size_t at, int n)
{
	int *lengths = need(n * sizeof *lengths);
	MPI_Datatype t;

	p->at = at;
	p->elem = 4;
	p->block = 3;
	p->index = scattered(n, 3);
	p->places = n;
	for (int i = 0; i < n; i++)
		lengths[i] = 3;
	MPI_Type_indexed(n, lengths, p->index, MPI_FLOAT, &t);
	free(lengths);
	return t;
}

/* three floats at points of crust and mantle and, fewer, of the inner core */
int make_specfem_cm(struct layout *l, int which)
{
	int n = mesh(which);
	size_t at[2] = { 0, 4 * 3 * 8 * (size_t)n };
	MPI_Datatype types[2];

	if (!n)
		return 0;
	l->span = at[1] + 4 * 3 * 8 * (size_t)(n / 4);
	types[0] = threes(add_part(l), at[0], n);
	types[1] = threes(add_part(l), at[1], n / 4);
	l->type = struct_of(2, at, types);
	return 1;
}

/* a column out of a matrix of points, three floats each */
int make_specfem_mt(struct layout *l, int which)
{
	const int columns = 16;
	int n = mesh(which);
	struct part *p = add_part(l);

	if (!n)
		return 0;
	l->span = 4 * 3 * (size_t)n * columns;
	p->elem = 4;
	p->block = 3;
	p->loops[0] = (struct loop){ n, 3 * (size_t)columns };
	MPI_Type_vector(n, 3, 3 * columns, MPI_FLOAT, &l->type);
	return 1;
}

/* layout_grids.c - faces of grids and of a lattice. */
#include "layout.h"

/*
 * Five doubles at every point of an n by n plane with a rim. A row of it lies
 * in one piece, a column in n pieces. The sizes are those of the NAS classes S,
 * W, A, B, C and D.
 */
static int lu(struct layout *l, int which)
{
	static const int sizes[] = { 12, 33, 64, 102, 162, 408 };
	int n, row;

	if (which >= (int)(sizeof sizes / sizeof sizes[0]))
		return 0;
	n = sizes[which];
	row = 5 * (n + 2);
	l->span = 8 * (size_t)row * (n + 2);
	l->base = 8 * ((size_t)row + 5);
	return n;
}

int make_nas_lu_x(struct layout *l, int which)
{
	int n = lu(l, which);
	struct part *p = add_part(l);

	if (!n)
		return 0;
	p->elem = 8;
	p->block = 5 * (size_t)n;
	MPI_Type_contiguous(5 * n, MPI_DOUBLE, &l->type);
	return 1;
}

int make_nas_lu_y(struct layout *l, int which)
{
	int n = lu(l, which), row = 5 * (n + 2);
	struct part *p = add_part(l);

	if (!n)
		return 0;
	p->elem = 8;
	p->block = 5;
	p->loops[0] = (struct loop){ n, row };
	MPI_Type_vector(n, 5, row, MPI_DOUBLE, &l->type);
	return 1;
}

/* The faces of a cube of n doubles a side, with a rim of one. */
static int mg(struct layout *l, int which)
{
	static const int sizes[] = { 16, 32, 64, 128 };
	size_t row, plane;

	if (which >= (int)(sizeof sizes / sizeof sizes[0]))
		return 0;
	row = sizes[which] + 2;
	plane = row * row;
	l->span = 8 * plane * row;
	l->base = 8 * (plane + row + 1);
	return sizes[which];
}

/* single numbers: a vector of vectors */
int make_nas_mg_x(struct layout *l, int which)
{
	int n = mg(l, which), row = n + 2, plane = row * row;
	struct part *p = add_part(l);
	MPI_Datatype column;

	if (!n)
		return 0;
	p->elem = 8;
	p->block = 1;
	p->loops[0] = (struct loop){ n, plane };
	p->loops[1] = (struct loop){ n, row };
	MPI_Type_vector(n, 1, row, MPI_DOUBLE, &column);
	MPI_Type_create_hvector(n, 1, 8 * (MPI_Aint)plane, column, &l->type);
	MPI_Type_free(&column);
	return 1;
}

static int rows(struct layout *l, int n, int stride)
{
	struct part *p = add_part(l);

	p->elem = 8;
	p->block = n;
	p->loops[0] = (struct loop){ n, stride };
	MPI_Type_vector(n, n, stride, MPI_DOUBLE, &l->type);
	return 1;
}

int make_nas_mg_y(struct layout *l, int which)
{
	int n = mg(l, which);

	return n && rows(l, n, (n + 2) * (n + 2));
}

int make_nas_mg_z(struct layout *l, int which)
{
	int n = mg(l, which);

	return n && rows(l, n, n + 2);
}

/*
 * The lowest z face of a four-dimensional lattice of colour vectors, three
 * complex numbers each. Even sites lie before odd ones.
 */
int make_milc(struct layout *l, int which)
{
	static const int sizes[][4] = { { 8, 8, 8, 8 }, { 16, 16, 8, 8 }, { 16, 16, 16, 16 }, { 32, 32, 16, 16 } };
	const int vector = 6; /* floats of a site */
	struct part *p = add_part(l);
	MPI_Datatype site, parity;
	int z, t, face, half;

	if (which >= (int)(sizeof sizes / sizeof sizes[0]))
		return 0;
	z = sizes[which][2];
	t = sizes[which][3];
	face = sizes[which][0] / 2 * sizes[which][1]; /* sites of one parity, z and t */
	half = face * z * t;
	l->span = 2 * (size_t)half * vector * 4;
	p->elem = 4;
	p->block = (size_t)face * vector;
	p->loops[0] = (struct loop){ 2, (size_t)half * vector };
	p->loops[1] = (struct loop){ t, (size_t)face * z * vector };
	MPI_Type_contiguous(vector, MPI_FLOAT, &site);
	MPI_Type_vector(t, face, face * z, site, &parity);
	MPI_Type_create_hvector(2, 1, (MPI_Aint)half * vector * 4, parity, &l->type);
	MPI_Type_free(&site);
	MPI_Type_free(&parity);
	return 1;
}

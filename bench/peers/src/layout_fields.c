/*
 * layout_fields.c - the halo of a weather model: one struct over four fields of
 * two, three of three and two of four dimensions.
 */
#include "layout.h"

/* width of the halo */
#define RIM 3

#define FIELDS 9

/* An array of single-precision numbers [m][y][z][x], and the box of it that is sent. */
struct field {
	size_t at; /* its first byte */
	int full[4], start[4], box[4];
};

/* `west` is the halo in x direction, else that in y direction is sent. */
static int weather(struct layout *l, int which, int west, struct field *fields)
{
	static const int sizes[][3] = { { 8, 8, 10 }, { 16, 16, 20 }, { 32, 32, 28 }, { 64, 64, 35 } };
	int nx, ny, nz;

	if (which >= (int)(sizeof sizes / sizeof sizes[0]))
		return 0;
	nx = sizes[which][0];
	ny = sizes[which][1];
	nz = sizes[which][2];
	for (int i = 0; i < FIELDS; i++) {
		int species = i < 7 ? 1 : 4, levels = i < 4 ? 1 : nz;

		fields[i] = (struct field){
			l->span, { species, ny + 2 * RIM, levels, nx + 2 * RIM }, { 0, RIM, 0, RIM },
			{ species, west ? ny : RIM, levels, west ? RIM : nx }
		};
		l->span += 4 * (size_t)species * (ny + 2 * RIM) * levels * (nx + 2 * RIM);
	}
	return 1;
}

/* Distances in numbers from one index to the next: of m, y and z. */
static void strides(const struct field *f, size_t *s)
{
	s[2] = f->full[3];
	s[1] = s[2] * f->full[2];
	s[0] = s[1] * f->full[1];
}

static size_t first(const struct field *f)
{
	size_t s[3];

	strides(f, s);
	return f->at + 4 * (f->start[0] * s[0] + f->start[1] * s[1] + f->start[2] * s[2] + f->start[3]);
}

static void loops(struct layout *l, const struct field *fields)
{
	for (int i = 0; i < FIELDS; i++) {
		struct part *p = add_part(l);
		size_t s[3];

		strides(&fields[i], s);
		p->at = first(&fields[i]);
		p->elem = 4;
		p->block = fields[i].box[3];
		for (int d = 0; d < 3; d++)
			p->loops[d] = (struct loop){ fields[i].box[d], s[d] };
	}
}

static int subarrays(struct layout *l, int which, int west)
{
	struct field fields[FIELDS];
	MPI_Datatype types[FIELDS];
	size_t at[FIELDS];

	if (!weather(l, which, west, fields))
		return 0;
	loops(l, fields);
	for (int i = 0; i < FIELDS; i++) {
		const struct field *f = &fields[i];
		int full[4], box[4], start[4], n = 0;

		/* dimensions of one index are left out, as the model's arrays do not have them */
		for (int d = 0; d < 4; d++) {
			if (f->full[d] == 1)
				continue;
			full[n] = f->full[d];
			box[n] = f->box[d];
			start[n++] = f->start[d];
		}
		MPI_Type_create_subarray(n, full, box, start, MPI_ORDER_C, MPI_FLOAT, &types[i]);
		at[i] = f->at;
	}
	l->type = struct_of(FIELDS, at, types);
	return 1;
}

static void nest(MPI_Datatype *t, int n, size_t stride)
{
	MPI_Datatype inner = *t;

	MPI_Type_create_hvector(n, 1, 4 * (MPI_Aint)stride, inner, t);
	MPI_Type_free(&inner);
}

static int vectors(struct layout *l, int which, int west)
{
	struct field fields[FIELDS];
	MPI_Datatype types[FIELDS];
	size_t at[FIELDS];

	if (!weather(l, which, west, fields))
		return 0;
	loops(l, fields);
	for (int i = 0; i < FIELDS; i++) {
		const struct field *f = &fields[i];
		size_t s[3];

		strides(f, s);
		if (f->full[2] == 1) {
			MPI_Type_vector(f->box[1], f->box[3], (int)s[1], MPI_FLOAT, &types[i]);
		} else {
			MPI_Type_vector(f->box[2], f->box[3], (int)s[2], MPI_FLOAT, &types[i]);
			nest(&types[i], f->box[1], s[1]);
		}
		if (f->box[0] > 1)
			nest(&types[i], f->box[0], s[0]);
		at[i] = first(f);
	}
	l->type = struct_of(FIELDS, at, types);
	return 1;
}

int make_wrf_x_sa(struct layout *l, int which)
{
	return subarrays(l, which, 1);
}

int make_wrf_x_vec(struct layout *l, int which)
{
	return vectors(l, which, 1);
}

int make_wrf_y_sa(struct layout *l, int which)
{
	return subarrays(l, which, 0);
}

int make_wrf_y_vec(struct layout *l, int which)
{
	return vectors(l, which, 0);
}

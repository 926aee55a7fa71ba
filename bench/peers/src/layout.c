/* layout.c - the loops of a layout, and what its makers share. */
#include "layout.h"
#include "peer.h"

#include <stdint.h>

static size_t steps(const struct part *p, int i)
{
	return p->loops[i].n ? p->loops[i].n : 1;
}

static size_t part_bytes(const struct part *p)
{
	if (p->index)
		return p->elem * p->block * p->places;
	return p->elem * p->block * steps(p, 0) * steps(p, 1) * steps(p, 2);
}

size_t layout_bytes(const struct layout *l)
{
	size_t n = 0;

	for (int i = 0; i < l->nparts; i++)
		n += part_bytes(&l->parts[i]);
	return n;
}

/*
 * The walk over one part for numbers of one width. PUT says which way a number
 * goes: `array` and `packed` point at it.
 */
#define WALK(name, number, PUT) \
	static void name(const struct part *p, number *all, number *packed) \
	{ \
		if (p->index) { \
			for (size_t i = 0; i < p->places; i++) { \
				number *array = all + p->index[i]; \
				for (size_t e = 0; e < p->block; e++, array++, packed++) \
					PUT; \
			} \
			return; \
		} \
		for (size_t i = 0; i < steps(p, 0); i++) \
			for (size_t j = 0; j < steps(p, 1); j++) \
				for (size_t k = 0; k < steps(p, 2); k++) { \
					number *array = all + i * p->loops[0].stride + j * p->loops[1].stride + \
						k * p->loops[2].stride; \
					for (size_t e = 0; e < p->block; e++, array++, packed++) \
						PUT; \
				} \
	}

WALK(pack4, uint32_t, *packed = *array)
WALK(pack8, uint64_t, *packed = *array)
WALK(unpack4, uint32_t, *array = *packed)
WALK(unpack8, uint64_t, *array = *packed)

void layout_pack(const struct layout *l, const char *mem, char *out)
{
	for (int i = 0; i < l->nparts; i++) {
		const struct part *p = &l->parts[i];
		void *array = (char *)mem + l->base + p->at;

		if (p->elem == 8)
			pack8(p, array, (void *)out);
		else
			pack4(p, array, (void *)out);
		out += part_bytes(p);
	}
}

void layout_unpack(const struct layout *l, const char *in, char *mem)
{
	for (int i = 0; i < l->nparts; i++) {
		const struct part *p = &l->parts[i];
		void *array = mem + l->base + p->at;

		if (p->elem == 8)
			unpack8(p, array, (void *)in);
		else
			unpack4(p, array, (void *)in);
		in += part_bytes(p);
	}
}

/* Every byte gets a value that follows from its place. */
void layout_fill(char *mem, size_t n)
{
	for (size_t i = 0; i < n; i++)
		mem[i] = (char)((uint32_t)i * 2654435761u >> 24);
}

/* FNV-1a of 64 bits */
unsigned long long checksum(const char *bytes, size_t n)
{
	uint64_t h = 14695981039346656037u;

	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)bytes[i]) * 1099511628211u;
	return h;
}

struct part *add_part(struct layout *l)
{
	return &l->parts[l->nparts++];
}

static uint32_t next(uint32_t *state)
{
	return *state = *state * 1664525u + 1013904223u;
}

/* n numbers in ascending order whose distances vary from 1 to 8, times factor */
int *scattered(size_t n, int factor)
{
	int *list = need(n * sizeof *list);
	uint32_t state = 1;
	int at = 0;

	for (size_t i = 0; i < n; i++) {
		list[i] = at * factor;
		at += 1 + (int)(next(&state) >> 29);
	}
	return list;
}

void shuffle(int *list, size_t n)
{
	uint32_t state = 1;

	for (size_t i = n - 1; i > 0; i--) {
		size_t j = (next(&state) >> 8) % (i + 1);
		int kept = list[i];

		list[i] = list[j];
		list[j] = kept;
	}
}

/* One element of each type; the types are freed. */
MPI_Datatype struct_of(int n, const size_t *at, MPI_Datatype *types)
{
	int ones[MAX_PARTS] = { 0 };
	MPI_Aint displs[MAX_PARTS] = { 0 };
	MPI_Datatype all;

	for (int i = 0; i < n; i++) {
		ones[i] = 1;
		displs[i] = (MPI_Aint)at[i];
	}
	MPI_Type_create_struct(n, ones, displs, types, &all);
	for (int i = 0; i < n; i++)
		MPI_Type_free(&types[i]);
	return all;
}

/*
 * differ.c - the interpreter of test programs for other MPI libraries: reads the steps of a program, one a line, carries them out, and
 * writes what each brought to OUT.<rank>. The Go interpreter beside it says what the words mean; both write the same lines.
 *
 * usage: differ PROGRAM OUT
 */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 64, SLOTS = 128, LIST = 256, AREAS = 16 };

static FILE *out;
static int world_rank, step;
static char *cursor;
static MPI_Comm comms[SLOTS];
static MPI_Op matrix_op;

static void fail(const char *what, const char *more)
{
	fprintf(stderr, "differ: step %d: %s %s\n", step, what, more);
	MPI_Abort(MPI_COMM_WORLD, 2);
}

static void *room(size_t n)
{
	void *p = calloc(1, n ? n : 1);

	if (!p)
		fail("no memory", "");
	return p;
}

/* ---- words ---- */

static char *word(void)
{
	char *w = strtok_r(NULL, " \n", &cursor);

	if (!w)
		fail("the line ends early", "");
	return w;
}

static int is(const char *a, const char *b) { return strcmp(a, b) == 0; }
static long number(void) { return strtol(word(), NULL, 10); }

static int *numbers(int n)
{
	int *v = room(sizeof *v * (size_t)n);

	for (int i = 0; i < n; i++)
		v[i] = (int)number();
	return v;
}

static MPI_Aint *addresses(int n)
{
	MPI_Aint *v = room(sizeof *v * (size_t)n);

	for (int i = 0; i < n; i++)
		v[i] = number();
	return v;
}

/* ---- datatypes ---- */

static void drop_type(MPI_Datatype t)
{
	int i, a, d, combiner;

	MPI_Type_get_envelope(t, &i, &a, &d, &combiner);
	if (combiner != MPI_COMBINER_NAMED)
		MPI_Type_free(&t);
}

static void orders(int *v, int n, int a, int b, int c)
{
	for (int i = 0; i < n; i++)
		v[i] = v[i] == 0 ? a : v[i] == 1 ? b : c;
}

static MPI_Datatype one_type(void)
{
	char *w = word();
	MPI_Datatype t = MPI_DATATYPE_NULL, old[LIST];
	int *p = NULL, *q = NULL, *r = NULL, *s = NULL, n, m, k, olds = 1;
	MPI_Aint *d = NULL, e;

	if (is(w, "i"))
		return MPI_INT32_T;
	if (is(w, "l"))
		return MPI_INT64_T;
	if (is(w, "b"))
		return MPI_UINT8_T;
	if (is(w, "d"))
		return MPI_DOUBLE;
	if (is(w, "dup")) {
		old[0] = one_type();
		MPI_Type_dup(old[0], &t);
	} else if (is(w, "cont")) {
		n = (int)number(), old[0] = one_type();
		MPI_Type_contiguous(n, old[0], &t);
	} else if (is(w, "vec")) {
		n = (int)number(), m = (int)number(), k = (int)number(), old[0] = one_type();
		MPI_Type_vector(n, m, k, old[0], &t);
	} else if (is(w, "hvec")) {
		n = (int)number(), m = (int)number(), e = number(), old[0] = one_type();
		MPI_Type_create_hvector(n, m, e, old[0], &t);
	} else if (is(w, "idx")) {
		n = (int)number(), p = numbers(n), q = numbers(n), old[0] = one_type();
		MPI_Type_indexed(n, p, q, old[0], &t);
	} else if (is(w, "hidx")) {
		n = (int)number(), p = numbers(n), d = addresses(n), old[0] = one_type();
		MPI_Type_create_hindexed(n, p, d, old[0], &t);
	} else if (is(w, "ib")) {
		n = (int)number(), m = (int)number(), p = numbers(n), old[0] = one_type();
		MPI_Type_create_indexed_block(n, m, p, old[0], &t);
	} else if (is(w, "hib")) {
		n = (int)number(), m = (int)number(), d = addresses(n), old[0] = one_type();
		MPI_Type_create_hindexed_block(n, m, d, old[0], &t);
	} else if (is(w, "str")) {
		n = olds = (int)number(), p = numbers(n), d = addresses(n);
		for (int i = 0; i < n; i++)
			old[i] = one_type();
		MPI_Type_create_struct(n, p, d, old, &t);
	} else if (is(w, "res")) {
		MPI_Aint lb = number();

		e = number(), old[0] = one_type();
		MPI_Type_create_resized(old[0], lb, e, &t);
	} else if (is(w, "sub")) {
		n = (int)number(), p = numbers(n), q = numbers(n), r = numbers(n), k = (int)number(), old[0] = one_type();
		MPI_Type_create_subarray(n, p, q, r, k ? MPI_ORDER_FORTRAN : MPI_ORDER_C, old[0], &t);
	} else if (is(w, "dar")) {
		m = (int)number(), k = (int)number(), n = (int)number();
		p = numbers(n), q = numbers(n), r = numbers(n), s = numbers(n);
		orders(q, n, MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE);
		for (int i = 0; i < n; i++)
			r[i] = r[i] < 0 ? MPI_DISTRIBUTE_DFLT_DARG : r[i];
		int order = number() ? MPI_ORDER_FORTRAN : MPI_ORDER_C;

		old[0] = one_type();
		MPI_Type_create_darray(m, k, n, p, q, r, s, order, old[0], &t);
	} else {
		fail("no such type:", w);
	}
	for (int i = 0; i < olds; i++)
		drop_type(old[i]);
	free(p), free(q), free(r), free(s), free(d);
	return t;
}

static MPI_Datatype type(void)
{
	MPI_Datatype t = one_type();

	MPI_Type_commit(&t);
	return t;
}

/* ---- memory ---- */

struct area {
	unsigned char *mem, *base;
	size_t size;
};

static uint32_t noise(uint32_t x)
{
	x ^= x >> 16, x *= 0x7feb352du, x ^= x >> 15, x *= 0x846ca68bu, x ^= x >> 16;
	return x;
}

/* Memory for elements [0, count) of t and guards, filled with what step, rank and salt give. */
static struct area area(MPI_Datatype t, long count, int salt)
{
	MPI_Aint lb, extent, first, span, lo = 0, hi = 0;
	struct area a;
	uint32_t seed = noise((uint32_t)step * 64u + (uint32_t)world_rank * 8u + (uint32_t)salt);

	MPI_Type_get_extent(t, &lb, &extent);
	MPI_Type_get_true_extent(t, &first, &span);
	if (count > 0) {
		lo = first < 0 ? first : 0;
		hi = (count - 1) * extent + first + span;
		hi = hi < 0 ? 0 : hi;
	}
	size_t before = (size_t)((GUARD - lo + 15) / 16 * 16);

	a.size = before + (size_t)hi + GUARD;
	a.mem = room(a.size);
	a.base = a.mem + before;
	for (size_t i = 0; i < a.size; i++) {
		if (i % 4 == 0)
			seed = seed * 1664525u + 1013904223u;
		a.mem[i] = (unsigned char)(seed >> (8 + 4 * (i % 4)));
	}
	return a;
}

static uint32_t crc(const unsigned char *p, size_t n)
{
	static uint32_t table[256];
	uint32_t c;

	if (!table[1])
		for (uint32_t i = 0; i < 256; i++) {
			c = i;
			for (int k = 0; k < 8; k++)
				c = c & 1 ? c >> 1 ^ 0xedb88320u : c >> 1;
			table[i] = c;
		}
	c = 0xffffffffu;
	for (size_t i = 0; i < n; i++)
		c = table[(c ^ p[i]) & 255] ^ c >> 8;
	return ~c;
}

/* ---- steps under way ---- */

struct job {
	int step, areas, types, lists;
	MPI_Request request;
	struct area area[AREAS];
	char kind[AREAS];                 /* whose padding does not count */
	long skip_from[AREAS], skip_to[AREAS]; /* bytes from the base that do not count */
	MPI_Datatype type[2 * AREAS];
	void *list[AREAS];
};

static struct job *deferred[LIST];
static int deferrals;

static void say(const char *format, ...)
{
	va_list v;

	va_start(v, format);
	vfprintf(out, format, v);
	va_end(v);
}

static unsigned char *own(struct job *j, struct area a)
{
	j->area[j->areas++] = a;
	return a.base;
}

static MPI_Datatype own_type(struct job *j) { return j->type[j->types++] = type(); }
static void *own_list(struct job *j, void *p) { return j->list[j->lists++] = p; }

static void scrub(struct area *a, char kind)
{
	size_t from = kind == 'D' || kind == 'L' ? 12 : 0;

	if (from)
		for (unsigned char *p = a->base; p + 16 <= a->mem + a->size; p += 16)
			memset(p + from, 0, 4);
}

static void finish(struct job *j)
{
	if (j->request != MPI_REQUEST_NULL)
		MPI_Wait(&j->request, MPI_STATUS_IGNORE);
	say("%d", j->step);
	for (int i = 0; i < j->areas; i++) {
		struct area *a = &j->area[i];

		if (j->skip_to[i] > j->skip_from[i])
			memset(a->base + j->skip_from[i], 0, (size_t)(j->skip_to[i] - j->skip_from[i]));
		scrub(a, j->kind[i]);
		say(" %08x", crc(a->mem, a->size));
		free(a->mem);
	}
	say("\n");
	fflush(out);
	for (int i = 0; i < j->types; i++)
		drop_type(j->type[i]);
	for (int i = 0; i < j->lists; i++)
		free(j->list[i]);
	free(j);
}

static void finish_all(void)
{
	while (deferrals > 0)
		finish(deferred[--deferrals]);
}

/* Mode 0 is the blocking call, 1 and 2 start and wait (2 is the persistent form where there is one), 3 waits later. */
#define CALL(F, I, ...)                                 \
	do {                                            \
		if (mode)                               \
			MPI_##I(__VA_ARGS__, &j->request); \
		else                                    \
			MPI_##F(__VA_ARGS__);           \
	} while (0)

#include "reduce.h"
#include "move.h"
#include "message.h"
#include "comm.h"
#include "topology.h"
#include "inter.h"

static void run(char *line)
{
	cursor = line;
	char *w = strtok_r(line, " \n", &cursor);

	if (!w || *w == '#')
		return;
	step = atoi(w);
	int slot = (int)number();
	MPI_Comm c = comms[slot];
	char *name = word();

	if (c == MPI_COMM_NULL)
		return;
	if (collective(c, name) || neighbourhood(c, name) || across(c, slot, name))
		return;
	finish_all();
	if (messages(c, name) || communicators(c, slot, name) || topologies(c, name) || inter(c, slot, name) || local(name))
		return;
	fail("no such step:", name);
}

int main(int argc, char **argv)
{
	char name[4096], *line = NULL;
	size_t cap = 0;
	static char buffer[8 << 20];

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
	MPI_Op_create(multiply, 0, &matrix_op);
	MPI_Buffer_attach(buffer, sizeof buffer);
	for (int i = 0; i < SLOTS; i++)
		comms[i] = MPI_COMM_NULL;
	comms[0] = MPI_COMM_WORLD;
	snprintf(name, sizeof name, "%s.%d", argc > 2 ? argv[2] : "", world_rank);
	FILE *in = fopen(argc > 1 ? argv[1] : "", "r");

	out = fopen(name, "w");
	if (!in || !out)
		fail("cannot open", argc > 2 ? argv[1] : "the program");
	while (getline(&line, &cap, in) > 0)
		run(line);
	finish_all();
	say("end\n");
	if (fclose(out))
		fail("cannot write", name);
	fclose(in);
	free(line);
	for (int i = SLOTS - 1; i > 0; i--)
		if (comms[i] != MPI_COMM_NULL)
			MPI_Comm_free(&comms[i]);
	MPI_Op_free(&matrix_op);
	void *back;
	int size;

	MPI_Buffer_detach(&back, &size);
	MPI_Finalize();
	return 0;
}

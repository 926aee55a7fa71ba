/* window.c - the window of a one-sided test, and the operations on it. */
#include "onesided.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static MPI_Group group_of(int ranks, int a, int b)
{
	MPI_Group world, group;
	int list[2], n = 0;

	if (a >= 0 && a < ranks)
		list[n++] = a;
	if (b >= 0 && b < ranks && b != a)
		list[n++] = b;
	MPI_Comm_group(MPI_COMM_WORLD, &world);
	MPI_Group_incl(world, n, list, &group);
	MPI_Group_free(&world);
	return group;
}

static int sync_of(const char *name)
{
	static const struct { const char *name; int sync; } all[] = {
		{ "lock", SYNC_LOCK }, { "lock_all", SYNC_LOCK_ALL }, { "pscw", SYNC_PSCW }, { "fence", SYNC_FENCE },
		{ "flush", SYNC_FLUSH }, { "flush_local", SYNC_FLUSH_LOCAL }, { "lock_all+flush", SYNC_LOCK_ALL_FLUSH },
	};

	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
		if (strcmp(all[i].name, name) == 0)
			return all[i].sync;
	return -1;
}

const char *open_window(const struct test *t, struct context *c, const struct options *o, size_t bytes)
{
	struct window *w = need(sizeof *w);
	const char *kind = o->window ? o->window : "allocate";

	memset(w, 0, sizeof *w);
	w->test = t->name;
	w->calls = o->calls;
	w->sync = sync_of(o->sync ? o->sync : t->sync);
	if (w->sync < 0)
		return "unknown synchronisation";
	if (t->active && w->sync != SYNC_PSCW && w->sync != SYNC_FENCE)
		return "is synchronised by pscw or fence";
	w->begins = need(c->ranks * sizeof *w->begins);
	memset(w->begins, 0, c->ranks * sizeof *w->begins);
	w->memory = c->recv;
	w->bytes = bytes;
	if (strcmp(kind, "create") == 0) {
		MPI_Win_create(w->memory, (MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &w->win);
	} else if (strcmp(kind, "allocate") == 0) {
		MPI_Win_allocate((MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &w->memory, &w->win);
	} else if (strcmp(kind, "dynamic") == 0) {
		MPI_Aint mine;

		w->dynamic = 1;
		MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &w->win);
		MPI_Win_attach(w->win, w->memory, (MPI_Aint)bytes);
		MPI_Get_address(w->memory, &mine);
		MPI_Allgather(&mine, 1, MPI_AINT, w->begins, 1, MPI_AINT, MPI_COMM_WORLD);
	} else {
		return "unknown kind of window";
	}
	memset(w->memory, 0, bytes);
	w->others = group_of(c->ranks, 1 - c->rank, -1);
	w->ring = group_of(c->ranks, (c->rank + c->ranks - 1) % c->ranks, (c->rank + 1) % c->ranks);
	c->window = w;
	MPI_Barrier(MPI_COMM_WORLD);
	return NULL;
}

void close_window(struct context *c)
{
	struct window *w = c->window;

	MPI_Barrier(MPI_COMM_WORLD);
	if (w->dynamic)
		MPI_Win_detach(w->win, w->memory);
	MPI_Win_free(&w->win);
	MPI_Group_free(&w->others);
	MPI_Group_free(&w->ring);
	free(w->begins);
	free(w);
	c->window = NULL;
}

static void put(const struct remote *r)
{
	MPI_Put(r->c->send, r->size, MPI_UINT8_T, r->target, r->at, r->size, MPI_UINT8_T, r->w->win);
}

static void get(const struct remote *r)
{
	MPI_Get(r->c->recv, r->size, MPI_UINT8_T, r->target, r->at, r->size, MPI_UINT8_T, r->w->win);
}

static void acc(const struct remote *r)
{
	MPI_Accumulate(r->c->send, r->size, MPI_UINT8_T, r->target, r->at, r->size, MPI_UINT8_T, MPI_SUM, r->w->win);
}

static void get_acc(const struct remote *r)
{
	MPI_Get_accumulate(r->c->send, r->size, MPI_UINT8_T, r->c->recv, r->size, MPI_UINT8_T,
		r->target, r->at, r->size, MPI_UINT8_T, MPI_SUM, r->w->win);
}

static void fop(const struct remote *r)
{
	MPI_Fetch_and_op(r->c->send, r->c->recv, MPI_INT64_T, r->target, r->at, MPI_SUM, r->w->win);
}

static void cas(const struct remote *r)
{
	static const int64_t compare;

	MPI_Compare_and_swap(r->c->send, &compare, r->c->recv, MPI_INT64_T, r->target, r->at, r->w->win);
}

struct remote remote_operation(struct context *c, size_t size, int target, int calls)
{
	static const struct { const char *prefix; void (*call)(const struct remote *r); } all[] = {
		/* get_acc before get */
		{ "get_acc_", get_acc }, { "get_", get }, { "acc_", acc }, { "fop_", fop }, { "cas_", cas },
	};
	struct window *w = c->window;
	struct remote r = { c, w, (int)size, target, calls, w->begins[target], put };

	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
		if (strncmp(w->test, all[i].prefix, strlen(all[i].prefix)) == 0) {
			r.call = all[i].call;
			break;
		}
	return r;
}

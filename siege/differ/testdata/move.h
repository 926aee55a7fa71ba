/* move.h - collectives that move data. Two types of one signature travel: A, fa to a unit, is sent, B, fb to a unit, received. */


/* The elements that blocks of a v form reach to. */
static long reach(const int *counts, const int *displs, int n)
{
	long most = 0;

	for (int i = 0; i < n; i++)
		if (counts[i] > 0 && (long)displs[i] + counts[i] > most)
			most = (long)displs[i] + counts[i];
	return most;
}

/* Blocks one after the other with gap between them, the last first when rev. */
static void lay(int *displs, const int *counts, int n, int gap, int rev)
{
	int at = 0;

	for (int k = 0; k < n; k++) {
		int i = rev ? n - 1 - k : k;

		displs[i] = at, at += counts[i] + gap;
	}
}

static int *scaled(struct job *j, const int *v, int n, int f)
{
	int *w = own_list(j, room(sizeof *w * (size_t)n));

	for (int i = 0; i < n; i++)
		w[i] = v[i] * f;
	return w;
}

/* alltoallw gap counts: messages use A and B in turn, each block lies 16 bytes behind what the one before touches. */
static void all_to_all_w(MPI_Comm c, struct job *j, int mode, int inplace, MPI_Datatype *ty, const int *f, int n, int size, int rank)
{
	int *m = own_list(j, numbers(n * n));
	int *counts = own_list(j, room(sizeof(int) * 2 * (size_t)size)), *displs = own_list(j, room(sizeof(int) * 2 * (size_t)size));
	MPI_Datatype *types = own_list(j, room(sizeof *types * 2 * (size_t)size));
	void *base[2];

	for (int side = 0; side < 2; side++) {
		MPI_Aint at = 0;

		for (int p = 0; p < size; p++) {
			int which = inplace ? 1 : side ? (rank * 2 + p) % 3 == 0 : (rank + p) % 2, i = side * size + p;
			MPI_Aint lb, extent, first, span;

			types[i] = ty[which];
			counts[i] = (side ? m[p * n + rank] : m[rank * n + p]) * f[which];
			MPI_Type_get_extent(types[i], &lb, &extent);
			MPI_Type_get_true_extent(types[i], &first, &span);
			at += first < 0 ? -first : 0;
			at = (at + 15) / 16 * 16;
			displs[i] = (int)at;
			if (counts[i] > 0)
				at += (counts[i] - 1) * extent + (first + span > 0 ? first + span : 0);
			at += 16;
		}
		base[side] = own(j, area(MPI_UINT8_T, at, side + 1));
	}
	CALL(Alltoallw, Ialltoallw, inplace ? MPI_IN_PLACE : base[0], counts, displs, types, base[1], counts + size, displs + size, types + size, c);
}

/* name mode inplace root A fa B fb ...: 1 when name is such a collective. */
static int movement(MPI_Comm c, struct job *j, int mode, const char *name)
{
	int size, rank;

	MPI_Comm_size(c, &size);
	MPI_Comm_rank(c, &rank);
	int inplace = (int)number(), root = (int)(number() % size), f[2];
	MPI_Datatype ty[2];

	for (int i = 0; i < 2; i++)
		ty[i] = own_type(j), f[i] = (int)number();
	MPI_Datatype A = ty[0], B = ty[1];
	int fa = f[0], fb = f[1], n, gap, rev, *m;
	void *s, *r;

	if (is(name, "bcast")) {
		int mask = (int)number(), count = (int)number(), which = mask >> rank & 1;

		s = own(j, area(ty[which], count, 1));
		CALL(Bcast, Ibcast, s, count, ty[which], root, c);
	} else if (is(name, "gather") || is(name, "allgather") || is(name, "scatter") || is(name, "alltoall")) {
		int count = (int)number(), all = count * size, spread = is(name, "scatter"), every = is(name, "alltoall");

		if ((is(name, "gather") || spread) && rank != root)
			inplace = 0;
		r = spread && inplace ? MPI_IN_PLACE : own(j, area(B, (spread ? count : all) * fb, 2));
		s = !spread && inplace ? MPI_IN_PLACE : own(j, area(A, (spread || every ? all : count) * fa, 1));
		if (is(name, "gather"))
			CALL(Gather, Igather, s, count * fa, A, r, count * fb, B, root, c);
		else if (is(name, "allgather"))
			CALL(Allgather, Iallgather, s, count * fa, A, r, count * fb, B, c);
		else if (spread)
			CALL(Scatter, Iscatter, s, count * fa, A, r, count * fb, B, root, c);
		else
			CALL(Alltoall, Ialltoall, s, count * fa, A, r, count * fb, B, c);
	} else if (is(name, "gatherv") || is(name, "allgatherv") || is(name, "scatterv")) {
		gap = (int)number(), rev = (int)number(), n = (int)number(), m = own_list(j, numbers(n));
		int spread = is(name, "scatterv"), *counts = scaled(j, m, n, spread ? fa : fb);
		int *displs = own_list(j, room(sizeof(int) * (size_t)n));

		lay(displs, counts, size, gap, rev);
		if (!is(name, "allgatherv") && rank != root)
			inplace = 0;
		long whole = reach(counts, displs, size);

		r = spread && inplace ? MPI_IN_PLACE : own(j, area(B, spread ? m[rank] * fb : whole, 2));
		s = !spread && inplace ? MPI_IN_PLACE : own(j, area(A, spread ? whole : m[rank] * fa, 1));
		if (is(name, "gatherv"))
			CALL(Gatherv, Igatherv, s, m[rank] * fa, A, r, counts, displs, B, root, c);
		else if (is(name, "allgatherv"))
			CALL(Allgatherv, Iallgatherv, s, m[rank] * fa, A, r, counts, displs, B, c);
		else
			CALL(Scatterv, Iscatterv, s, counts, displs, A, r, m[rank] * fb, B, root, c);
	} else if (is(name, "alltoallv")) {
		gap = (int)number(), rev = (int)number(), n = (int)number(), m = own_list(j, numbers(n * n));
		int *sc = scaled(j, m + rank * n, size, fa), *rc = own_list(j, room(sizeof(int) * (size_t)size));
		int *sd = own_list(j, room(sizeof(int) * (size_t)size)), *rd = own_list(j, room(sizeof(int) * (size_t)size));

		for (int i = 0; i < size; i++)
			rc[i] = m[i * n + rank] * fb;
		lay(sd, sc, size, gap, rev);
		lay(rd, rc, size, gap, !rev);
		r = own(j, area(B, reach(rc, rd, size), 2));
		s = inplace ? MPI_IN_PLACE : own(j, area(A, reach(sc, sd, size), 1));
		CALL(Alltoallv, Ialltoallv, s, sc, sd, A, r, rc, rd, B, c);
	} else if (is(name, "alltoallw")) {
		n = (int)number();
		all_to_all_w(c, j, mode, inplace, ty, f, n, size, rank);
	} else {
		return 0;
	}
	return 1;
}

static int collective(MPI_Comm c, const char *name)
{
	static const char *const reductions[] = { "reduce", "allreduce", "scan", "exscan", "rs", "rsb", "rlocal" };
	static const char *const movements[] = { "bcast", "gather", "allgather", "scatter", "alltoall", "gatherv", "allgatherv", "scatterv", "alltoallv", "alltoallw" };
	int kind = is(name, "barrier") ? 1 : 0;

	for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++)
		kind = is(name, reductions[i]) ? 2 : kind;
	for (size_t i = 0; i < sizeof movements / sizeof *movements; i++)
		kind = is(name, movements[i]) ? 3 : kind;
	if (!kind)
		return 0;
	int mode = (int)number();

	if (mode != 3)
		finish_all();
	struct job *j = room(sizeof *j);

	j->step = step, j->request = MPI_REQUEST_NULL;
	if (kind == 1)
		CALL(Barrier, Ibarrier, c);
	else if (kind == 2)
		reduction(c, j, mode, name);
	else
		movement(c, j, mode, name);
	if (mode == 3)
		deferred[deferrals++] = j;
	else
		finish(j);
	return 1;
}

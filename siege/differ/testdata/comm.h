/* comm.h - communicators and groups, and what one rank does alone: types and packing. */

static MPI_Group group(MPI_Comm here)
{
	char *w = word();
	MPI_Group g, a, b;

	if (is(w, "here") || is(w, "world")) {
		MPI_Comm_group(is(w, "here") ? here : MPI_COMM_WORLD, &g);
		return g;
	}
	if (is(w, "union") || is(w, "inter") || is(w, "diff")) {
		a = group(here), b = group(here);
		if (is(w, "union"))
			MPI_Group_union(a, b, &g);
		else if (is(w, "inter"))
			MPI_Group_intersection(a, b, &g);
		else
			MPI_Group_difference(a, b, &g);
		if (b != MPI_GROUP_EMPTY)
			MPI_Group_free(&b);
	} else {
		int n = (int)number(), ranged = is(w, "rincl") || is(w, "rexcl"), *v = numbers(ranged ? 3 * n : n), (*ranges)[3] = (int (*)[3])v;

		a = group(here);
		if (is(w, "incl"))
			MPI_Group_incl(a, n, v, &g);
		else if (is(w, "excl"))
			MPI_Group_excl(a, n, v, &g);
		else if (is(w, "rincl"))
			MPI_Group_range_incl(a, n, ranges, &g);
		else
			MPI_Group_range_excl(a, n, ranges, &g);
		free(v);
	}
	if (a != MPI_GROUP_EMPTY)
		MPI_Group_free(&a);
	return g;
}

static void drop_group(MPI_Group g)
{
	if (g != MPI_GROUP_EMPTY)
		MPI_Group_free(&g);
}

/* Size, own rank, members as ranks of the world. */
static void say_group(MPI_Group g)
{
	MPI_Group world;
	int n, rank;

	MPI_Group_size(g, &n);
	MPI_Group_rank(g, &rank);
	say(" %d %d [", n, rank == MPI_UNDEFINED ? -1 : rank);
	MPI_Comm_group(MPI_COMM_WORLD, &world);
	for (int i = 0; i < n; i++) {
		int r;

		MPI_Group_translate_ranks(g, 1, &i, world, &r);
		say(" %d", r);
	}
	say(" ]");
	MPI_Group_free(&world);
}

static void say_comm(MPI_Comm c)
{
	MPI_Group g;

	if (c == MPI_COMM_NULL) {
		say(" none");
		return;
	}
	MPI_Comm_group(c, &g);
	say_group(g);
	MPI_Group_free(&g);
}

static int relation(int r) { return r == MPI_IDENT ? 0 : r == MPI_CONGRUENT ? 1 : r == MPI_SIMILAR ? 2 : 3; }

static int communicators(MPI_Comm c, int slot, const char *name)
{
	int size, rank, result, to = 0, made = 1;
	MPI_Comm d = MPI_COMM_NULL;
	MPI_Group g, h;

	MPI_Comm_size(c, &size);
	MPI_Comm_rank(c, &rank);
	if (is(name, "dup")) {
		to = (int)number();
		MPI_Comm_dup(c, &d);
	} else if (is(name, "idup")) {
		MPI_Request q;

		to = (int)number();
		MPI_Comm_idup(c, &d, &q);
		MPI_Wait(&q, MPI_STATUS_IGNORE);
	} else if (is(name, "split")) {
		to = (int)number();
		int n = (int)number(), *colors = numbers(n), *keys = numbers(n);

		MPI_Comm_split(c, colors[rank] < 0 ? MPI_UNDEFINED : colors[rank], keys[rank], &d);
		free(colors), free(keys);
	} else if (is(name, "create")) {
		to = (int)number(), g = group(c);
		MPI_Comm_create(c, g, &d);
		drop_group(g);
	} else if (is(name, "cgroup")) {
		to = (int)number();
		int tag = (int)number();

		g = group(c);
		MPI_Group_rank(g, &result);
		if (result != MPI_UNDEFINED)
			MPI_Comm_create_group(c, g, tag, &d);
		drop_group(g);
	} else {
		made = 0;
	}
	if (made) {
		comms[to] = d;
		say("%d", step);
		say_comm(d);
	} else if (is(name, "free")) {
		MPI_Comm_free(&comms[slot]);
		say("%d free", step);
	} else if (is(name, "compare")) {
		to = (int)number();
		if (comms[to] == MPI_COMM_NULL) {
			say("%d none", step);
		} else {
			MPI_Comm_compare(c, comms[to], &result);
			say("%d %d", step, relation(result));
		}
	} else if (is(name, "groups")) {
		g = group(c), h = group(c);
		say("%d", step);
		say_group(g), say_group(h);
		MPI_Group_compare(g, h, &result);
		say(" %d", relation(result));
		drop_group(g), drop_group(h);
	} else {
		return 0;
	}
	say("\n");
	fflush(out);
	return 1;
}

static void say_type(MPI_Datatype t)
{
	MPI_Aint lb, extent, first, span;
	int size;

	MPI_Type_size(t, &size);
	MPI_Type_get_extent(t, &lb, &extent);
	MPI_Type_get_true_extent(t, &first, &span);
	say(" %d %ld %ld %ld %ld", size, (long)lb, (long)extent, (long)first, (long)span);
}

/* type A: its size and bounds. pack A fa B fb count, external: from A to bytes, native or external32, and on to B. */
static int local(const char *name)
{
	int native = is(name, "pack"), external = is(name, "external");

	if (!native && !external && !is(name, "type"))
		return 0;
#ifdef MPICH_VERSION
	if (external) { /* MPICH 4.0 ends in MPI_Pack_external of structs: it abstains */
		say("%d ?\n", step);
		return 1;
	}
#endif
	MPI_Datatype a = type();

	say("%d", step);
	say_type(a);
	if (native || external) {
		int na = (int)number(), nb, n, at = 0, size;
		MPI_Datatype b = type();

		nb = (int)number(), n = (int)number(), na *= n, nb *= n;
		say_type(b);
		struct area in = area(a, na, 1), back = area(b, nb, 2);
		MPI_Aint need, position = 0;
		char *packed;

		if (native) {
			MPI_Pack_size(na, a, MPI_COMM_WORLD, &size);
			packed = room((size_t)size);
			MPI_Pack(in.base, na, a, packed, size, &at, MPI_COMM_WORLD);
			say(" %d %d %08x", at, at <= size, crc((unsigned char *)packed, (size_t)at));
			size = at, at = 0;
			MPI_Unpack(packed, size, &at, back.base, nb, b, MPI_COMM_WORLD);
			say(" %d", at);
		} else {
			MPI_Pack_external_size("external32", na, a, &need);
			packed = room((size_t)need);
			MPI_Pack_external("external32", in.base, na, a, packed, need, &position);
			say(" %ld %ld %08x", (long)need, (long)position, crc((unsigned char *)packed, (size_t)position));
			need = position, position = 0;
			MPI_Unpack_external("external32", packed, need, &position, back.base, nb, b);
			say(" %ld", (long)position);
		}
		free(packed);
		say_area(&in), say_area(&back);
		drop_type(b);
	}
	drop_type(a);
	say("\n");
	fflush(out);
	return 1;
}

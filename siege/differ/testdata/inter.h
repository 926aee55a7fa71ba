/* inter.h - communicators between two groups. */

static int sides[SLOTS]; /* of this rank, by slot */

static void say_remote(MPI_Comm c)
{
	MPI_Group g;

	MPI_Comm_remote_group(c, &g);
	say_group(g);
	MPI_Group_free(&g);
}

/* inter new n colors tag: between the ranks of color 0 and those of color 1. */
static MPI_Comm between(MPI_Comm c, int to)
{
	int n = (int)number(), *colors = numbers(n), tag = (int)number(), rank, leader = 0;
	MPI_Comm local, d;

	MPI_Comm_rank(c, &rank);
	while (colors[leader] == colors[rank])
		leader++;
	sides[to] = colors[rank];
	MPI_Comm_split(c, colors[rank], 0, &local);
	MPI_Intercomm_create(local, 0, c, leader, tag, &d);
	MPI_Comm_free(&local);
	free(colors);
	return d;
}

/* trade n, then of each message: side from to mode tag A ca B cb. */
static void trade(MPI_Comm c, int side)
{
	int mine, theirs, rank, n = (int)number();
	struct message *ms = room(sizeof *ms * (size_t)n), *m;

	MPI_Comm_size(c, &mine);
	MPI_Comm_remote_size(c, &theirs);
	MPI_Comm_rank(c, &rank);
	for (int i = 0; i < n; i++) {
		int of = (int)number();

		m = &ms[i];
		m->from = (int)number() % (of == side ? mine : theirs), m->to = (int)number() % (of == side ? theirs : mine);
		m->mode = (int)number(), m->tag = (int)number();
		m->a = type(), m->sent = (int)number(), m->b = type(), m->room = (int)number();
		m->out = area(m->a, m->sent, i * 2), m->in = area(m->b, m->room, i * 2 + 1);
		m->send = m->receive = MPI_REQUEST_NULL;
		if (of != side && m->to == rank)
			MPI_Irecv(m->in.base, m->room, m->b, i % 2 ? m->from : MPI_ANY_SOURCE, m->tag, c, &m->receive);
		if (of == side && m->from == rank)
			start_send(c, m);
	}
	for (int i = 0; i < n; i++) {
		m = &ms[i];
		if (m->receive != MPI_REQUEST_NULL) {
			MPI_Wait(&m->receive, &m->status);
			say(" %d:", i);
			say_status(&m->status, m->b);
		}
		MPI_Wait(&m->send, MPI_STATUS_IGNORE);
		say_area(&m->out), say_area(&m->in);
		drop_type(m->a), drop_type(m->b);
	}
	free(ms);
}

/* name mode side root A fa B fb count, or kind op count: the root is in group side. */
static int across(MPI_Comm c, int slot, const char *name)
{
	if (name[0] != 'x')
		return 0;
	int mode = (int)number(), side = (int)number(), root = (int)number(), mine, theirs, rank, roots;

	if (mode != 3)
		finish_all();
	struct job *j = room(sizeof *j);

	j->step = step, j->request = MPI_REQUEST_NULL;
	MPI_Comm_size(c, &mine);
	MPI_Comm_remote_size(c, &theirs);
	MPI_Comm_rank(c, &rank);
	roots = side == sides[slot];
	root %= roots ? mine : theirs;
	int first = roots && rank == root;

	if (roots)
		root = first ? MPI_ROOT : MPI_PROC_NULL;
	if (is(name, "xbarrier")) {
		CALL(Barrier, Ibarrier, c);
	} else if (is(name, "xreduce") || is(name, "xallreduce")) {
		char kind = *word();
		MPI_Op op = op_named(word());
		int n = (int)number();
		MPI_Datatype t = number_type(j, kind);

		j->kind[0] = j->kind[1] = kind;
		void *r = own(j, numbers_area(t, kind, n, 2)), *s = own(j, numbers_area(t, kind, n, 1));

		if (is(name, "xreduce"))
			CALL(Reduce, Ireduce, s, r, n, t, op, root, c);
		else
			CALL(Allreduce, Iallreduce, s, r, n, t, op, c);
	} else {
		MPI_Datatype a = own_type(j);
		int fa = (int)number();
		MPI_Datatype b = own_type(j);
		int fb = (int)number(), n = (int)number();
		void *r = own(j, area(b, (long)n * fb * theirs, 2)), *s = own(j, area(a, (long)n * fa * theirs, 1));

		if (is(name, "xbcast"))
			CALL(Bcast, Ibcast, first ? s : r, n * (first ? fa : fb), first ? a : b, root, c);
		else if (is(name, "xgather"))
			CALL(Gather, Igather, s, n * fa, a, r, n * fb, b, root, c);
		else if (is(name, "xscatter"))
			CALL(Scatter, Iscatter, s, n * fa, a, r, n * fb, b, root, c);
		else if (is(name, "xallgather"))
			CALL(Allgather, Iallgather, s, n * fa, a, r, n * fb, b, c);
		else
			CALL(Alltoall, Ialltoall, s, n * fa, a, r, n * fb, b, c);
	}
	if (mode == 3)
		deferred[deferrals++] = j;
	else
		finish(j);
	return 1;
}

static int inter(MPI_Comm c, int slot, const char *name)
{
	if (is(name, "inter")) {
		int to = (int)number();

		comms[to] = between(c, to);
		say("%d", step);
		say_comm(comms[to]), say_remote(comms[to]);
	} else if (is(name, "merge")) {
		int to = (int)number(), high = (int)number();

		MPI_Intercomm_merge(c, high == sides[slot], &comms[to]);
		say("%d", step);
		say_comm(comms[to]);
	} else if (is(name, "redup")) {
		int to = (int)number();

		MPI_Comm_dup(c, &comms[to]);
		sides[to] = sides[slot];
		say("%d", step);
		say_comm(comms[to]), say_remote(comms[to]);
	} else if (is(name, "trade")) {
		say("%d", step);
		trade(c, sides[slot]);
	} else {
		return 0;
	}
	say("\n");
	fflush(out);
	return 1;
}

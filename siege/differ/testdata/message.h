/* message.h - point to point. */

struct message {
	int from, to, mode, tag, sent, room; /* elements of a, of b */
	MPI_Datatype a, b;
	struct area out, in;
	MPI_Status status;
	MPI_Request send, receive;
};

enum { POSTED, LATE, PROBED, MATCHED, TURNS, PERSISTENT, COMPLETED };
enum { EXACT, ANY_SOURCE, ANY_TAG, ANYTHING };
enum { STANDARD, SYNCHRONOUS, BUFFERED, READY };

/* MPICH 4.0 divides by zero in MPI_Get_elements of types with empty parts. What is said instead agrees with everything. */
#ifdef MPICH_VERSION
static const int poor_elements = 1;
#else
static const int poor_elements = 0;
#endif

static int normal_rank(int r) { return r == MPI_PROC_NULL ? -3 : r == MPI_ANY_SOURCE ? -1 : r; }
static int normal_tag(int t) { return t == MPI_ANY_TAG ? -2 : t; }

static void say_status(const MPI_Status *s, MPI_Datatype t)
{
	int count, elements;

	MPI_Get_count(s, t, &count);
	say(" %d,%d,%d", normal_rank(s->MPI_SOURCE), normal_tag(s->MPI_TAG), count == MPI_UNDEFINED ? -1 : count);
	if (poor_elements) {
		say(" *");
		return;
	}
	MPI_Get_elements(s, t, &elements);
	say(" %d", elements == MPI_UNDEFINED ? -1 : elements);
}

static void say_area(struct area *a)
{
	say(" %08x", crc(a->mem, a->size));
	free(a->mem);
}

static int source_of(struct message *m, int wild) { return wild == ANY_SOURCE || wild == ANYTHING ? MPI_ANY_SOURCE : m->from; }
static int tag_of(struct message *m, int wild) { return wild == ANY_TAG || wild == ANYTHING ? MPI_ANY_TAG : m->tag; }

static void start_send(MPI_Comm c, struct message *m)
{
	static int (*const calls[])(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *) = { MPI_Isend, MPI_Issend, MPI_Ibsend, MPI_Irsend };

	calls[m->mode](m->out.base, m->sent, m->a, m->to, m->tag, c, &m->send);
}

static void send_now(MPI_Comm c, struct message *m)
{
	static int (*const calls[])(const void *, int, MPI_Datatype, int, int, MPI_Comm) = { MPI_Send, MPI_Ssend, MPI_Bsend, MPI_Rsend };

	calls[m->mode](m->out.base, m->sent, m->a, m->to, m->tag, c);
}

static void init_send(MPI_Comm c, struct message *m)
{
	static int (*const calls[])(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *) = { MPI_Send_init, MPI_Ssend_init, MPI_Bsend_init, MPI_Rsend_init };

	calls[m->mode](m->out.base, m->sent, m->a, m->to, m->tag, c, &m->send);
}

static void receive_late(MPI_Comm c, struct message *m, int way, int i, int source, int tag)
{
	MPI_Message h;
	MPI_Request q;
	int there = 0;

	if (way == PROBED) {
		if (i % 2)
			while (!there)
				MPI_Iprobe(source, tag, c, &there, &m->status);
		else
			MPI_Probe(source, tag, c, &m->status);
		say_status(&m->status, m->b);
		MPI_Recv(m->in.base, m->room, m->b, m->status.MPI_SOURCE, m->status.MPI_TAG, c, &m->status);
	} else if (way == MATCHED) {
		if (i % 2)
			while (!there)
				MPI_Improbe(source, tag, c, &there, &h, &m->status);
		else
			MPI_Mprobe(source, tag, c, &h, &m->status);
		say_status(&m->status, m->b);
		if (i % 3) {
			MPI_Imrecv(m->in.base, m->room, m->b, &h, &q);
			MPI_Wait(&q, &m->status);
		} else {
			MPI_Mrecv(m->in.base, m->room, m->b, &h, &m->status);
		}
	} else {
		MPI_Recv(m->in.base, m->room, m->b, source, tag, c, &m->status);
	}
}

/* p2p way wild barrier n, then of each message: from to mode tag A ca B cb. */
static void batch(MPI_Comm c)
{
	int size, rank, way = (int)number(), wild = (int)number(), barrier = (int)number(), n = (int)number();
	struct message *ms = room(sizeof *ms * (size_t)n), *m;
	MPI_Request *qs = room(sizeof *qs * (size_t)n);

	MPI_Comm_size(c, &size);
	MPI_Comm_rank(c, &rank);
	for (int i = 0; i < n; i++) {
		m = &ms[i];
		m->from = (int)number() % size, m->to = (int)number() % size, m->mode = (int)number(), m->tag = (int)number();
		m->a = type(), m->sent = (int)number(), m->b = type(), m->room = (int)number();
		m->out = area(m->a, m->sent, i * 2), m->in = area(m->b, m->room, i * 2 + 1);
		m->send = m->receive = MPI_REQUEST_NULL;
	}
	if (wild == ANYTHING)
		MPI_Barrier(c);
	for (int i = 0; i < n && (way == POSTED || way == PERSISTENT || way == COMPLETED); i++) {
		m = &ms[i];
		if (m->to != rank)
			continue;
		if (way == PERSISTENT)
			MPI_Recv_init(m->in.base, m->room, m->b, source_of(m, wild), tag_of(m, wild), c, &m->receive);
		else
			MPI_Irecv(m->in.base, m->room, m->b, source_of(m, wild), tag_of(m, wild), c, &m->receive);
	}
	for (int round = 0; round < (way == PERSISTENT ? 2 : 1); round++) {
		for (int i = 0; i < n; i++)
			if (way == PERSISTENT && ms[i].to == rank)
				MPI_Start(&ms[i].receive);
		if (barrier)
			MPI_Barrier(c);
		for (int i = 0; i < n; i++) {
			m = &ms[i];
			if (m->from == rank && way == PERSISTENT) {
				if (round == 0)
					init_send(c, m);
				MPI_Start(&m->send);
			} else if (m->from == rank && way == TURNS && m->to != rank) {
				send_now(c, m);
			} else if (m->from == rank) {
				start_send(c, m);
			}
			if (m->to == rank && way == TURNS)
				MPI_Recv(m->in.base, m->room, m->b, source_of(m, wild), tag_of(m, wild), c, &m->status);
		}
		if (way == COMPLETED) {
			for (int i = 0; i < n; i++)
				qs[i] = ms[i].receive;
			for (;;) {
				MPI_Status s;
				int which;

				MPI_Waitany(n, qs, &which, &s);
				if (which == MPI_UNDEFINED)
					break;
				ms[which].status = s;
			}
		}
		for (int k = 0; k < n; k++) {
			int i = way == LATE && wild != ANY_TAG && wild != ANYTHING ? n - 1 - k : k;

			m = &ms[i];
			if (m->to != rank)
				continue;
			if (way == POSTED || way == PERSISTENT)
				MPI_Wait(&m->receive, &m->status);
			else if (way == LATE || way == PROBED || way == MATCHED)
				receive_late(c, m, way, i, source_of(m, wild), tag_of(m, wild));
			say(" %d:", i);
			say_status(&m->status, m->b);
		}
		for (int i = 0; i < n; i++)
			MPI_Wait(&ms[i].send, MPI_STATUS_IGNORE);
	}
	if (wild == ANYTHING)
		MPI_Barrier(c);
	for (int i = 0; i < n; i++) {
		m = &ms[i];
		say_area(&m->out), say_area(&m->in);
		if (way == PERSISTENT && m->send != MPI_REQUEST_NULL)
			MPI_Request_free(&m->send);
		if (way == PERSISTENT && m->receive != MPI_REQUEST_NULL)
			MPI_Request_free(&m->receive);
		drop_type(m->a), drop_type(m->b);
	}
	free(ms), free(qs);
}

/* exchange by edges tag A fa B fb count: to the rank that is by further; with edges there is no way round. */
static void exchange(MPI_Comm c)
{
	int size, rank, by = (int)number(), edges = (int)number(), tag = (int)number();
	MPI_Datatype a = type();
	int fa = (int)number();
	MPI_Datatype b = type();
	int fb = (int)number(), n = (int)number();
	struct area out = area(a, (long)n * fa, 1), in = area(b, (long)n * fb, 2);
	MPI_Status s;

	MPI_Comm_size(c, &size);
	MPI_Comm_rank(c, &rank);
	by %= size;
	int to = (rank + by) % size, from = (rank - by + size) % size;

	if (edges && rank + by >= size)
		to = MPI_PROC_NULL;
	if (edges && rank - by < 0)
		from = MPI_PROC_NULL;
	MPI_Sendrecv(out.base, n * fa, a, to, tag, in.base, n * fb, b, from, tag, c, &s);
	say_status(&s, b);
	MPI_Sendrecv_replace(out.base, n * fa, a, to, tag, from, MPI_ANY_TAG, c, &s);
	say_status(&s, a);
	say_area(&out), say_area(&in);
	drop_type(a), drop_type(b);
}

static int messages(MPI_Comm c, const char *name)
{
	void (*f)(MPI_Comm) = is(name, "p2p") ? batch : is(name, "exchange") ? exchange : NULL;

	if (!f)
		return 0;
	say("%d", step);
	f(c);
	say("\n");
	fflush(out);
	return 1;
}

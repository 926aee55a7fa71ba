/* topology.h - grids and graphs, and the collectives of neighbours. */

static void say_list(const int *v, int n)
{
	say(" [");
	for (int i = 0; i < n; i++)
		say(" %d", normal_rank(v[i]));
	say(" ]");
}

/* Everything that a grid tells. */
static void say_cart(MPI_Comm c)
{
	enum { DIMS = 8 };
	int nd, dims[DIMS], periods[DIMS], coords[DIMS], size, ends[2];

	MPI_Comm_size(c, &size);
	MPI_Cartdim_get(c, &nd);
	MPI_Cart_get(c, nd, dims, periods, coords);
	say_list(dims, nd), say_list(periods, nd), say_list(coords, nd);
	for (int r = 0; r < size; r++) {
		int back;

		MPI_Cart_coords(c, r, nd, coords);
		say_list(coords, nd);
		for (int d = 0; d < nd; d++)
			if (periods[d])
				coords[d] += (r % 3 - 1) * dims[d]; /* the way round */
		MPI_Cart_rank(c, coords, &back);
		say(" %d", back);
	}
	for (int d = 0; d < nd; d++)
		for (int by = -2; by <= 3; by++) {
			MPI_Cart_shift(c, d, by, &ends[0], &ends[1]);
			say_list(ends, 2);
		}
}


/* Neighbours in the order of the buffers. */
static void neighbours(MPI_Comm c, int *in, int *ins, int *to, int *outs)
{
	int kind, rank, weighted;

	MPI_Topo_test(c, &kind);
	MPI_Comm_rank(c, &rank);
	if (kind == MPI_CART) {
		int nd;

		MPI_Cartdim_get(c, &nd);
		for (int d = 0; d < nd; d++)
			MPI_Cart_shift(c, d, 1, &in[2 * d], &in[2 * d + 1]);
		*ins = *outs = 2 * nd;
		memcpy(to, in, sizeof *in * (size_t)(2 * nd));
	} else if (kind == MPI_GRAPH) {
		MPI_Graph_neighbors_count(c, rank, ins);
		MPI_Graph_neighbors(c, rank, *ins, in);
		*outs = *ins;
		memcpy(to, in, sizeof *in * (size_t)*ins);
	} else {
		MPI_Dist_graph_neighbors_count(c, ins, outs, &weighted);
		MPI_Dist_graph_neighbors(c, *ins, in, MPI_UNWEIGHTED, *outs, to, MPI_UNWEIGHTED);
	}
}

static void say_neighbours(MPI_Comm c)
{
	int in[LIST], to[LIST], ins, outs;

	neighbours(c, in, &ins, to, &outs);
	say_list(in, ins), say_list(to, outs);
}

/* How many units go from one rank to another in the v forms. */
static int edge(int from, int to) { return from < 0 || to < 0 ? 1 : (from * 3 + to * 5 + step) % 4; }

/* neighbour mode A fa B fb count, after the name of the form. */
static int neighbourhood(MPI_Comm c, const char *name)
{
	if (!is(name, "nallgather") && !is(name, "nallgatherv") && !is(name, "nalltoall") && !is(name, "nalltoallv") && !is(name, "nalltoallw"))
		return 0;
	int mode = (int)number();

	if (mode != 3)
		finish_all();
	struct job *j = room(sizeof *j);
	int in[LIST], to[LIST], ins, outs, rank;

	j->step = step, j->request = MPI_REQUEST_NULL;
	MPI_Comm_rank(c, &rank);
	neighbours(c, in, &ins, to, &outs);
	MPI_Datatype a = own_type(j);
	int fa = (int)number();
	MPI_Datatype b = own_type(j);
	int fb = (int)number(), n = (int)number();
	int *sc = own_list(j, room(sizeof(int) * LIST)), *rc = own_list(j, room(sizeof(int) * LIST));
	int *sd = own_list(j, room(sizeof(int) * LIST)), *rd = own_list(j, room(sizeof(int) * LIST));
	int own_share = edge(rank, rank);

	for (int i = 0; i < ins; i++)
		rc[i] = fb * (is(name, "nallgatherv") ? edge(in[i], in[i]) : edge(in[i], in[i] < 0 ? in[i] : rank));
	for (int i = 0; i < outs; i++)
		sc[i] = fa * edge(rank, to[i]);
	lay(sd, sc, outs, 1, 0);
	lay(rd, rc, ins, 2, 1);
	if (is(name, "nallgather")) {
		void *r = own(j, area(b, (long)n * fb * ins, 2)), *s = own(j, area(a, (long)n * fa, 1));

		CALL(Neighbor_allgather, Ineighbor_allgather, s, n * fa, a, r, n * fb, b, c);
	} else if (is(name, "nalltoall")) {
		void *r = own(j, area(b, (long)n * fb * ins, 2)), *s = own(j, area(a, (long)n * fa * outs, 1));

		CALL(Neighbor_alltoall, Ineighbor_alltoall, s, n * fa, a, r, n * fb, b, c);
	} else if (is(name, "nallgatherv")) {
		void *r = own(j, area(b, reach(rc, rd, ins), 2)), *s = own(j, area(a, own_share * fa, 1));

		CALL(Neighbor_allgatherv, Ineighbor_allgatherv, s, own_share * fa, a, r, rc, rd, b, c);
	} else {
		void *r = own(j, area(b, reach(rc, rd, ins), 2)), *s = own(j, area(a, reach(sc, sd, outs), 1));

		if (is(name, "nalltoallv")) {
			CALL(Neighbor_alltoallv, Ineighbor_alltoallv, s, sc, sd, a, r, rc, rd, b, c);
		} else {
			MPI_Aint *sb = own_list(j, room(sizeof *sb * LIST)), *rb = own_list(j, room(sizeof *rb * LIST)), lb, extent;
			MPI_Datatype *st = own_list(j, room(sizeof *st * LIST)), *rt = own_list(j, room(sizeof *rt * LIST));

			MPI_Type_get_extent(a, &lb, &extent);
			for (int i = 0; i < outs; i++)
				st[i] = a, sb[i] = sd[i] * extent;
			MPI_Type_get_extent(b, &lb, &extent);
			for (int i = 0; i < ins; i++)
				rt[i] = b, rb[i] = rd[i] * extent;
			CALL(Neighbor_alltoallw, Ineighbor_alltoallw, s, sc, sb, st, r, rc, rb, rt, c);
		}
	}
	if (mode == 3)
		deferred[deferrals++] = j;
	else
		finish(j);
	return 1;
}

/* cart new n dims periods; cartsub new n remain; graph new n index edges...; dgraph new n, of each rank: ins... outs...; dims nodes n dims. */
static int topologies(MPI_Comm c, const char *name)
{
	int rank;
	MPI_Comm d = MPI_COMM_NULL;

	MPI_Comm_rank(c, &rank);
	if (is(name, "dims")) {
		int nodes = (int)number(), n = (int)number(), *dims = numbers(n);

		MPI_Dims_create(nodes, n, dims);
		say("%d", step);
		say_list(dims, n);
		free(dims);
		say("\n");
		return 1;
	}
	if (!is(name, "cart") && !is(name, "cartsub") && !is(name, "graph") && !is(name, "dgraph"))
		return 0;
	int to = (int)number(), n = (int)number();

	if (is(name, "cart")) {
		int *dims = numbers(n), *periods = numbers(n);

		MPI_Cart_create(c, n, dims, periods, 0, &d);
		free(dims), free(periods);
	} else if (is(name, "cartsub")) {
		int *remain = numbers(n);

		MPI_Cart_sub(c, remain, &d);
		free(remain);
	} else if (is(name, "graph")) {
		int *index = numbers(n), *edges = numbers(index[n - 1]);

		MPI_Graph_create(c, n, index, edges, 0, &d);
		free(index), free(edges);
	} else {
		for (int r = 0; r < n; r++) {
			int ins = (int)number(), *in = numbers(ins), outs = (int)number(), *dest = numbers(outs);

			if (r == rank)
				MPI_Dist_graph_create_adjacent(c, ins, in, MPI_UNWEIGHTED, outs, dest, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &d);
			free(in), free(dest);
		}
	}
	comms[to] = d;
	say("%d", step);
	say_comm(d);
	if (d != MPI_COMM_NULL && (is(name, "cart") || is(name, "cartsub")))
		say_cart(d);
	if (d != MPI_COMM_NULL)
		say_neighbours(d);
	say("\n");
	fflush(out);
	return 1;
}

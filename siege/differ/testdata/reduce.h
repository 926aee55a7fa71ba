/* reduce.h - reductions. A reduction's memory holds small numbers, so that the order of the operations does not show. */

static void multiply(void *in, void *inout, int *n, MPI_Datatype *t)
{
	uint32_t *a = in, *b = inout;

	(void)t;
	for (int i = 0; i < *n; i++, a += 4, b += 4) {
		uint32_t r[4] = { a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3] };

		memcpy(b, r, sizeof r);
	}
}

static MPI_Datatype number_type(struct job *j, char kind)
{
	switch (kind) {
	case 'i': return MPI_INT32_T;
	case 'l': return MPI_INT64_T;
	case 'b': return MPI_UINT8_T;
	case 'd': return MPI_DOUBLE;
	case 'I': return MPI_2INT;
	case 'D': return MPI_DOUBLE_INT;
	case 'L': return MPI_LONG_INT;
	}
	MPI_Datatype t;

	MPI_Type_contiguous(4, MPI_UINT32_T, &t);
	MPI_Type_commit(&t);
	return j->type[j->types++] = t;
}

static MPI_Op op_named(const char *w)
{
	static const struct { const char *name; MPI_Op op; } ops[] = {
		{ "sum", MPI_SUM }, { "prod", MPI_PROD }, { "max", MPI_MAX }, { "min", MPI_MIN }, { "band", MPI_BAND }, { "bor", MPI_BOR },
		{ "bxor", MPI_BXOR }, { "land", MPI_LAND }, { "lor", MPI_LOR }, { "lxor", MPI_LXOR }, { "maxloc", MPI_MAXLOC }, { "minloc", MPI_MINLOC },
	};

	for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
		if (is(w, ops[i].name))
			return ops[i].op;
	return matrix_op;
}

static struct area numbers_area(MPI_Datatype t, char kind, long count, int salt)
{
	struct area a = area(t, count, salt);

	for (long i = 0; i < count; i++) {
		uint32_t h = noise((uint32_t)step * 977u + (uint32_t)i * 64u + (uint32_t)world_rank * 8u + (uint32_t)salt);
		int v = (int)(h % 7) - 3;

		switch (kind) {
		case 'i': ((int32_t *)a.base)[i] = v; break;
		case 'l': ((int64_t *)a.base)[i] = v; break;
		case 'b': ((uint8_t *)a.base)[i] = (uint8_t)v; break;
		case 'd': ((double *)a.base)[i] = v / 2.0; break;
		case 'I': ((int32_t *)a.base)[2 * i] = v, ((int32_t *)a.base)[2 * i + 1] = (int32_t)(h >> 8 & 15); break;
		case 'D': ((double *)a.base)[2 * i] = v / 2.0, ((int32_t *)a.base)[4 * i + 2] = (int32_t)(h >> 8 & 15); break;
		case 'L': ((int64_t *)a.base)[2 * i] = v, ((int32_t *)a.base)[4 * i + 2] = (int32_t)(h >> 8 & 15); break;
		}
	}
	return a;
}

/* name mode inplace root kind op n counts: 1 when name is a reduction. */
static int reduction(MPI_Comm c, struct job *j, int mode, const char *name)
{
	int size, rank;

	MPI_Comm_size(c, &size);
	MPI_Comm_rank(c, &rank);
	int inplace = (int)number(), root = (int)(number() % size);
	char kind = *word();
	MPI_Op op = op_named(word());
	int n = (int)number(), *counts = own_list(j, numbers(n)), count = counts[0];
	MPI_Datatype t = number_type(j, kind);
	long input = count, result = count;

	if (is(name, "rs")) {
		input = 0;
		for (int i = 0; i < size; i++)
			input += counts[i];
		result = counts[rank];
	} else if (is(name, "rsb")) {
		input = (long)count * size;
	}
	if (is(name, "reduce") && rank != root)
		inplace = 0;
	j->kind[0] = j->kind[1] = kind;
	void *r = own(j, numbers_area(t, kind, inplace ? input : result, 2));
	void *s = inplace ? MPI_IN_PLACE : own(j, numbers_area(t, kind, input, 1));
	MPI_Aint lb, extent;

	MPI_Type_get_extent(t, &lb, &extent);
	if (inplace)
		j->skip_from[0] = (is(name, "rs") || is(name, "rsb") ? result : input) * extent, j->skip_to[0] = input * extent;
	if (is(name, "exscan") && rank == 0)
		j->skip_from[0] = 0, j->skip_to[0] = result * extent;
	if (is(name, "reduce"))
		CALL(Reduce, Ireduce, s, r, count, t, op, root, c);
	else if (is(name, "allreduce"))
		CALL(Allreduce, Iallreduce, s, r, count, t, op, c);
	else if (is(name, "scan"))
		CALL(Scan, Iscan, s, r, count, t, op, c);
	else if (is(name, "exscan"))
		CALL(Exscan, Iexscan, s, r, count, t, op, c);
	else if (is(name, "rsb"))
		CALL(Reduce_scatter_block, Ireduce_scatter_block, s, r, count, t, op, c);
	else if (is(name, "rs"))
		CALL(Reduce_scatter, Ireduce_scatter, s, r, counts, t, op, c);
	else if (is(name, "rlocal"))
		MPI_Reduce_local(inplace ? r : s, r, count, t, op);
	else
		return 0;
	return 1;
}

/* main.c - the table of tests and the course of a measurement. */
#define _POSIX_C_SOURCE 200809L
#include "peer.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Sizes up to this count as small: more iterations. */
#define LARGE 8192

/* Seconds that one size may take when the number of iterations is ours to choose. */
#define BUDGET 2.0

static const struct test tests[] = {
	/* name, title, measure, run, min, max, small iter/warmup, large iter/warmup, ranks, even, per peer, threads, rate,
	   further columns, first column, its width */
	{ "latency", "Latency(us)", measure_latency, NULL, 1, 4194304, 10000, 100, 1000, 10, 2, 0, 0, 0, 0 },
	{ "multi_lat", "Latency(us)", measure_multi_lat, NULL, 1, 4194304, 10000, 100, 1000, 10, 2, 1, 0, 0, 0 },
	{ "latency_mt", "Latency(us)", measure_latency_mt, NULL, 1, 4194304, 10000, 100, 1000, 10, 2, 0, 1, 1, 0 },
	{ "bw", "Bandwidth(MB/s)", measure_bw, NULL, 1, 4194304, 1000, 10, 50, 2, 2, 0, 0, 0, 0 },
	{ "bibw", "Bandwidth(MB/s)", measure_bibw, NULL, 1, 4194304, 1000, 10, 50, 2, 2, 0, 0, 0, 0 },
	{ "mbw_mr", "MB/s", measure_mbw_mr, NULL, 1, 4194304, 1000, 10, 50, 2, 2, 1, 0, 0, 1, { "Messages/s" } },
	{ "overlap", "Overall(us)", NULL, run_overlap, 65536, 4194304, 5000, 200, 200, 20, 2, 1, 0, 0, 0,
	  { "Compute(us)", "Pure Comm.(us)", "Overlap(%)" } },
	{ "match_depth", "us/message", measure_match_depth, NULL, 1, 8192, 20, 2, 20, 2, 2, 0, 0, 0, 0 },
	{ "ddt", "Latency(us)", NULL, run_ddt, 1, 1048576, 1000, 50, 200, 10, 2, 0, 0, 0, 0,
	  { "Hand-packed(us)", "Checksum" }, "Layout:Size", 24 },
	{ "put_latency", "Latency(us)", measure_rma_latency, NULL, 1, 4194304, 10000, 100, 1000, 10, 2, .sync = "flush" },
	{ "get_latency", "Latency(us)", measure_rma_latency, NULL, 1, 4194304, 10000, 100, 1000, 10, 2, .sync = "flush" },
	{ "acc_latency", "Latency(us)", measure_rma_latency, NULL, 1, 4194304, 10000, 100, 1000, 10, 2, .sync = "flush" },
	{ "get_acc_latency", "Latency(us)", measure_rma_latency, NULL, 1, 4194304, 10000, 100, 1000, 10, 2, .sync = "flush" },
	{ "fop_latency", "Latency(us)", measure_rma_latency, NULL, 8, 8, 10000, 100, 1000, 10, 2, .sync = "flush" },
	{ "cas_latency", "Latency(us)", measure_rma_latency, NULL, 8, 8, 10000, 100, 1000, 10, 2, .sync = "flush" },
	{ "put_bw", "Bandwidth(MB/s)", measure_rma_bw, NULL, 1, 4194304, 1000, 10, 50, 2, 2, .sync = "flush" },
	{ "get_bw", "Bandwidth(MB/s)", measure_rma_bw, NULL, 1, 4194304, 1000, 10, 50, 2, 2, .sync = "flush" },
	{ "put_bibw", "Bandwidth(MB/s)", measure_put_bibw, NULL, 1, 4194304, 1000, 10, 50, 2, 2, .sync = "pscw", .active = 1 },
	{ "sync_fence", "Epoch(us)", measure_epoch, NULL, 0, 1, 2000, 50, 2000, 50, 2, .per_peer = 1, .first = "Puts", .sync = "flush" },
	{ "sync_pscw", "Epoch(us)", measure_epoch, NULL, 0, 1, 2000, 50, 2000, 50, 2, .per_peer = 1, .first = "Puts", .sync = "flush" },
	{ "sync_lock_exclusive", "Epoch(us)", measure_epoch, NULL, 0, 1, 2000, 50, 2000, 50, 2, .per_peer = 1, .first = "Puts", .sync = "flush" },
	{ "sync_lock_shared", "Epoch(us)", measure_epoch, NULL, 0, 1, 2000, 50, 2000, 50, 2, .per_peer = 1, .first = "Puts", .sync = "flush" },
	{ "sync_lock_all", "Epoch(us)", measure_epoch, NULL, 0, 1, 2000, 50, 2000, 50, 2, .per_peer = 1, .first = "Puts", .sync = "flush" },
	{ "sync_flush", "Epoch(us)", measure_epoch, NULL, 0, 1, 2000, 50, 2000, 50, 2, .per_peer = 1, .first = "Puts", .sync = "flush" },
	{ "startup", "ms", NULL, run_startup, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0 },
	{ "idle", "CPU(%)", NULL, run_idle, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0 },
	{ "memory", "KiB", NULL, run_memory, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0 },
};

static struct timespec started;

double seconds_since_start(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - started.tv_sec) + (now.tv_nsec - started.tv_nsec) / 1e9;
}

/*
 * fit runs the warm-up and shortens the loop if it would exceed BUDGET: an
 * oversubscribed machine can make a barrier a thousand times slower.
 */
static int fit(measurement m, struct context *c, size_t size, int warmup, int iterations, int fixed)
{
	double start, each;

	MPI_Barrier(MPI_COMM_WORLD);
	start = MPI_Wtime();
	m(c, size, warmup);
	MPI_Barrier(MPI_COMM_WORLD);
	each = (MPI_Wtime() - start) / warmup;
	if (!fixed && each * iterations > BUDGET)
		iterations = BUDGET / each > REPETITIONS ? (int)(BUDGET / each) : REPETITIONS;
	MPI_Bcast(&iterations, 1, MPI_INT, 0, MPI_COMM_WORLD);
	return iterations;
}

double repeat(const struct test *t, struct context *c, const struct options *o, measurement m, size_t size)
{
	int large = size > LARGE;
	int iterations = o->iterations ? o->iterations : large ? t->large_iterations : t->small_iterations;
	int warmup = o->warmup >= 0 ? o->warmup : large ? t->large_warmup : t->small_warmup;
	double values[REPETITIONS];
	int reps;

	if (warmup)
		iterations = fit(m, c, size, warmup, iterations, o->iterations != 0);
	reps = iterations < REPETITIONS ? iterations : REPETITIONS;
	for (int r = 0; r < reps; r++) {
		MPI_Barrier(MPI_COMM_WORLD);
		values[r] = m(c, size, iterations / reps);
	}
	return median(values, reps);
}

static void sweep(const struct test *t, struct context *c, const struct options *o)
{
	for (size_t size = t->min; size <= t->max; size = size ? size * 2 : 1) {
		double value = repeat(t, c, o, t->measure, size);
		double rate = size ? value * 1e6 / (double)size : 0;
		char label[32];

		snprintf(label, sizeof label, "%zu", size);
		if (c->rank == 0)
			report_row(t, label, value, &rate, t->message_rate, NULL);
		if (t->max == 0)
			break;
	}
}

static int complain(const struct context *c, const char *what, const char *test)
{
	if (c->rank == 0)
		fprintf(stderr, "peer: %s: %s\n", test, what);
	return 2;
}

static int run(struct test *t, struct context *c, const struct options *o)
{
	size_t bytes;

	if (t->lacking)
		return complain(c, t->lacking, t->name);
	if (c->ranks < t->min_ranks)
		return complain(c, "too few ranks", t->name);
	if (t->even_ranks && c->ranks % 2)
		return complain(c, "needs an even number of ranks", t->name);
	if (o->have_range && t->min != t->max) { /* else the test is about one size, or none */
		t->min = o->min;
		t->max = o->max;
	}
	if (t->max > INT_MAX)
		return complain(c, "a size is above 2147483647", t->name);
	bytes = t->max > 8 ? t->max : 8;
	if (t->measure == measure_match_depth)
		bytes *= 8;
	if (t->per_peer)
		bytes *= c->ranks;
	if (t->neighbours)
		bytes *= 2;
	c->send = aligned_buffer(bytes);
	c->recv = aligned_buffer(bytes);
	if (t->sync) {
		const char *wrong = open_window(t, c, o, bytes);

		if (wrong)
			return complain(c, wrong, t->name);
	}
	report_head(t, c);
	if (t->run) {
		int status = t->run(t, c, o);

		if (status)
			return status;
	} else {
		sweep(t, c, o);
	}
	if (c->window)
		close_window(c);
	if (t->small_iterations) /* not after a test with a course of its own, whose end is timed */
		MPI_Barrier(MPI_COMM_WORLD);
	return 0;
}

/* Finds a test by name; one of a collective also sets its subject. */
static int find(const char *name, struct test *t, struct context *c)
{
	for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++)
		if (strcmp(tests[i].name, name) == 0) {
			*t = tests[i];
			return 1;
		}
	return collective_test(t, c, name);
}

/* One line of `peer list`, by which ompi-bench's tests see that both tables agree. */
static void list(const struct test *t)
{
	printf("%s %zu %zu %d %d %d %d %d\n", t->name, t->min, t->max, t->small_iterations, t->small_warmup,
		t->large_iterations, t->large_warmup, t->min_ranks);
}

int main(int argc, char **argv)
{
	static struct context c;
	struct options o;
	struct test t;
	int provided, status;

	clock_gettime(CLOCK_MONOTONIC, &started);
	if (parse_options(argc, argv, &o))
		return 2;
	if (strcmp(o.test, "list") == 0) {
		for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++)
			list(&tests[i]);
		each_collective_test(list);
		return 0;
	}
	if (!find(o.test, &t, &c)) {
		fprintf(stderr, "peer: unknown test %s\n", o.test);
		return 2;
	}
	MPI_Init_thread(&argc, &argv, t.threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &c.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &c.ranks);
	if (t.threads && provided != MPI_THREAD_MULTIPLE)
		status = complain(&c, "the library gives no MPI_THREAD_MULTIPLE", t.name);
	else
		status = run(&t, &c, &o);
	MPI_Finalize();
	return status;
}

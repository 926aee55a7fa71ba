/*
 * peer.h - what the files of the peer benchmark share.
 *
 * The program measures another MPI implementation exactly as ompi-bench
 * measures ours: the same loops, windows, repetition counts and output, so that
 * the numbers of the two may stand in one table.
 */
#ifndef OMPI_GO_PEER_H
#define OMPI_GO_PEER_H

#include <mpi.h>
#include <stddef.h>

/* A measurement is split into this many timed loops; the printed value is their median. */
#define REPETITIONS 5

/* Messages in flight in the bandwidth tests. */
#define WINDOW 64

/* Threads that receive in latency_mt; one thread sends. */
#define RECEIVER_THREADS 2

struct options {
	const char *test;
	size_t min, max;    /* first and last size in bytes (match_depth: messages) */
	int have_range;     /* -m was given */
	int iterations;     /* of one size over all repetitions; 0: the test's default */
	int warmup;         /* -1: the test's default */
	const char *window; /* of one-sided tests: create, allocate or dynamic; NULL: the default */
	const char *sync;   /* their synchronisation; NULL: the test's default */
	int calls;          /* of the operation between two synchronisations; 0: the test's default */
};

struct context {
	int rank, ranks;
	char *send, *recv;  /* page-aligned, `max` bytes per peer of the test */
	MPI_Request requests[2 * WINDOW];
	const void *subject;  /* of a collective's test the collective, of ddt the exchange under way */
	MPI_Comm ring;        /* of neighbour collectives, made when first needed */
	long steps;           /* of the computation beside a non-blocking collective */
	double computed[REPETITIONS]; /* its microseconds in the last measurements */
	int measured;
	struct window *window; /* of one-sided tests */
};

/*
 * A measurement runs `iterations` rounds of one size and returns the result in
 * the test's unit; only the value of rank 0 counts.
 */
typedef double (*measurement)(struct context *c, size_t size, int iterations);

struct test {
	const char *name;
	const char *title;          /* column heading */
	measurement measure;        /* NULL: the test has its own course, `run` */
	int (*run)(const struct test *t, struct context *c, const struct options *o);
	size_t min, max;            /* range of sizes, -m or the default; 0:0 is a test without */
	int small_iterations, small_warmup;
	int large_iterations, large_warmup;
	int min_ranks;
	int even_ranks;             /* ranks work in pairs */
	int per_peer;               /* buffers hold `max` bytes for every rank */
	int threads;                /* needs MPI_THREAD_MULTIPLE */
	int message_rate;           /* the further column is messages per second */
	const char *more[4];        /* headings of further columns */
	const char *first;          /* heading of the first column; NULL: Size */
	int first_width;            /* 0: 16 */
	const char *lacking;        /* why this library cannot run it, or NULL */
	int neighbours;             /* buffers hold `max` bytes for both neighbours */
	const char *sync;           /* of one-sided tests: the synchronisation unless told; NULL: not one-sided */
	int active;                 /* of those: both ranks are origin and target at once */
};

/* options.c: returns 0, or prints what is wrong and returns 2. */
int parse_options(int argc, char **argv, struct options *o);

/* report.c */
void report_head(const struct test *t, const struct context *c);
/* `more` are n values of further columns; `sum` is a last column, or NULL */
void report_row(const struct test *t, const char *label, double value, const double *more, int n, const char *sum);
double median(double *values, int n);

/* buffer.c: memory, or the end of the job */
char *aligned_buffer(size_t bytes);
void *need(size_t bytes);

/* main.c: one size, in repetitions after a warm-up; the median is rank 0's */
double repeat(const struct test *t, struct context *c, const struct options *o, measurement m, size_t size);

/* the measurements, one idea a file */
double measure_latency(struct context *c, size_t size, int iterations);
double measure_multi_lat(struct context *c, size_t size, int iterations);
double measure_latency_mt(struct context *c, size_t size, int iterations);
double measure_bw(struct context *c, size_t size, int iterations);
double measure_bibw(struct context *c, size_t size, int iterations);
double measure_mbw_mr(struct context *c, size_t size, int iterations);
double measure_collective(struct context *c, size_t size, int iterations);
double measure_persistent(struct context *c, size_t size, int iterations);
double measure_rma_latency(struct context *c, size_t size, int iterations);
double measure_rma_bw(struct context *c, size_t size, int iterations);
double measure_put_bibw(struct context *c, size_t size, int iterations);
double measure_epoch(struct context *c, size_t puts, int iterations);
double measure_match_depth(struct context *c, size_t depth, int iterations);
int run_startup(const struct test *t, struct context *c, const struct options *o);
int run_idle(const struct test *t, struct context *c, const struct options *o);
int run_memory(const struct test *t, struct context *c, const struct options *o);
int run_ddt(const struct test *t, struct context *c, const struct options *o);
int run_overlap(const struct test *t, struct context *c, const struct options *o);

/* window.c: the window of a one-sided test; returns why there is none, or NULL */
const char *open_window(const struct test *t, struct context *c, const struct options *o, size_t bytes);
void close_window(struct context *c);

/* forms.c: fills t and the subject if name is that of a collective in one of its forms; else returns 0 */
int collective_test(struct test *t, struct context *c, const char *name);
void each_collective_test(void (*take)(const struct test *t));

/* neighbour.c: one message to and from each neighbour on a ring */
void neighbour_exchange(struct context *c);

/* main.c: seconds since main was entered, for startup */
double seconds_since_start(void);

#endif

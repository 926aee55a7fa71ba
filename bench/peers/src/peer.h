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
};

struct context {
	int rank, ranks;
	char *send, *recv;  /* page-aligned, `max` bytes per peer of the test */
	MPI_Request requests[2 * WINDOW];
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
	int (*run)(struct context *c, const struct options *o);
	size_t min, max;            /* default range; 0:0 is a test without sizes */
	int small_iterations, small_warmup;
	int large_iterations, large_warmup;
	int min_ranks;
	int even_ranks;             /* ranks work in pairs */
	int per_peer;               /* buffers hold `max` bytes for every rank */
	int threads;                /* needs MPI_THREAD_MULTIPLE */
	int message_rate;           /* a further column: messages per second */
};

/* options.c: returns 0, or prints what is wrong and returns 2. */
int parse_options(int argc, char **argv, struct options *o);

/* report.c */
void report_head(const struct test *t, const struct context *c);
void report_row(const struct test *t, size_t size, double value);
double median(double *values, int n);

/* memory of the buffers (buffer.c) */
char *aligned_buffer(size_t bytes);

/* the measurements, one idea a file */
double measure_latency(struct context *c, size_t size, int iterations);
double measure_multi_lat(struct context *c, size_t size, int iterations);
double measure_latency_mt(struct context *c, size_t size, int iterations);
double measure_bw(struct context *c, size_t size, int iterations);
double measure_bibw(struct context *c, size_t size, int iterations);
double measure_mbw_mr(struct context *c, size_t size, int iterations);
double measure_barrier(struct context *c, size_t size, int iterations);
double measure_bcast(struct context *c, size_t size, int iterations);
double measure_allreduce(struct context *c, size_t size, int iterations);
double measure_alltoall(struct context *c, size_t size, int iterations);
double measure_match_depth(struct context *c, size_t depth, int iterations);
int run_startup(struct context *c, const struct options *o);
int run_idle(struct context *c, const struct options *o);
int run_memory(struct context *c, const struct options *o);

/* neighbour.c: one message to and from each neighbour on a ring */
void neighbour_exchange(struct context *c);

/* main.c: seconds since main was entered, for startup */
double seconds_since_start(void);

#endif

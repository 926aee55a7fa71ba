/* options.c - the command line: TEST [-m MIN:MAX] [-i ITER] [-x WARMUP] [--window KIND] [--sync KIND] [--calls N], as ompi-bench's. */
#include "peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int number(const char *s, char end, unsigned long long *out, const char **rest)
{
	char *stop;

	if (*s < '0' || *s > '9')
		return -1;
	*out = strtoull(s, &stop, 10);
	if (*stop != end && *stop != '\0')
		return -1;
	*rest = *stop ? stop + 1 : stop;
	return 0;
}

static int range(const char *s, struct options *o)
{
	unsigned long long lo, hi;
	const char *rest;

	if (number(s, ':', &lo, &rest))
		return -1;
	hi = lo;
	if (strchr(s, ':') && number(rest, '\0', &hi, &rest))
		return -1;
	if (lo > hi)
		return -1;
	o->min = lo;
	o->max = hi;
	o->have_range = 1;
	return 0;
}

int parse_options(int argc, char **argv, struct options *o)
{
	unsigned long long n = 0;
	const char *rest;

	memset(o, 0, sizeof *o);
	o->warmup = -1;
	if (argc < 2) {
		fprintf(stderr, "usage: peer TEST [-m MIN:MAX] [-i ITER] [-x WARMUP] [--window KIND] [--sync KIND] [--calls N]\n");
		return 2;
	}
	o->test = argv[1];
	for (int i = 2; i < argc; i += 2) {
		int bad = i + 1 >= argc;

		if (!bad && strcmp(argv[i], "-m") == 0) {
			bad = range(argv[i + 1], o);
		} else if (!bad && strcmp(argv[i], "-i") == 0) {
			bad = number(argv[i + 1], '\0', &n, &rest) || n == 0 || n > 1000000000;
			o->iterations = (int)n;
		} else if (!bad && strcmp(argv[i], "-x") == 0) {
			bad = number(argv[i + 1], '\0', &n, &rest) || n > 1000000000;
			o->warmup = (int)n;
		} else if (!bad && strcmp(argv[i], "--window") == 0) {
			o->window = argv[i + 1];
		} else if (!bad && strcmp(argv[i], "--sync") == 0) {
			o->sync = argv[i + 1];
		} else if (!bad && strcmp(argv[i], "--calls") == 0) {
			bad = number(argv[i + 1], '\0', &n, &rest) || n == 0 || n > 1000000;
			o->calls = (int)n;
		} else {
			bad = 1;
		}
		if (bad) {
			fprintf(stderr, "peer: bad option %s %s\n", argv[i], i + 1 < argc ? argv[i + 1] : "");
			return 2;
		}
	}
	return 0;
}

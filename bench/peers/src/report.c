/* report.c - the output: `#` comment lines, then `size value` columns. */
#include "peer.h"

#include <stdio.h>
#include <stdlib.h>

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double median(double *values, int n)
{
	qsort(values, n, sizeof *values, ascending);
	return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

void report_head(const struct test *t, const struct context *c)
{
	char version[MPI_MAX_LIBRARY_VERSION_STRING];
	int len;

	if (c->rank != 0)
		return;
	MPI_Get_library_version(version, &len);
	for (char *p = version; *p; p++)
		if (*p == '\n' || *p == '\r') {
			*p = '\0';
			break;
		}
	printf("# %s, %d ranks\n# %s\n", t->name, c->ranks, version);
	printf("# %-14s%20s", "Size", t->title);
	if (t->message_rate)
		printf("%20s", "Messages/s");
	printf("\n");
	fflush(stdout);
}

void report_row(const struct test *t, size_t size, double value)
{
	printf("%-16zu%20.3f", size, value);
	if (t->message_rate)
		printf("%20.1f", size ? value * 1e6 / (double)size : 0.0);
	printf("\n");
	fflush(stdout);
}

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

static int width(const struct test *t)
{
	return t->first_width ? t->first_width : 16;
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
	printf("# %-*s%20s", width(t) - 2, t->first ? t->first : "Size", t->title);
	for (int i = 0; t->more[i]; i++)
		printf("%20s", t->more[i]);
	printf("\n");
	fflush(stdout);
}

void report_row(const struct test *t, const char *label, double value, const double *more, int n, const char *sum)
{
	printf("%-*s%20.3f", width(t), label, value);
	for (int i = 0; i < n; i++)
		printf("%20.3f", more[i]);
	if (sum)
		printf("%20s", sum);
	printf("\n");
	fflush(stdout);
}

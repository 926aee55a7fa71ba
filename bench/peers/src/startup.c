/*
 * startup.c - initialise, one exchange with both neighbours, end. The printed
 * value is rank 0's milliseconds from main to the end of the exchange; the wall
 * time of the whole launch is the launcher's caller's to measure.
 */
#include "peer.h"

#include <stdio.h>

int run_startup(const struct test *t, struct context *c, const struct options *o)
{
	(void)t;
	(void)o;
	neighbour_exchange(c);
	if (c->rank == 0)
		printf("%-16d%20.3f\n", c->ranks, seconds_since_start() * 1e3);
	return 0;
}

/* buffer.c - page-aligned memory whose pages exist before anything is timed. */
#define _POSIX_C_SOURCE 200809L
#include "peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *aligned_buffer(size_t bytes)
{
	void *p;

	if (posix_memalign(&p, 4096, bytes ? bytes : 1)) {
		fprintf(stderr, "peer: no memory for a buffer of %zu bytes\n", bytes);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	memset(p, 'a', bytes ? bytes : 1);
	return p;
}

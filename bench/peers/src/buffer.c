/* buffer.c - memory: page-aligned, with pages that exist before anything is timed, or plain. */
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

void *need(size_t bytes)
{
	void *p = malloc(bytes ? bytes : 1);

	if (!p) {
		fprintf(stderr, "peer: no memory for %zu bytes\n", bytes);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	return p;
}

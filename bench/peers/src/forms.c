/* forms.c - the tests of a collective: NAME, iNAME and NAME_persistent. */
#include "collective.h"

#include <stdio.h>
#include <string.h>

#define PERSISTENT "_persistent"

int collective_test(struct test *t, struct context *c, const char *name)
{
	const struct collective *of;
	size_t n = strlen(name), tail = strlen(PERSISTENT);

	memset(t, 0, sizeof *t);
	t->name = name;
	t->title = "Latency(us)";
	if ((of = find_collective(name, n))) {
		t->measure = measure_collective;
	} else if (name[0] == 'i' && (of = find_collective(name + 1, n - 1))) {
		t->run = run_overlap;
		t->title = "Overall(us)";
		t->more[0] = "Compute(us)";
		t->more[1] = "Pure Comm.(us)";
		t->more[2] = "Overlap(%)";
	} else if (n > tail && strcmp(name + n - tail, PERSISTENT) == 0 && (of = find_collective(name, n - tail))) {
		t->measure = measure_persistent;
		if (!of->prepare)
			t->lacking = "the library has no persistent collectives";
	} else {
		return 0;
	}
	c->subject = of;
	c->ring = MPI_COMM_NULL;
	t->min = of->least;
	t->max = of->least ? 1048576 : 0;
	t->small_iterations = of->least ? 5000 : 10000;
	t->small_warmup = 200;
	t->large_iterations = 200;
	t->large_warmup = 20;
	t->min_ranks = 1;
	t->per_peer = of->per_peer;
	t->neighbours = of->neighbours;
	return 1;
}

void each_collective_test(void (*take)(const struct test *t))
{
	static const char *const forms[] = { "%s", "i%s", "%s" PERSISTENT };
	const struct collective *of;

	for (size_t f = 0; f < sizeof forms / sizeof forms[0]; f++)
		for (size_t i = 0; (of = collective_at(i)); i++) {
			char name[64];
			struct context c;
			struct test t;

			snprintf(name, sizeof name, forms[f], of->name);
			if (collective_test(&t, &c, name))
				take(&t);
		}
}

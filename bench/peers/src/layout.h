/*
 * layout.h - how applications lay out in memory what they send. Each layout is
 * told twice, as a derived datatype and as plain loops; they are those of
 * ompi-bench's package patterns, number by number, and the checksum tells
 * whether both still agree.
 */
#ifndef OMPI_GO_LAYOUT_H
#define OMPI_GO_LAYOUT_H

#include <mpi.h>
#include <stddef.h>

#define MAX_PARTS 9

/* n steps of stride numbers; n == 0 counts as one step */
struct loop {
	size_t n, stride;
};

/* A nest of loops, or a list of places, over one array of numbers. */
struct part {
	size_t at;              /* byte at which it begins, from the datatype's beginning */
	size_t elem;            /* bytes of a number: 4 or 8 */
	struct loop loops[3];   /* outermost first */
	int *index;             /* instead of loops: the number at which each block begins */
	size_t places;          /* entries of index */
	size_t block;           /* numbers side by side */
};

struct layout {
	char name[32];
	size_t span;            /* bytes of memory that the arrays fill */
	size_t base;            /* where in it the datatype begins */
	struct part parts[MAX_PARTS];
	int nparts;
	MPI_Datatype type;
};

/* A consumer takes the layouts one by one; each is freed when it returns. */
typedef void (*layout_consumer)(struct layout *l, void *arg);

/* layout_all.c: all layouts by name, then by size */
void each_layout(layout_consumer take, void *arg);

/* layout.c */
size_t layout_bytes(const struct layout *l);
void layout_pack(const struct layout *l, const char *mem, char *out);
void layout_unpack(const struct layout *l, const char *in, char *mem);
void layout_fill(char *mem, size_t n);
unsigned long long checksum(const char *bytes, size_t n);
struct part *add_part(struct layout *l);
int *scattered(size_t n, int factor);
void shuffle(int *list, size_t n);
MPI_Datatype struct_of(int n, const size_t *at, MPI_Datatype *types);

/* one maker a family; `which` counts the sizes */
int make_nas_lu_x(struct layout *l, int which);
int make_nas_lu_y(struct layout *l, int which);
int make_nas_mg_x(struct layout *l, int which);
int make_nas_mg_y(struct layout *l, int which);
int make_nas_mg_z(struct layout *l, int which);
int make_milc(struct layout *l, int which);
int make_lammps_atomic(struct layout *l, int which);
int make_lammps_full(struct layout *l, int which);
int make_specfem_cm(struct layout *l, int which);
int make_specfem_mt(struct layout *l, int which);
int make_specfem_oc(struct layout *l, int which);
int make_wrf_x_sa(struct layout *l, int which);
int make_wrf_x_vec(struct layout *l, int which);
int make_wrf_y_sa(struct layout *l, int which);
int make_wrf_y_vec(struct layout *l, int which);

#endif

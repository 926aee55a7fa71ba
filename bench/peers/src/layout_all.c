/* layout_all.c - the list of all layouts. */
#include "layout.h"

#include <stdlib.h>
#include <string.h>

typedef int (*maker)(struct layout *l, int which);

static const struct {
	const char *name;
	maker make;
} families[] = {
	{ "LAMMPS_atomic", make_lammps_atomic },
	{ "LAMMPS_full", make_lammps_full },
	{ "MILC_su3_zd", make_milc },
	{ "NAS_LU_x", make_nas_lu_x },
	{ "NAS_LU_y", make_nas_lu_y },
	{ "NAS_MG_x", make_nas_mg_x },
	{ "NAS_MG_y", make_nas_mg_y },
	{ "NAS_MG_z", make_nas_mg_z },
	{ "SPECFEM3D_cm", make_specfem_cm },
	{ "SPECFEM3D_mt", make_specfem_mt },
	{ "SPECFEM3D_oc", make_specfem_oc },
	{ "WRF_x_sa", make_wrf_x_sa },
	{ "WRF_x_vec", make_wrf_x_vec },
	{ "WRF_y_sa", make_wrf_y_sa },
	{ "WRF_y_vec", make_wrf_y_vec },
};

void each_layout(layout_consumer take, void *arg)
{
	for (size_t f = 0; f < sizeof families / sizeof families[0]; f++)
		for (int which = 0;; which++) {
			struct layout l;

			memset(&l, 0, sizeof l);
			strcpy(l.name, families[f].name);
			if (!families[f].make(&l, which))
				break;
			MPI_Type_commit(&l.type);
			take(&l, arg);
			MPI_Type_free(&l.type);
			for (int i = 0; i < l.nparts; i++)
				free(l.parts[i].index);
		}
}

/* A program of another MPI library for the tests: adds the ranks; then rank 1 aborts or forgets to finalize if told to. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int rank, size, sum = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	printf("rank %d of %d: sum %d\n", rank, size, sum);
	fflush(stdout);
	if (argc > 1 && rank == 1 && strcmp(argv[1], "abort") == 0)
		MPI_Abort(MPI_COMM_WORLD, 9);
	if (argc > 1 && rank == 1 && strcmp(argv[1], "forget") == 0)
		_exit(0);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}

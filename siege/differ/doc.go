// Package differ runs random MPI programs in C under the MPI libraries that are installed (Open MPI, MPICH) and in Go under ours,
// and compares what every rank saw after every step: checksums of all memory that was handed to MPI, what lies around it included,
// statuses, memberships, the bounds of datatypes, packed bytes. Nothing here knows what the right answer is; three libraries that
// were written apart must agree. The package holds only tests; nobody imports it.
//
// A program is text, one step a line:
//
//	STEP COMM NAME words...
//
// STEP is a number that the contents of memory and the tags derive from, COMM the slot of a communicator (0 is the world); a rank
// that is not in it skips the line. Numbers of ranks are taken modulo the communicator's size, so that a step fits all parts of a
// split. testdata/differ.c and this package interpret it. A failing program is made smaller by leaving out steps until nothing more
// can go, and printed. Ours runs as processes over shared memory, over tcp, in settings drawn with the program (algorithms, limits),
// and as goroutines. What once failed is kept in testdata.
//
// The others have defects, too. A line of ours stands when one of them saw the same; steps in which one of them ends are left out;
// types on whose bounds they disagree travel nowhere, and are compared with a model. To look for more:
//
//	go test ./siege/differ -v -run Programs -differ.seed 100 -differ.seeds 20 -differ.ranks 4 -differ.steps 300
//	go test ./siege/differ -v -run Programs -differ.alone -differ.seeds 100
//
// The first takes minutes; the second, without the others, less. -differ.show writes programs instead of running them.
package differ

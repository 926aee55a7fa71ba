// Package datatype says where the elements of a message lie in memory and moves them.
//
// A [Type] is MPI's datatype: a list of predefined elements with displacements, a lower bound and an extent (MPI-3.1 chapter
// 4). [For] derives it from a Go type, the constructors ([Contiguous], [Vector], [Struct], ...) make new types from old ones. A
// [Convertor] is a cursor over (type, count, buffer): it packs, unpacks and lists the memory blocks of a message, from any byte
// of the packed stream.
//
//	types.go, construct.go, array.go    what a type is and how it is made
//	layout.go                           sizes and bounds, with every overflow caught
//	gotype.go                           Go types to datatypes
//	compile.go                          a type becomes a few rows of blocks and loops (the commit)
//	convertor.go, walk.go, kernel.go    moving bytes along them
//	iovec.go, copy.go, elements.go      memory blocks for RDMA, local copies, counts of elements
//	arch.go, foreign.go, sum.go         the other byte order (and external32), CRC32C of what is moved
//	stream.go                           the type of packed data
//
// This is the ground floor: of this module the package imports only what keeps attributes, and every floor may call it. Types never
// change once made, except for their name and attributes, so all functions here may be called from any goroutine; a Convertor belongs to one goroutine at
// a time.
package datatype

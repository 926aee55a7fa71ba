package main

import (
	"fmt"

	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/suite"
	"github.com/ompi-go/ompi-go/ompi"
)

// library is what a communicator offers of the collectives; a part that it does not have is nil.
type library struct {
	comm     *ompi.Comm
	more     moreMethods
	starts   startMethods
	prepares prepareMethods
}

func offered(c *ompi.Comm) library {
	l := library{comm: c}
	l.more, _ = any(c).(moreMethods)
	l.starts, _ = any(c).(startMethods)
	l.prepares, _ = any(c).(prepareMethods)
	return l
}

// lacks says what the library does not have for a test.
func (l library) lacks(t suite.Test) error {
	_, hasRing := any(l.comm).(ringMethods)
	missing := false
	switch t.Form {
	case suite.Blocking:
		missing = inMore(t.Collective.Name) && l.more == nil
	case suite.NonBlocking:
		missing = l.starts == nil
	case suite.Persistent:
		missing = l.prepares == nil
	}
	if missing || t.Collective.Neighbours && !hasRing {
		return fmt.Errorf("test %s: the library has no such collective", t.Name)
	}
	return nil
}

// ring is the communicator of the neighbours: every rank has the one before and the one after it.
func (l library) ring() (*ompi.Comm, error) {
	return any(l.comm).(ringMethods).CartCreate([]int{l.comm.Size()}, []bool{true}, false)
}

func inMore(name string) bool {
	switch name {
	case "alltoallw", "reduce_scatter_block", "reduce_scatter", "scan", "exscan", "neighbor_allgather", "neighbor_allgatherv", "neighbor_alltoall", "neighbor_alltoallv", "neighbor_alltoallw":
		return true
	}
	return false
}

type ringMethods interface {
	CartCreate(dims []int, periods []bool, reorder bool) (*ompi.Comm, error)
}

type moreMethods interface {
	Alltoallw(send, recv []ompi.Buffer) error
	ReduceScatterBlock(send, recv ompi.Buffer, op *ompi.Op) error
	ReduceScatter(send, recv ompi.Buffer, counts []int, op *ompi.Op) error
	Scan(send, recv ompi.Buffer, op *ompi.Op) error
	Exscan(send, recv ompi.Buffer, op *ompi.Op) error
	NeighborAllgather(send, recv ompi.Buffer) error
	NeighborAllgatherv(send, recv ompi.Buffer, counts, displs []int) error
	NeighborAlltoall(send, recv ompi.Buffer) error
	NeighborAlltoallv(send ompi.Buffer, sendCounts, sendDispls []int, recv ompi.Buffer, recvCounts, recvDispls []int) error
	NeighborAlltoallw(send, recv []ompi.Buffer) error
}

type startMethods interface {
	Ibarrier() ompi.Request
	Ibcast(buf ompi.Buffer, root int) ompi.Request
	Igather(send, recv ompi.Buffer, root int) ompi.Request
	Igatherv(send, recv ompi.Buffer, counts, displs []int, root int) ompi.Request
	Iscatter(send, recv ompi.Buffer, root int) ompi.Request
	Iscatterv(send ompi.Buffer, counts, displs []int, recv ompi.Buffer, root int) ompi.Request
	Iallgather(send, recv ompi.Buffer) ompi.Request
	Iallgatherv(send, recv ompi.Buffer, counts, displs []int) ompi.Request
	Ialltoall(send, recv ompi.Buffer) ompi.Request
	Ialltoallv(send ompi.Buffer, sendCounts, sendDispls []int, recv ompi.Buffer, recvCounts, recvDispls []int) ompi.Request
	Ialltoallw(send, recv []ompi.Buffer) ompi.Request
	Ireduce(send, recv ompi.Buffer, op *ompi.Op, root int) ompi.Request
	Iallreduce(send, recv ompi.Buffer, op *ompi.Op) ompi.Request
	IreduceScatterBlock(send, recv ompi.Buffer, op *ompi.Op) ompi.Request
	IreduceScatter(send, recv ompi.Buffer, counts []int, op *ompi.Op) ompi.Request
	Iscan(send, recv ompi.Buffer, op *ompi.Op) ompi.Request
	Iexscan(send, recv ompi.Buffer, op *ompi.Op) ompi.Request
	IneighborAllgather(send, recv ompi.Buffer) ompi.Request
	IneighborAllgatherv(send, recv ompi.Buffer, counts, displs []int) ompi.Request
	IneighborAlltoall(send, recv ompi.Buffer) ompi.Request
	IneighborAlltoallv(send ompi.Buffer, sendCounts, sendDispls []int, recv ompi.Buffer, recvCounts, recvDispls []int) ompi.Request
	IneighborAlltoallw(send, recv []ompi.Buffer) ompi.Request
}

type prepareMethods interface {
	BarrierInit() ompi.Request
	BcastInit(buf ompi.Buffer, root int) ompi.Request
	GatherInit(send, recv ompi.Buffer, root int) ompi.Request
	GathervInit(send, recv ompi.Buffer, counts, displs []int, root int) ompi.Request
	ScatterInit(send, recv ompi.Buffer, root int) ompi.Request
	ScattervInit(send ompi.Buffer, counts, displs []int, recv ompi.Buffer, root int) ompi.Request
	AllgatherInit(send, recv ompi.Buffer) ompi.Request
	AllgathervInit(send, recv ompi.Buffer, counts, displs []int) ompi.Request
	AlltoallInit(send, recv ompi.Buffer) ompi.Request
	AlltoallvInit(send ompi.Buffer, sendCounts, sendDispls []int, recv ompi.Buffer, recvCounts, recvDispls []int) ompi.Request
	AlltoallwInit(send, recv []ompi.Buffer) ompi.Request
	ReduceInit(send, recv ompi.Buffer, op *ompi.Op, root int) ompi.Request
	AllreduceInit(send, recv ompi.Buffer, op *ompi.Op) ompi.Request
	ReduceScatterBlockInit(send, recv ompi.Buffer, op *ompi.Op) ompi.Request
	ReduceScatterInit(send, recv ompi.Buffer, counts []int, op *ompi.Op) ompi.Request
	ScanInit(send, recv ompi.Buffer, op *ompi.Op) ompi.Request
	ExscanInit(send, recv ompi.Buffer, op *ompi.Op) ompi.Request
	NeighborAllgatherInit(send, recv ompi.Buffer) ompi.Request
	NeighborAllgathervInit(send, recv ompi.Buffer, counts, displs []int) ompi.Request
	NeighborAlltoallInit(send, recv ompi.Buffer) ompi.Request
	NeighborAlltoallvInit(send ompi.Buffer, sendCounts, sendDispls []int, recv ompi.Buffer, recvCounts, recvDispls []int) ompi.Request
	NeighborAlltoallwInit(send, recv []ompi.Buffer) ompi.Request
}

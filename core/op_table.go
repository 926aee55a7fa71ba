package core

import "github.com/ompi-go/ompi-go/datatype"

// The predefined operations (MPI-3.1 §5.9.2; Replace and NoOp §11.3.4). They must not be changed. Which kinds an operation is
// defined on is exactly what its table holds.
var (
	Sum    = &Op{name: "MPI_SUM", commutative: true, table: &sumTable}
	Prod   = &Op{name: "MPI_PROD", commutative: true, table: &prodTable}
	Max    = &Op{name: "MPI_MAX", commutative: true, table: &maxTable}
	Min    = &Op{name: "MPI_MIN", commutative: true, table: &minTable}
	LAnd   = &Op{name: "MPI_LAND", commutative: true, table: &logicalAndTable}
	LOr    = &Op{name: "MPI_LOR", commutative: true, table: &logicalOrTable}
	LXor   = &Op{name: "MPI_LXOR", commutative: true, table: &logicalXorTable}
	BAnd   = &Op{name: "MPI_BAND", commutative: true, table: &bitAndTable}
	BOr    = &Op{name: "MPI_BOR", commutative: true, table: &bitOrTable}
	BXor   = &Op{name: "MPI_BXOR", commutative: true, table: &bitXorTable}
	MaxLoc = &Op{name: "MPI_MAXLOC", commutative: true, pairs: &maxLocTable}
	MinLoc = &Op{name: "MPI_MINLOC", commutative: true, pairs: &minLocTable}

	// Replace and NoOp are for accumulates only.
	Replace = &Op{name: "MPI_REPLACE", rma: true, table: &replaceTable}
	NoOp    = &Op{name: "MPI_NO_OP", rma: true, table: &leaveTable}
)

var sumTable = kernelTable{
	datatype.KindInt8:       sum[int8],
	datatype.KindInt16:      sum[int16],
	datatype.KindInt32:      sum[int32],
	datatype.KindInt64:      sum[int64],
	datatype.KindUint8:      sum[uint8],
	datatype.KindUint16:     sum[uint16],
	datatype.KindUint32:     sum[uint32],
	datatype.KindUint64:     sum[uint64],
	datatype.KindFloat32:    sum[float32],
	datatype.KindFloat64:    sum[float64],
	datatype.KindComplex64:  sum[complex64],
	datatype.KindComplex128: sum[complex128],
}

var prodTable = kernelTable{
	datatype.KindInt8:       prod[int8],
	datatype.KindInt16:      prod[int16],
	datatype.KindInt32:      prod[int32],
	datatype.KindInt64:      prod[int64],
	datatype.KindUint8:      prod[uint8],
	datatype.KindUint16:     prod[uint16],
	datatype.KindUint32:     prod[uint32],
	datatype.KindUint64:     prod[uint64],
	datatype.KindFloat32:    prod[float32],
	datatype.KindFloat64:    prod[float64],
	datatype.KindComplex64:  prod[complex64],
	datatype.KindComplex128: prod[complex128],
}

var maxTable = kernelTable{
	datatype.KindInt8:    maximum[int8],
	datatype.KindInt16:   maximum[int16],
	datatype.KindInt32:   maximum[int32],
	datatype.KindInt64:   maximum[int64],
	datatype.KindUint8:   maximum[uint8],
	datatype.KindUint16:  maximum[uint16],
	datatype.KindUint32:  maximum[uint32],
	datatype.KindUint64:  maximum[uint64],
	datatype.KindFloat32: maximum[float32],
	datatype.KindFloat64: maximum[float64],
}

var minTable = kernelTable{
	datatype.KindInt8:    minimum[int8],
	datatype.KindInt16:   minimum[int16],
	datatype.KindInt32:   minimum[int32],
	datatype.KindInt64:   minimum[int64],
	datatype.KindUint8:   minimum[uint8],
	datatype.KindUint16:  minimum[uint16],
	datatype.KindUint32:  minimum[uint32],
	datatype.KindUint64:  minimum[uint64],
	datatype.KindFloat32: minimum[float32],
	datatype.KindFloat64: minimum[float64],
}

var logicalAndTable = kernelTable{
	datatype.KindInt8:   logicalAnd[int8],
	datatype.KindInt16:  logicalAnd[int16],
	datatype.KindInt32:  logicalAnd[int32],
	datatype.KindInt64:  logicalAnd[int64],
	datatype.KindUint8:  logicalAnd[uint8],
	datatype.KindUint16: logicalAnd[uint16],
	datatype.KindUint32: logicalAnd[uint32],
	datatype.KindUint64: logicalAnd[uint64],
	datatype.KindBool:   logicalAnd[uint8],
}

var logicalOrTable = kernelTable{
	datatype.KindInt8:   logicalOr[int8],
	datatype.KindInt16:  logicalOr[int16],
	datatype.KindInt32:  logicalOr[int32],
	datatype.KindInt64:  logicalOr[int64],
	datatype.KindUint8:  logicalOr[uint8],
	datatype.KindUint16: logicalOr[uint16],
	datatype.KindUint32: logicalOr[uint32],
	datatype.KindUint64: logicalOr[uint64],
	datatype.KindBool:   logicalOr[uint8],
}

var logicalXorTable = kernelTable{
	datatype.KindInt8:   logicalXor[int8],
	datatype.KindInt16:  logicalXor[int16],
	datatype.KindInt32:  logicalXor[int32],
	datatype.KindInt64:  logicalXor[int64],
	datatype.KindUint8:  logicalXor[uint8],
	datatype.KindUint16: logicalXor[uint16],
	datatype.KindUint32: logicalXor[uint32],
	datatype.KindUint64: logicalXor[uint64],
	datatype.KindBool:   logicalXor[uint8],
}

var bitAndTable = kernelTable{
	datatype.KindInt8:   bitAnd[int8],
	datatype.KindInt16:  bitAnd[int16],
	datatype.KindInt32:  bitAnd[int32],
	datatype.KindInt64:  bitAnd[int64],
	datatype.KindUint8:  bitAnd[uint8],
	datatype.KindUint16: bitAnd[uint16],
	datatype.KindUint32: bitAnd[uint32],
	datatype.KindUint64: bitAnd[uint64],
	datatype.KindByte:   bitAnd[uint8],
}

var bitOrTable = kernelTable{
	datatype.KindInt8:   bitOr[int8],
	datatype.KindInt16:  bitOr[int16],
	datatype.KindInt32:  bitOr[int32],
	datatype.KindInt64:  bitOr[int64],
	datatype.KindUint8:  bitOr[uint8],
	datatype.KindUint16: bitOr[uint16],
	datatype.KindUint32: bitOr[uint32],
	datatype.KindUint64: bitOr[uint64],
	datatype.KindByte:   bitOr[uint8],
}

var bitXorTable = kernelTable{
	datatype.KindInt8:   bitXor[int8],
	datatype.KindInt16:  bitXor[int16],
	datatype.KindInt32:  bitXor[int32],
	datatype.KindInt64:  bitXor[int64],
	datatype.KindUint8:  bitXor[uint8],
	datatype.KindUint16: bitXor[uint16],
	datatype.KindUint32: bitXor[uint32],
	datatype.KindUint64: bitXor[uint64],
	datatype.KindByte:   bitXor[uint8],
}

var maxLocTable = kernelTable{
	datatype.KindInt8:    maxLoc[int8],
	datatype.KindInt16:   maxLoc[int16],
	datatype.KindInt32:   maxLoc[int32],
	datatype.KindInt64:   maxLoc[int64],
	datatype.KindUint8:   maxLoc[uint8],
	datatype.KindUint16:  maxLoc[uint16],
	datatype.KindUint32:  maxLoc[uint32],
	datatype.KindUint64:  maxLoc[uint64],
	datatype.KindFloat32: maxLoc[float32],
	datatype.KindFloat64: maxLoc[float64],
}

var minLocTable = kernelTable{
	datatype.KindInt8:    minLoc[int8],
	datatype.KindInt16:   minLoc[int16],
	datatype.KindInt32:   minLoc[int32],
	datatype.KindInt64:   minLoc[int64],
	datatype.KindUint8:   minLoc[uint8],
	datatype.KindUint16:  minLoc[uint16],
	datatype.KindUint32:  minLoc[uint32],
	datatype.KindUint64:  minLoc[uint64],
	datatype.KindFloat32: minLoc[float32],
	datatype.KindFloat64: minLoc[float64],
}

var replaceTable = kernelTable{
	datatype.KindInt8:       replace[int8],
	datatype.KindInt16:      replace[int16],
	datatype.KindInt32:      replace[int32],
	datatype.KindInt64:      replace[int64],
	datatype.KindUint8:      replace[uint8],
	datatype.KindUint16:     replace[uint16],
	datatype.KindUint32:     replace[uint32],
	datatype.KindUint64:     replace[uint64],
	datatype.KindFloat32:    replace[float32],
	datatype.KindFloat64:    replace[float64],
	datatype.KindComplex64:  replace[complex64],
	datatype.KindComplex128: replace[complex128],
	datatype.KindByte:       replace[uint8],
	datatype.KindBool:       replace[uint8],
}

var leaveTable = kernelTable{
	datatype.KindInt8:       leave,
	datatype.KindInt16:      leave,
	datatype.KindInt32:      leave,
	datatype.KindInt64:      leave,
	datatype.KindUint8:      leave,
	datatype.KindUint16:     leave,
	datatype.KindUint32:     leave,
	datatype.KindUint64:     leave,
	datatype.KindFloat32:    leave,
	datatype.KindFloat64:    leave,
	datatype.KindComplex64:  leave,
	datatype.KindComplex128: leave,
	datatype.KindByte:       leave,
	datatype.KindBool:       leave,
}

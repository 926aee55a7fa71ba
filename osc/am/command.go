package am

import (
	"encoding/binary"
	"errors"

	"github.com/ompi-go/ompi-go/osc/elem"
)

// Version is that of the form; commands of another one are refused.
const Version = 1

// Kind is what a command is about.
type Kind uint8

// Commands. Those from Lock on have no data and concern the window at a whole; what they mean is their component's affair.
const (
	Put        Kind = 1 + iota // Data goes to the runs
	Get                        // Reply brings what is in the runs
	Accumulate                 // the runs are changed by Code with the operands in Data
	Fetch                      // likewise, and Reply brings what was there; no Data: NoOp
	Swap                       // one element: Data is what is compared, then the new value; Reply brings what was there
	Reply                      // Data is N bytes from Pos on of the result of operation ID

	Lock     // Code is the osc.LockType
	Unlock   // ends it
	Flush    // asks for an Ack when everything before is complete
	Post     // the sender's window is open to the receiver
	Complete // the sender has ended its access epoch
	Granted  // the receiver has the lock
	Ack      // everything before the command with this ID is complete
	Long     // N bytes for the one run at Off come as a message of their own, named by Pos
	Fetched  // asks for N bytes from Off as a message of its own, named by Pos
	kinds
)

// Flags of a command; what they mean is their component's affair.
type Flags uint8

// Status says how a command fared.
type Status uint8

// Statuses.
const (
	OK       Status = iota
	BadRange        // memory outside the window, or not inside one attached piece: nothing was touched
	BadForm         // the command makes no sense: nothing was touched
)

// Sizes in bytes.
const (
	HeaderSize = 48
	RunSize    = 32
	align      = 8
)

// most is how many bytes a command may concern: what is computed from it stays a number.
const most = 1 << 62

// maxRuns is how many runs a command can list.
const maxRuns = 1<<16 - 1

// Command is one command. Runs and Data are views of the message that it came in.
//
//	 0  version  1
//	 1  kind     1
//	 2  code     2   element operation
//	 4  flags    1
//	 5  status   1
//	 6  runs     2   how many are listed; 0: the one run of N bytes at Off
//	 8  length   4   of the whole command, a multiple of 8
//	12  seq      4
//	16  id       8
//	24  pos      8
//	32  n        8
//	40  off      8
//	48  runs: off 8, length 8, stride 8, count 8 each
//	    data
type Command struct {
	Kind   Kind
	Code   elem.Code // accumulating commands; of Lock its type
	Flags  Flags
	Status Status
	Seq    uint32 // for carriers that do not keep order
	ID     uint64 // the origin's name for the operation
	Pos    int64  // where in the operation's data this command's begins
	N      int64  // bytes of the target's memory that are concerned
	Off    int64  // where they are: from the window's base, of a dynamic window an address
	Runs   []byte // nil: one run
	Data   []byte
}

var (
	errShort   = errors.New("osc/am: a command is cut short")
	errVersion = errors.New("osc/am: a command of another version")
	errForm    = errors.New("osc/am: a command makes no sense")
)

// putHeader writes the header of a command with so many listed runs and bytes of data, and gives the length of the whole. Bytes between the data's end and
// that are cleared.
func (c *Command) putHeader(b []byte, runs, data int) int {
	le := binary.LittleEndian
	end := HeaderSize + runs*RunSize + data
	length := (end + align - 1) &^ (align - 1)
	_ = b[length-1]
	b[0], b[1] = Version, byte(c.Kind)
	le.PutUint16(b[2:], uint16(c.Code))
	b[4], b[5] = byte(c.Flags), byte(c.Status)
	le.PutUint16(b[6:], uint16(runs))
	le.PutUint32(b[8:], uint32(length))
	le.PutUint32(b[12:], c.Seq)
	le.PutUint64(b[16:], c.ID)
	le.PutUint64(b[24:], uint64(c.Pos))
	le.PutUint64(b[32:], uint64(c.N))
	le.PutUint64(b[40:], uint64(c.Off))
	clear(b[end:length])
	return length
}

// PutControl writes a command without runs and data into b, of at least HeaderSize bytes, and gives its length.
func (c *Command) PutControl(b []byte) int { return c.putHeader(b, 0, 0) }

// ReplySize is how long the reply to c is; 0: there is none.
func (c *Command) ReplySize() int {
	switch c.Kind {
	case Get, Fetch, Swap:
		return HeaderSize + int(c.N+align-1)&^(align-1)
	}
	return 0
}

// PutReply writes the header of the reply to c into b, of at least ReplySize bytes, and gives its length. When all is well the data stands behind HeaderSize
// already; else the reply has none.
func (c *Command) PutReply(b []byte, st Status) int {
	r := Command{Kind: Reply, Status: st, Seq: c.Seq, ID: c.ID, Pos: c.Pos, N: c.N}
	n := 0
	if st == OK {
		n = int(c.N)
	}
	return r.putHeader(b, 0, n)
}

// SetSeq changes the number of the command in b.
func SetSeq(b []byte, seq uint32) { binary.LittleEndian.PutUint32(b[12:], seq) }

// Parse reads the command at the beginning of b and gives its length. What it returns is consistent in itself: the runs add up to N, none has a negative
// length, data is as long as the kind asks for, codes have a meaning. Whether the memory exists is Target's to say.
func (c *Command) Parse(b []byte) (size int, err error) {
	le := binary.LittleEndian
	switch {
	case len(b) < HeaderSize:
		return 0, errShort
	case b[0] != Version:
		return 0, errVersion
	case b[1] == 0 || Kind(b[1]) >= kinds:
		return 0, errForm
	}
	runs, length := int64(le.Uint16(b[6:])), int64(le.Uint32(b[8:]))
	if length > int64(len(b)) || length < HeaderSize+runs*RunSize || length%align != 0 {
		return 0, errShort
	}
	*c = Command{
		Kind: Kind(b[1]), Code: elem.Code(le.Uint16(b[2:])), Flags: Flags(b[4]), Status: Status(b[5]), Seq: le.Uint32(b[12:]), ID: le.Uint64(b[16:]),
		Pos: int64(le.Uint64(b[24:])), N: int64(le.Uint64(b[32:])), Off: int64(le.Uint64(b[40:])),
	}
	if c.N < 0 || c.N > most || c.Pos < 0 {
		return 0, errForm
	}
	data := HeaderSize + runs*RunSize
	if runs > 0 {
		c.Runs = b[HeaderSize:data:data]
	}
	need, err := c.dataSize(length > data)
	if err != nil {
		return 0, err
	}
	if need > length-data || length-data-need >= align {
		return 0, errShort
	}
	if need > 0 {
		c.Data = b[data : data+need : data+need]
	}
	if err := c.check(); err != nil {
		return 0, err
	}
	return int(length), nil
}

// Listed reports whether the command in b lists runs. Those are read more than once: who gets commands in memory that is shared with their senders copies such ones
// before Parse.
func Listed(b []byte) bool { return len(b) >= HeaderSize && binary.LittleEndian.Uint16(b[6:]) != 0 }

// dataSize is how many bytes of data c has, some telling whether there are any.
func (c *Command) dataSize(some bool) (int64, error) {
	if c.Code != 0 && (c.Kind < Accumulate || c.Kind == Reply) {
		return 0, errForm
	}
	switch c.Kind {
	case Put:
		return c.N, nil
	case Accumulate, Fetch, Swap:
		if !c.Code.Valid() || c.N%c.Code.Size() != 0 || c.Code.IsSwap() != (c.Kind == Swap) {
			return 0, errForm
		}
		switch {
		case c.Kind == Swap:
			if c.N != c.Code.Size() || c.Runs != nil {
				return 0, errForm
			}
			return 2 * c.N, nil
		case c.Kind == Fetch && !some && c.N > 0:
			if !c.Code.IsNoOp() {
				return 0, errForm
			}
			return 0, nil
		}
		return c.N, nil
	case Reply:
		if c.Status != OK {
			return 0, nil
		}
		return c.N, nil
	case Get:
		return 0, nil
	}
	if c.Runs != nil {
		return 0, errForm
	}
	return 0, nil
}

// check adds up the runs.
func (c *Command) check() error {
	left := c.N
	for i := 0; i+RunSize <= len(c.Runs); i += RunSize {
		r := runAt(c.Runs[i:])
		if r.length <= 0 || r.count <= 0 || r.length > left || r.count > left/r.length || c.Code != 0 && r.length%c.Code.Size() != 0 {
			return errForm
		}
		left -= r.length * r.count
	}
	if c.Runs != nil && left != 0 {
		return errForm
	}
	return nil
}

// run is length bytes at off, and count-1 times more, each stride bytes on.
type run struct{ off, length, stride, count int64 }

func runAt(b []byte) run {
	le := binary.LittleEndian
	_ = b[RunSize-1]
	return run{int64(le.Uint64(b)), int64(le.Uint64(b[8:])), int64(le.Uint64(b[16:])), int64(le.Uint64(b[24:]))}
}

func (r *run) put(b []byte) {
	le := binary.LittleEndian
	_ = b[RunSize-1]
	le.PutUint64(b, uint64(r.off))
	le.PutUint64(b[8:], uint64(r.length))
	le.PutUint64(b[16:], uint64(r.stride))
	le.PutUint64(b[24:], uint64(r.count))
}

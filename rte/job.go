package rte

import (
	"errors"
	"fmt"

	"github.com/google/uuid"
)

// Job is one rank's view of its job. All methods may be called from any goroutine.
type Job interface {
	// ID names the job; it is the same in all its ranks and never used again.
	ID() uuid.UUID
	// Rank is this rank's number, from 0 to Size()-1.
	Rank() int
	// Size is the number of ranks.
	Size() int
	// Launcher says who started the ranks: "mpirun", "pmi" (Hydra, Slurm, Flux), "singleton" or "in-process".
	Launcher() string

	// Put publishes a value of any size under a key of 1 to [MaxKey] characters out of A-Z a-z 0-9 . _ -, once a key. The
	// others can Get it after the next Fence.
	Put(key string, value []byte) error
	// Fence returns when all ranks have called it. Ranks that have died are not waited for. While it waits, a Get which is not
	// answered from the cache waits too. Of an aborted in-process job it returns the [*AbortError].
	Fence() error
	// Get returns what a rank has published; the result is shared and must not be changed. The first call fetches, later ones
	// are answered from memory. The error wraps [ErrNotFound] when there is no such value, or no Fence since its Put.
	Get(rank int, key string) ([]byte, error)

	// Node is the index of the rank's node, -1 for a rank that does not exist. Nodes are what the launcher calls so; where it
	// does not say, ranks of equal HostID share one.
	Node(rank int) int
	// LocalRanks returns the ranks on this rank's node, ascending, itself included. The result is the caller's.
	LocalRanks() []int
	// Locality says how near a rank is.
	Locality(rank int) Locality
	// Secret is known to the ranks of this job and to nobody else.
	Secret() [32]byte

	// OnFailure registers f, to be called on some goroutine for each rank of which the launcher says that it has died; deaths
	// already known are told at once. Only our mpirun (with --on-failure continue) and Hub.Fail tell.
	OnFailure(f func(rank int, cause error))
	// OnScrape sets what answers mpirun's requests for metrics, in Prometheus text exposition format. It is called on a
	// goroutine of this package, one call at a time.
	OnScrape(f func() ([]byte, error))

	// Abort ends the whole job for the reason msg. In a process it does not return, and the exit status is code if that is in
	// 1..255, its low eight bits if those are not zero (as exit does), else 1. In-process it returns, and the Hub is done.
	Abort(code int, msg string)
	// Finalize leaves the job in good order. A process that ends without has failed. Later calls do nothing.
	Finalize() error
}

// Reporter is an optional ability of a Job: handing its last error to the launcher, who prints one report for all ranks that
// say the same. Report returns false when the launcher did not take it, so that the caller must print it itself.
type Reporter interface {
	Report(msg string) bool
}

// Sayer is an optional ability of a Job: telling the user something once, however many ranks say it under the same key. SayOnce
// returns true when msg is taken care of, by the launcher or because another rank has said it; else the caller prints it.
type Sayer interface {
	SayOnce(key, msg string) bool
}

// Tracer is an optional ability of a Job: handing the rank's track (package trace) to who writes the trace file for all ranks. Trace
// returns false when the launcher does not take it, so that the caller writes a file of its own.
type Tracer interface {
	Trace(file string, track []byte) bool
}

// Ender is an optional ability of a Job: ending this process for an error that it has printed, so that the launcher reads what
// was printed and ends the other ranks. End does not return; the exit status is as with Abort.
type Ender interface {
	End(code int)
}

// Locality is how near a peer is.
type Locality uint8

// The localities, from near to far.
const (
	Self        Locality = iota // this rank
	SameProcess                 // a goroutine of this process
	SameHost                    // a process on this node
	Remote                      // a process on another node
)

func (l Locality) String() string {
	switch l {
	case Self:
		return "self"
	case SameProcess:
		return "process"
	case SameHost:
		return "host"
	case Remote:
		return "remote"
	}
	return fmt.Sprintf("locality %d", uint8(l))
}

// ErrNotFound is wrapped by the error of Get for a value that has not been published.
var ErrNotFound = errors.New("not published")

// ErrFinalized is returned by operations on a job after Finalize.
var ErrFinalized = errors.New("rte: the job has been finalized")

// AbortError is why an in-process job has ended before its time.
type AbortError struct {
	Rank int    // who called Abort
	Code int    // its exit code
	Msg  string // its reason
}

func (e *AbortError) Error() string {
	if e.Msg == "" {
		return fmt.Sprintf("rank %d called Abort(%d)", e.Rank, e.Code)
	}
	return fmt.Sprintf("rank %d called Abort(%d): %s", e.Rank, e.Code, e.Msg)
}

// MaxKey is the greatest length of a key in bytes, such that with the rank's number it fits every launcher's limit.
const MaxKey = 40

func checkKey(key string) error {
	if key == "" || len(key) > MaxKey {
		return fmt.Errorf("rte: key %q has %d bytes, want 1 to %d", key, len(key), MaxKey)
	}
	for i := range len(key) {
		c := key[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-') {
			return fmt.Errorf("rte: key %q has the character %q, want A-Z a-z 0-9 . _ -", key, c)
		}
	}
	return nil
}

func checkRank(rank, size int) error {
	if rank < 0 || rank >= size {
		return fmt.Errorf("rte: there is no rank %d in a job of %d", rank, size)
	}
	return nil
}

// exitStatus makes an abort code a status that a process can end with and that nobody takes for success.
func exitStatus(code int) int {
	if s := code & 0xff; s != 0 {
		return s
	}
	return 1
}

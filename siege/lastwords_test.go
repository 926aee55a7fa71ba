package siege_test

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/ompi-go/ompi-go/ompi"
)

func init() { roles["lastwords"] = lastWordsRole }

// lastWordsRole: rank 1 sends args[1] bytes, rank 0's first of it, and is killed; rank 0 receives them as args[0] says, and only then
// hears of the death.
func lastWordsRole(world *ompi.Comm, args []string) error {
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	words := make([]byte, n)
	if world.Rank() == 1 {
		for i := range words {
			words[i] = byte(i)
		}
		time.Sleep(50 * time.Millisecond)
		for tag := range 3 {
			if err := world.Send(ompi.Slice(words), 0, tag); err != nil {
				return err
			}
		}
		if args[0] != "any" {
			time.Sleep(50 * time.Millisecond)
		}
		if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
			return err
		}
		select {}
	}
	source := 1
	switch args[0] {
	case "late":
		time.Sleep(400 * time.Millisecond)
	case "any":
		source = ompi.AnySource
	case "answer": // finds the process gone, and what it had sent not looked at
		time.Sleep(400 * time.Millisecond)
		if err := world.Send(ompi.Slice(words), 1, 0); !errors.Is(err, ompi.ErrProcFailed) {
			return fmt.Errorf("sending to the dead: %w", err)
		}
	}
	for tag := range 3 {
		if _, err := world.Recv(ompi.Slice(words), source, tag); err != nil {
			return fmt.Errorf("message %d: %w", tag, err)
		}
		for i := range words {
			if words[i] != byte(i) {
				return fmt.Errorf("byte %d of message %d is %d", i, tag, words[i])
			}
		}
	}
	_, err = world.Recv(ompi.Slice(words), 1, 0)
	if err := failed("recv", 1, err); err != nil {
		return err
	}
	fmt.Println("rank 0 has heard the last words")
	return nil
}

// TestLastWords: what a rank had sent can be received after its death, though the receiver had never had to do with it.
func TestLastWords(t *testing.T) {
	for _, how := range []string{"late", "any", "answer"} {
		for _, n := range []string{"8", "3000"} {
			t.Run(how+"/"+n, func(t *testing.T) {
				t.Parallel()
				j := mpirun(t, "-n 2 --on-failure continue --mca btl self,sm", "lastwords", how, n)
				j.Run(137, `^rank 0 has heard the last words$`, `^mpirun: rank 1 .* was killed by signal 9`)
				j.Once(`^(mpirun|ompi): `)
			})
		}
	}
}

// TestHangTold: a job whose time is over ends with where its ranks were.
func TestHangTold(t *testing.T) {
	j := mpirun(t, "-n 3 --timeout 1 --mca btl self,sm", "hang", "met")
	j.Run(124, `^mpirun: the job has run for 1s \(--timeout\); ending it \(3 ranks\)$`, `^  ranks? .*: (in Recv at failure_test\.go:\d+(; .*)?|does not answer)$`)
}

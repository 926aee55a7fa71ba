package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/rte"
)

// A rank of the tests is this test program with roleVar=rank; its first argument names what it does.
var roles = map[string]func(j rte.Job, args []string) error{
	"hello": func(j rte.Job, _ []string) error {
		fmt.Printf("rank %d of %d by %s, local %v, key %x\n", j.Rank(), j.Size(), j.Launcher(), j.LocalRanks(), j.Secret())
		return meet(j)
	},
	"status": func(j rte.Job, args []string) error { // rank 1 ends with a status, the others wait
		if j.Rank() != 1 {
			return j.Fence()
		}
		status, err := strconv.Atoi(args[0])
		if err != nil {
			return err
		}
		os.Exit(status)
		return nil
	},
	"kill": func(j rte.Job, _ []string) error {
		if j.Rank() == 1 {
			return syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
		return j.Fence()
	},
	"abort": func(j rte.Job, _ []string) error {
		if j.Rank() == 1 {
			j.Abort(5, "nothing works")
		}
		return j.Fence()
	},
	"report": func(j rte.Job, _ []string) error {
		if !j.(rte.Reporter).Report("parameter btl: no such thing") {
			return errors.New("no report")
		}
		os.Exit(1)
		return nil
	},
	"panic": func(j rte.Job, _ []string) error {
		if j.Rank() == 1 {
			panic("oh")
		}
		return j.Fence()
	},
	"stubborn": func(j rte.Job, _ []string) error { // ranks that ignore polite signals, and their children
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
		child := exec.Command("sleep", "1000")
		child.Stdout = os.Stdout
		if err := child.Start(); err != nil {
			return err
		}
		if err := j.Fence(); err != nil {
			return err
		}
		fmt.Println("ready", os.Getpid())
		if j.Rank() == 1 {
			os.Exit(6)
		}
		select {}
	},
	"usr1": func(j rte.Job, _ []string) error {
		got := make(chan os.Signal, 1)
		signal.Notify(got, syscall.SIGUSR1)
		fmt.Println("ready", os.Getpid())
		<-got
		fmt.Println("ready", "again")
		select {}
	},
	"hang": func(j rte.Job, _ []string) error {
		if err := j.Fence(); err != nil {
			return err
		}
		fmt.Println("ready", os.Getpid())
		select {}
	},
	"survive": func(j rte.Job, _ []string) error { // rank 1 dies while the others are in a fence
		dead := make(chan string, j.Size())
		j.OnFailure(func(rank int, cause error) { dead <- fmt.Sprintf("rank %d: %v", rank, cause) })
		if err := j.Fence(); err != nil {
			return err
		}
		if j.Rank() == 1 {
			os.Exit(4)
		}
		if err := j.Fence(); err != nil {
			return err
		}
		fmt.Println("heard of", <-dead)
		again := make(chan string, 1)
		j.OnFailure(func(rank int, cause error) { again <- "x" })
		<-again // the dead are told to late listeners too
		return j.Finalize()
	},
	"stdin": func(j rte.Job, _ []string) error {
		b, err := io.ReadAll(os.Stdin)
		if err != nil {
			return err
		}
		if len(b) > 0 {
			fmt.Printf("rank %d read %q\n", j.Rank(), b)
		}
		return meet(j)
	},
	"env": func(j rte.Job, args []string) error {
		for _, name := range args {
			v, ok := os.LookupEnv(name)
			fmt.Printf("%d %s=%s %v\n", j.Rank(), name, v, ok)
		}
		return meet(j)
	},
	"handoff": func(j rte.Job, _ []string) error {
		settings, err := mca.DecodeHandoff(os.Getenv(mca.HandoffVar))
		if err != nil {
			return err
		}
		for _, s := range settings {
			fmt.Printf("%s=%s from %s\n", s.Name, s.Value, s.Layer)
		}
		return meet(j)
	},
	"cores": func(j rte.Job, _ []string) error {
		var set unix.CPUSet
		if err := unix.SchedGetaffinity(0, &set); err != nil {
			return err
		}
		fmt.Printf("rank %d has %d, GOMAXPROCS=%s\n", j.Rank(), set.Count(), os.Getenv("GOMAXPROCS"))
		return meet(j)
	},
	"lines": func(j rte.Job, _ []string) error {
		for i := range 2000 {
			os.Stdout.WriteString(fmt.Sprintf("line %d ", i))
			os.Stdout.WriteString("of some length\n")
		}
		os.Stdout.WriteString("the end")
		os.Stderr.WriteString("aside")
		return meet(j)
	},
	"metrics": func(j rte.Job, _ []string) error {
		j.OnScrape(func() ([]byte, error) {
			if j.Rank() == 2 {
				return nil, errors.New("not today")
			}
			return fmt.Appendf(nil, "# TYPE ompi_test_calls_total counter\nompi_test_calls_total{peer=\"self\"} %d\n", 10+j.Rank()), nil
		})
		if err := j.Fence(); err != nil {
			return err
		}
		fmt.Println("ready", j.Rank())
		if j.Rank() == 0 {
			if _, err := io.ReadAll(os.Stdin); err != nil {
				return err
			}
		}
		return meet(j)
	},
	"early": func(j rte.Job, _ []string) error { // rank 1 leaves without a word
		if j.Rank() == 1 {
			os.Exit(0)
		}
		return j.Fence()
	},
}

func meet(j rte.Job) error { return errors.Join(j.Fence(), j.Finalize()) }

// rankMain is a rank's program.
func rankMain(args []string) int {
	var err error
	if program := programs[args[0]]; program != nil {
		err = program(args[1:])
	} else if j, e := rte.Join(rte.Options{}); e != nil {
		err = e
	} else {
		err = roles[args[0]](j, args[1:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, strings.ReplaceAll(err.Error(), "\n", "; "))
		return 1
	}
	return 0
}

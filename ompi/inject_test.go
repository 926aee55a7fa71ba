package ompi_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ompi-go/ompi-go/ompi"
)

// chatter has all ranks send each other messages of all kinds, many at once, and checks what comes.
func chatter(world *ompi.Comm, rounds int) error {
	me, ranks := world.Rank(), world.Size()
	to, from := (me+1)%ranks, (me+ranks-1)%ranks
	sizes := []int{0, 8, 900, 5000, 60_000, 300_000}
	for round := range rounds {
		var reqs []*ompi.Request
		var in [][]byte
		for k, n := range sizes {
			out := make([]byte, n)
			fillMessage(out, me*1000+round+k)
			in = append(in, make([]byte, n))
			r := world.Irecv(ompi.Slice(in[k]), from, 1) // one tag: order decides
			var s ompi.Request
			if (round+k)%4 == 0 {
				s = world.Issend(ompi.Slice(out), to, 1)
			} else {
				s = world.Isend(ompi.Slice(out), to, 1)
			}
			reqs = append(reqs, &r, &s)
		}
		for _, r := range reqs {
			if _, err := r.Wait(); err != nil {
				return fmt.Errorf("round %d: %w", round, err)
			}
		}
		for k, n := range sizes {
			want := make([]byte, n)
			fillMessage(want, from*1000+round+k)
			if !slices.Equal(in[k], want) {
				return fmt.Errorf("round %d: the message of %d bytes is damaged", round, n)
			}
		}
		sum := []int64{int64(me)}
		if err := world.Allreduce(ompi.InPlace(), ompi.Slice(sum), ompi.Sum); err != nil {
			return err
		}
		if sum[0] != int64(ranks*(ranks-1)/2) {
			return fmt.Errorf("round %d: the sum is %d", round, sum[0])
		}
	}
	return nil
}

// TestInjected: what a program must not notice, with every kind of BTL.
func TestInjected(t *testing.T) {
	aboutOb1(t)
	for _, faults := range []string{
		"delay=10%", "reorder=10%", "dup=10%", "delay=5%,reorder=5%,dup=20%", "dup=100%", "delay=100%",
	} {
		for _, btl := range []string{"sm", "tcp", "wire"} {
			for _, sum := range []string{"false", "true"} {
				t.Run(btl+"/"+faults+"/"+sum, func(t *testing.T) {
					for seed := range 1 {
						job(t, 3, func(world *ompi.Comm) error { return chatter(world, 8) }, ompi.WithComponent(&wire{}), ompi.WithParam("btl", "self,"+btl), ompi.WithParam("coll", "^sm"),
							ompi.WithParam("bml_r2_inject", btl+":"+faults), ompi.WithParam("bml_r2_inject_seed", fmt.Sprint(seed)), ompi.WithParam("pml_ob1_checksum", sum))
					}
				})
			}
		}
	}
}

// TestInjectedBreak: a path breaks after each number of messages; there is another.
func TestInjectedBreak(t *testing.T) {
	aboutOb1(t)
	for _, c := range []struct{ btl, more string }{{"sm", ""}, {"wire", ""}, {"tcp", ""}, {"tcp", ",delay=20%,dup=20%,reorder=20%"}, {"wire", ",delay=20%,dup=20%"}} {
		other := "wire"
		if c.btl == "wire" {
			other = "sm"
		}
		t.Run(c.btl+c.more, func(t *testing.T) {
			for n := 1; n < 80; n += 13 {
				job(t, 3, func(world *ompi.Comm) error { return chatter(world, 5) }, ompi.WithComponent(&wire{}), ompi.WithParam("btl", "self,"+c.btl+","+other), ompi.WithParam("coll", "^sm"),
					ompi.WithParam("btl_tcp_exclusivity", "65535"), ompi.WithParam("btl_tcp_latency", fmt.Sprint(n%3)), ompi.WithParam("bml_r2_inject", fmt.Sprintf("%s:fail_after=%d%s", c.btl, n, c.more)))
			}
		})
	}
}

// TestInjectedEnd: a path that breaks with no other left is the peer's failure; damage is noticed by checksums.
func TestInjectedEnd(t *testing.T) {
	aboutOb1(t)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	err := ompi.Run(ctx, 2, func(world *ompi.Comm) error { return chatter(world, 50) }, ompi.WithParam("btl", "self,sm"), ompi.WithParam("coll", "^sm"), ompi.WithParam("bml_r2_inject", "sm:fail_after=20"))
	if !errors.Is(err, ompi.ErrProcFailed) || !strings.Contains(err.Error(), "fail_after") {
		t.Errorf("no path left: %v", err)
	}
	for _, btl := range []string{"sm", "wire"} {
		for _, n := range []int{100, 2_000, 500_000} {
			err = ompi.Run(ctx, 2, func(world *ompi.Comm) error {
				b := make([]byte, n)
				if world.Rank() == 0 {
					return world.Send(ompi.Slice(b), 1, 0)
				}
				_, err := world.Recv(ompi.Slice(b), 0, 0)
				return err
			}, ompi.WithComponent(&wire{}), ompi.WithParam("btl", "self,"+btl), ompi.WithParam("coll", "^sm"), ompi.WithParam("bml_r2_inject", btl+":corrupt=100%"), ompi.WithParam("pml_ob1_checksum", "true"))
			if err == nil || !strings.Contains(err.Error(), "checksum is wrong") {
				t.Errorf("%d bytes damaged over %s: %v", n, btl, err)
			}
		}
	}
}

// TestMeasuredWeights: large messages over two BTLs, whose shares change as they are measured.
func TestMeasuredWeights(t *testing.T) {
	job(t, 2, func(world *ompi.Comm) error { return exchangeLong(world, 12) }, ompi.WithComponent(&wire{}), ompi.WithParam("btl", "self,tcp,wire"),
		ompi.WithParam("coll", "^sm"), ompi.WithParam("btl_tcp_exclusivity", "65535"), ompi.WithParam("bml_r2_measured_weights", "true"))
}

// exchangeLong sends messages of 8 MiB there and back.
func exchangeLong(world *ompi.Comm, rounds int) error {
	b := make([]byte, 8<<20)
	for round := range rounds {
		if world.Rank() == round%2 {
			stamp(b, 1, round)
			if err := world.Send(ompi.Slice(b), 1-world.Rank(), round); err != nil {
				return err
			}
			continue
		}
		if _, err := world.Recv(ompi.Slice(b), 1-world.Rank(), round); err != nil {
			return err
		}
		if !stamped(b, 1, round) {
			return fmt.Errorf("message %d is damaged", round)
		}
	}
	return nil
}

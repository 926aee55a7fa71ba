package rte

import (
	"strings"
	"testing"
)

func TestDescribeStacks(t *testing.T) {
	const api = "github.com/ompi-go/ompi-go/ompi."
	stack := func(frames ...string) string {
		lines := []string{"goroutine 7 [running]:"}
		for _, f := range frames {
			name, file, _ := strings.Cut(f, " ")
			lines = append(lines, name, "\t"+file+" +0x1d")
		}
		return strings.Join(lines, "\n")
	}
	recv := stack("github.com/ompi-go/ompi-go/progress.(*Engine).WaitLocked(0xc0000) /l/wait.go:9", api+"(*Comm).recv.func1() /l/p2p.go:3",
		api+"(*Comm).call(...) /l/comm.go:1", api+"(*Comm).recv(0xc00,{0x1,0x2}) /l/p2p.go:5", api+"(*Comm).Recv(...) /l/p2p.go:9",
		"main.work(...) /home/me/ring/main.go:42", "main.main.func1(0x1) /home/me/ring/main.go:12", api+"Main(0x5) /l/run.go:8", "main.main() /home/me/ring/main.go:3")
	computing := stack("main.work(...) /m.go:42", api+"Main(0x5) /l/run.go:8", "main.main() /m.go:3")
	other := stack("runtime.gopark(0x1) /go/proc.go:1", "net.(*x).Read(0x1) /go/net.go:4")
	for _, c := range []struct{ stacks, want string }{
		{"", "in no MPI call"},
		{computing + "\n\n" + other, "in no MPI call"},
		{recv, "in Recv at main.go:42"},
		{other + "\n\n" + recv + "\n\n" + recv, "in Recv at main.go:42 (2 goroutines)"},
		{recv + "\n\n" + stack("x.y() /a.go:1", api+"Request.Wait({0x1}) /l/r.go:1", "main.f() /b.go:2") + "\n\n" + other, "in Recv at main.go:42, in Wait at b.go:2"},
		{stack("x.y() /a.go:1", api+"WaitAll[...](0x1) /l/r.go:1", "main.f() /b.go:2"), "in WaitAll at b.go:2"},
		{stack("x.y() /a.go:1", api+"newInstance(0x1) /l/i.go:1", api+"Main(0x5) /l/run.go:8", "main.main() /m.go:3"), "in Init"},
		{stack("x.y() /a.go:1", api+"newInstance(0x1) /l/i.go:1", api+"Init(0x5) /l/run.go:8", "main.main() /m.go:3"), "in Init at m.go:3"},
		{stack("x.y() /a.go:1", api+"(*Instance).Finalize(0x1) /l/i.go:1", api+"Main(0x5) /l/run.go:8", "main.main() /m.go:3"), "in Finalize"},
		{stack("x.y() /a.go:1", api+"(*Comm).Barrier(0x1) /l/i.go:1", "main.main.func1(0x1) /m.go:5", api+"(*localJob).rank(0x5) /l/run.go:8"), "in Barrier at m.go:5"},
	} {
		if got := describeStacks(c.stacks); got != c.want {
			t.Errorf("%s\ngives %q, want %q", c.stacks, got, c.want)
		}
	}
	if got := whereabouts(); got != "in no MPI call" {
		t.Errorf("this test is %s", got)
	}
}

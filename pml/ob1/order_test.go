package ob1

import "testing"

// TestBlockedReceives: a receive whose goroutine drives goes in front of those of parked goroutines, and of nothing else.
func TestBlockedReceives(t *testing.T) {
	type step struct {
		how         string // begun: by a call that has returned; first, waiting: by goroutines in calls
		source, tag int32
	}
	for _, c := range []struct {
		name  string
		steps []step
		order []int // in which a message from 1 with tag 2 takes them
	}{
		{"driver before parked", []step{{"first", 1, 2}, {"first", 1, 2}, {"first", 1, 2}}, []int{2, 1, 0}},
		{"parked behind the driver", []step{{"first", 1, 2}, {"waiting", 1, 2}, {"waiting", 1, 2}}, []int{0, 1, 2}},
		{"behind what was begun", []step{{"begun", 1, 2}, {"first", 1, 2}, {"first", 1, 2}}, []int{0, 2, 1}},
		{"begun behind parked", []step{{"first", 1, 2}, {"begun", 1, 2}, {"first", 1, 2}}, []int{0, 1, 2}},
		{"begun with a wildcard", []step{{"first", 1, 2}, {"begun", anySource, 2}, {"first", 1, 2}}, []int{0, 1, 2}},
		{"begun with another key", []step{{"first", 1, 2}, {"begun", 1, 3}, {"first", 1, 2}}, []int{0, 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var p posted
			p.t.init()
			recvs := make([]*recvReq, len(c.steps))
			for i, s := range c.steps {
				recvs[i] = &recvReq{source: s.source, tag: s.tag}
				switch s.how {
				case "begun":
					p.add(recvs[i])
				case "first":
					p.addFirst(recvs[i])
				case "waiting":
					p.addWaiting(recvs[i])
				}
			}
			for _, want := range c.order {
				if got := p.take(1, 2); got != recvs[want] {
					t.Fatalf("receive %d is not the next", want)
				}
			}
			if p.take(1, 2) != nil {
				t.Error("one too many")
			}
		})
	}
}

package ob1

import (
	"fmt"
	"strings"
)

// pendingMost is how many long messages Pending names.
const pendingMost = 3

// Pending implements pml.Pender.
func (o *module) Pending() string {
	var say []string
	long := 0
	for i := range o.ids.slots {
		x := &o.ids.slots[i]
		s, r := x.send, x.recv
		if s == nil && r == nil {
			continue
		}
		if long++; long > pendingMost {
			continue
		}
		switch {
		case r != nil:
			say = append(say, fmt.Sprintf("%d of %d bytes from rank %d have come", r.got, r.want, r.peer.proc.Rank))
		case s.state == sendStream:
			say = append(say, fmt.Sprintf("%d of %d bytes to rank %d have gone", s.next, s.total, s.peer.proc.Rank))
		default:
			say = append(say, fmt.Sprintf("%d bytes to rank %d are announced", s.total, s.peer.proc.Rank))
		}
	}
	count := func(n int, what string) {
		if n > 0 {
			say = append(say, fmt.Sprintf("%s: %d", what, n))
		}
	}
	count(long-pendingMost, "more long messages under way")
	posted, unexpected := 0, 0
	for _, m := range o.chans {
		if m != nil {
			posted, unexpected = posted+m.posted.n, unexpected+m.unexp.n
		}
	}
	count(posted, "receives that wait for their messages")
	count(unexpected, "messages that wait for their receives")
	count(o.out.n, "waiting for room in a BTL")
	count(o.starveds, "sends that wait for credit")
	return strings.Join(say, ", ")
}

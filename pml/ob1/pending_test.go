package ob1

import (
	"testing"

	"github.com/ompi-go/ompi-go/core"
)

// TestPending: an idle module has nothing to say, and a long list is cut short.
func TestPending(t *testing.T) {
	o := new(module)
	if got := o.Pending(); got != "" {
		t.Errorf("an idle module says %q", got)
	}
	p := &peer{proc: &core.Proc{Rank: 4}}
	o.ids.add(&sendReq{peer: p, state: sendStream, next: 7, total: 9}, nil)
	o.ids.add(nil, &recvReq{peer: p, got: 5, want: 6})
	o.ids.add(&sendReq{peer: p, state: sendRndv, total: 8}, nil)
	for range 2 {
		o.ids.add(&sendReq{peer: p}, nil)
	}
	o.out.n, o.starveds = 3, 2
	const want = "7 of 9 bytes to rank 4 have gone, 5 of 6 bytes from rank 4 have come, 8 bytes to rank 4 are announced, " +
		"more long messages under way: 2, waiting for room in a BTL: 3, sends that wait for credit: 2"
	if got := o.Pending(); got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
}

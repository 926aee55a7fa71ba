package rdma

import (
	"errors"

	"github.com/ompi-go/ompi-go/bml"
	"github.com/ompi-go/ompi-go/osc/am"
)

var errNotThere = errors.New("the memory is not in the window; in a dynamic one it must lie in one piece that is attached there")

// execute carries out a command, and answers with its reply.
func (m *module) execute(ep *bml.Endpoint, a *frame, payload []byte) {
	c := &m.cmd
	st, size := am.BadForm, 0
	mine := m.f.own(payload)
	if _, err := c.Parse(mine); err == nil && (c.Runs == nil || &mine[0] != &payload[0]) {
		// The least limit of both ends was the origin's to look at.
		if n := c.ReplySize(); n >= 0 && n <= mostReply && len(ep.Eager) > 0 && int64(n) <= ep.First().Limits.MaxSend-frameSize {
			st, size = am.OK, n
		}
	}
	p := m.f.newAnswer(size)
	if st == am.OK {
		var data []byte
		if size > 0 {
			data = p.buf[am.HeaderSize : am.HeaderSize+c.N]
		}
		if st = m.memory.Execute(c, data); size > 0 && st == am.OK {
			size = c.PutReply(p.buf, st)
		}
	}
	if st != am.OK {
		size = 0
	}
	c.Runs, c.Data = nil, nil
	a.what = uint16(st)
	p.send(ep, tagAnswer, a, size)
}

// own gives a request's command where its sender cannot change it any more, if more of it than its header must make sense: that is read once.
func (f *factory) own(payload []byte) []byte {
	if !am.Listed(payload) {
		return payload
	}
	f.listed = append(f.listed[:0], payload...)
	return f.listed
}

package ob1

import (
	"fmt"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/pml"
)

// summaries say what happens by each protocol.
var summaries = [protoCount]string{
	protoInline:   "header and data in one message, copied at once",
	protoEager:    "header and data in one fragment (MATCH), kept by the receiver until it has matched",
	protoRndv:     "RNDV, ACK when the receiver has matched, then fragments (FRAG)",
	protoRget:     "RGET; the receiver reads the sender's memory and says FIN",
	protoPut:      "RNDV; the receiver names its memory (PUT), the sender writes it and says DONE",
	protoPipeline: "RNDV; the beginning in fragments (ACK, FRAG) while the receiver registers pieces, each named by PUT, written, answered by DONE",
	protoCoop:     "RGET; receiver and sender copy a part each, the receiver says FIN",
}

// Explain implements pml.Explainer. It asks the same functions as a send does.
func (component) Explain(p *mca.Params, size int64, contiguous bool, way *btl.Description) (*pml.Explanation, error) {
	var opt Options
	if err := p.Decode("pml", "ob1", &opt); err != nil {
		return nil, err
	}
	var can ability
	for b, is := range map[ability]bool{canInline: way.MaxInline >= 0, canGet: way.Get, canPut: way.Put, canRegister: way.Register} {
		if is {
			can |= b
		}
	}
	extra := int64(0)
	if opt.Checksum {
		extra = extSize
	}
	l := limitsFrom(&way.Limits, int64(way.MaxInline), can, extra, protocolOf(opt.Protocol))
	q := &query{size: size, contiguous: contiguous || size == 0}
	chosen, why := decide(q, &l)
	x := &pml.Explanation{Protocol: chosen.String(), Summary: summaries[chosen]}
	step := func(p protocol, text string) {
		x.Steps = append(x.Steps, pml.Step{Protocol: p.String(), Chosen: p == chosen, Reason: text})
	}
	if l.wish == protoAuto {
		for _, p := range best {
			step(p, detail(p, q, &l))
			if p == chosen {
				break
			}
		}
		return x, nil
	}
	if why == suits && chosen != l.wish {
		step(l.wish, bar(l.wish, q, &l).String()+"; pml_ob1_protocol is not about such messages")
	}
	for p := l.wish; why != suits && p != chosen; p = nearest[p] {
		step(p, detail(p, q, &l))
	}
	text := fmt.Sprintf("pml_ob1_protocol is %s", l.wish)
	if chosen != l.wish {
		text += ", and this is the nearest that is possible"
	}
	step(chosen, text)
	return x, nil
}

// detail is what bars a message from a protocol, with the limit that does.
func detail(p protocol, q *query, l *limits) string {
	r := bar(p, q, l)
	switch {
	case r == suits && p == protoRndv:
		return "always possible, and nothing better is"
	case r == suits:
		return "possible, and the best of what is"
	case r == tooLong && p == protoInline:
		return fmt.Sprintf("%s: %d bytes", r, l.inline)
	case r == tooLong:
		return fmt.Sprintf("%s: %d bytes without headers", r, l.eager)
	case r == tooShort && l.shared > 0:
		return fmt.Sprintf("%s: from %d bytes on", r, l.shared)
	case r == belowLimit:
		return fmt.Sprintf("%s: %d bytes", r, map[protocol]int64{protoRget: l.get, protoCoop: l.get, protoPut: l.put, protoPipeline: l.pipeline}[p])
	}
	return r.String()
}

var _ pml.Explainer = component{}

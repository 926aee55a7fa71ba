package ob1

import (
	"fmt"
	"strings"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
)

// The transcript's words for frames, statuses and counters.

// frameText makes a line of the scripted BTL's log readable.
func frameText(line string) string {
	var from, to, tag, n int
	var kind string
	var h []byte
	if _, err := fmt.Sscanf(line, "%d->%d %s tag %v header %x payload %d", &from, &to, &kind, &tag, &h, &n); err != nil {
		return line // memory read
	}
	s := fmt.Sprintf("%d->%d ", from, to)
	load := ""
	if n > 0 {
		load = fmt.Sprintf(" +%d", n)
	}
	if kind == "inline" {
		load += " inline"
	}
	frame := int(btl.Tag(tag) - btl.TagPML)
	if h[0] != byte(frame) {
		return fmt.Sprintf("%sheader says type %d, tag says %d", s, h[0], frame)
	}
	if frame&extended != 0 && len(h) > extSize {
		e, ok := parseExt(h[len(h)-extSize:])
		if !ok {
			return line
		}
		h, frame = h[:len(h)-extSize], frame&^extended
		load += " " + e.arch.String()
		if e.summed {
			load += fmt.Sprintf(" sum %08x", e.sum)
		}
	}
	m := func(name string) string {
		x := parseMatch(h)
		s += fmt.Sprintf("%s context %d source %d tag %d seq %d", name, x.ctx, x.source, x.tag, x.seq)
		if x.flags != 0 {
			s += fmt.Sprintf(" flags %d", x.flags)
		}
		return s
	}
	switch frame {
	case typeMatch:
		return m("MATCH") + load
	case typeRndv, typeRget:
		s = m([]string{typeRndv: "RNDV", typeRget: "RGET"}[frame])
		x := parseRndv(h)
		s += fmt.Sprintf(" length %d send %s", x.length, idText(x.sendID))
		if frame == typeRget {
			s += fmt.Sprintf(" memory %d/%d", x.handle.A, x.handle.B)
		}
		return s + load
	case typeAck:
		a := parseAck(h)
		if a.flags != 0 {
			load += fmt.Sprintf(" flags %d", a.flags)
		}
		return fmt.Sprintf("%sACK send %s receive %s offset %d length %d%s", s, idText(a.sendID), idText(a.recvID), a.offset, a.length, load)
	case typeFrag:
		id, off := parseFrag(h)
		return fmt.Sprintf("%sFRAG receive %s offset %d%s", s, idText(id), off, load)
	case typePut:
		a := parsePut(h)
		if a.flags != 0 {
			load += fmt.Sprintf(" flags %d", a.flags)
		}
		return fmt.Sprintf("%sPUT send %s receive %s offset %d length %d memory %d/%d%s", s, idText(a.sendID), idText(a.recvID), a.offset, a.length, a.handle.A, a.handle.B, load)
	case typeDone:
		d := parseDone(h)
		if d.flags != 0 {
			load += fmt.Sprintf(" flags %d", d.flags)
		}
		if d.sum != 0 {
			load += fmt.Sprintf(" sum %08x", d.sum)
		}
		return fmt.Sprintf("%sDONE receive %s offset %d length %d%s", s, idText(d.recvID), d.offset, d.length, load)
	case typeCredit:
		ctx, granted := parseCredit(h)
		if ctx != anyContext {
			load += fmt.Sprintf(" for context %d", ctx)
		}
		return fmt.Sprintf("%sCREDIT granted %d%s", s, granted, load)
	case typeStarve:
		ctx, source, granted := parseStarve(h)
		return fmt.Sprintf("%sSTARVE context %d source %d granted %d%s", s, ctx, source, granted, load)
	case typeFin:
		id, n := parseFin(h)
		return fmt.Sprintf("%sFIN send %s bytes %d%s", s, idText(id), n, load)
	}
	return line
}

// idText is a request's name: index.generation, "-" for none.
func idText(id uint64) string {
	if id == 0 {
		return "-"
	}
	return fmt.Sprintf("%d.%d", id>>32, uint32(id))
}

func statusText(st core.Status) string {
	return fmt.Sprintf("source %d tag %d bytes %d", st.Source, st.Tag, st.Bytes())
}

func statsText(s Stats) string {
	var out []string
	add := func(name string, n uint64) {
		if n != 0 {
			out = append(out, fmt.Sprintf("%s %d", name, n))
		}
	}
	for p := range protoCount {
		add("sent "+p.String(), s.Sent[p])
		add("received "+p.String(), s.Received[p])
	}
	add("matches", s.Matches)
	add("unexpected", s.Unexpected)
	add("out of sequence", s.OutOfSequence)
	add("stray", s.Stray)
	add("refused", s.Refused)
	add("retries", s.Retries)
	add("copy fallback", s.CopyFallback)
	add("overruled", s.Overruled)
	add("checksum errors", s.ChecksumErrors)
	return strings.Join(out, ", ")
}

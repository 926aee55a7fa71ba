package portals4

// triggered is an operation that waits for a counting event. It is made of what the caller gave; memory is read when it begins.
type triggered struct {
	threshold, order uint64
	kind             trigKind
	md               *MDHandle
	t                Transfer
	into             Into
	op               AtomicOp
	typ              Type
	operand          [16]byte
	operandLen       uint8
	ct               *CT
	v                CTEvent
}

type trigKind uint8

const (
	trigPut trigKind = iota
	trigGet
	trigAtomic
	trigFetch
	trigSwap
	trigInc
	trigSet
)

func (t *triggered) before(o *triggered) bool {
	return t.threshold < o.threshold || t.threshold == o.threshold && t.order < o.order
}

// arm enqueues an operation, or has it begin when the value is there: nothing comes between the look and the enqueueing, since the caller holds the
// token.
func (c *CT) arm(op string, threshold uint64) (*triggered, error) {
	ni := c.ni
	if ni.triggered >= ni.limits.MaxTriggeredOps {
		return nil, fail(op, ErrNoSpace, "all %d triggered operations wait already (max_triggered_ops)", ni.limits.MaxTriggeredOps)
	}
	ni.triggered++
	i := ni.i
	var t *triggered
	if n := len(i.trigs); n > 0 {
		t, i.trigs = i.trigs[n-1], i.trigs[:n-1]
	} else {
		t = new(triggered)
	}
	i.orders++
	t.threshold, t.order = threshold, i.orders
	return t, nil
}

// armed puts t, now complete, into its place.
func (c *CT) armed(t *triggered) {
	c.trig = append(c.trig, t)
	for k := len(c.trig) - 1; k > 0; { // up
		p := (k - 1) / 2
		if !c.trig[k].before(c.trig[p]) {
			break
		}
		c.trig[k], c.trig[p] = c.trig[p], c.trig[k]
		k = p
	}
	if t.threshold <= c.sum() {
		c.fire()
	}
}

// fire moves what the value has reached to the operations that begin, in order of threshold. They begin when the operation that counted is through
// (Interface.settle), so that chains do not recurse.
func (c *CT) fire() {
	for len(c.trig) > 0 && c.trig[0].threshold <= c.sum() {
		i := c.ni.i
		i.fired = append(i.fired, c.pop())
		c.ni.triggered--
	}
}

func (c *CT) pop() *triggered {
	h := c.trig
	t, n := h[0], len(h)-1
	h[0], h[n] = h[n], nil
	h = h[:n]
	for k := 0; ; {
		l := 2*k + 1
		if l >= n {
			break
		}
		if l+1 < n && h[l+1].before(h[l]) {
			l++
		}
		if !h[l].before(h[k]) {
			break
		}
		h[k], h[l] = h[l], h[k]
		k = l
	}
	c.trig = h
	return t
}

// cancel drops what waits.
func (c *CT) cancel() {
	for k, t := range c.trig {
		c.ni.i.recycle(t)
		c.trig[k] = nil
		c.ni.triggered--
	}
	c.trig = c.trig[:0]
}

func (i *Interface) recycle(t *triggered) {
	if t.md != nil {
		t.md.armed--
	}
	if t.into.MD != nil && t.into.MD != t.md {
		t.into.MD.armed--
	}
	*t = triggered{}
	i.trigs = append(i.trigs, t)
}

// begin carries a triggered operation out. What goes wrong now is no error of a call any more: it becomes an event.
func (i *Interface) begin(t *triggered) {
	switch t.kind {
	case trigInc:
		if !t.ct.freed {
			t.ct.add(t.v)
		}
	case trigSet:
		if !t.ct.freed {
			t.ct.v = t.v
			t.ct.changed()
		}
	case trigPut:
		if t.md.put(&t.t) != nil {
			t.md.sent(t.t.UserPtr, t.t.Length, Undeliverable)
		}
	case trigGet:
		if t.md.get(&t.t) != nil {
			t.md.answered(EventReply, true, t.t.UserPtr, &result{fail: Undeliverable}, t.t.Length)
		}
	case trigAtomic:
		if t.md.atomic(&t.t, t.op, t.typ) != nil {
			t.md.sent(t.t.UserPtr, t.t.Length, Undeliverable)
		}
	case trigFetch, trigSwap:
		if t.md.fetch(&t.t, &t.into, t.operand[:t.operandLen], t.op, t.typ) != nil {
			t.md.sent(t.t.UserPtr, t.t.Length, Undeliverable)
			t.into.MD.answered(EventReply, true, t.t.UserPtr, &result{fail: Undeliverable}, t.t.Length)
		}
	}
	i.recycle(t)
}

// TriggeredPut, and the others, are the operations of the same name that begin when success and failure of trig together reach threshold; at
// once if they have. What is armed keeps its memory descriptors in use. Memory is read when the operation begins.
func (md *MDHandle) TriggeredPut(t *Transfer, trig *CT, threshold uint64) error {
	return md.trigger("PtlTriggeredPut", t, nil, trig, threshold, trigPut, 0, 0, nil)
}

// TriggeredGet: see TriggeredPut.
func (md *MDHandle) TriggeredGet(t *Transfer, trig *CT, threshold uint64) error {
	return md.trigger("PtlTriggeredGet", t, nil, trig, threshold, trigGet, 0, 0, nil)
}

// TriggeredAtomic: see TriggeredPut.
func (md *MDHandle) TriggeredAtomic(t *Transfer, op AtomicOp, typ Type, trig *CT, threshold uint64) error {
	return md.trigger("PtlTriggeredAtomic", t, nil, trig, threshold, trigAtomic, op, typ, nil)
}

// TriggeredFetchAtomic: see TriggeredPut.
func (md *MDHandle) TriggeredFetchAtomic(t *Transfer, into *Into, op AtomicOp, typ Type, trig *CT, threshold uint64) error {
	return md.trigger("PtlTriggeredFetchAtomic", t, into, trig, threshold, trigFetch, op, typ, nil)
}

// TriggeredSwap: see TriggeredPut. The operand is read in the call.
func (md *MDHandle) TriggeredSwap(t *Transfer, into *Into, operand []byte, op AtomicOp, typ Type, trig *CT, threshold uint64) error {
	return md.trigger("PtlTriggeredSwap", t, into, trig, threshold, trigSwap, op, typ, operand)
}

func (md *MDHandle) trigger(name string, t *Transfer, into *Into, trig *CT, threshold uint64, kind trigKind, op AtomicOp, typ Type, operand []byte) error {
	i, err := md.enter(name)
	if err != nil {
		return err
	}
	defer i.leave()
	switch kind {
	case trigPut:
		_, _, err = md.checkPut(name, t)
	case trigGet:
		_, _, err = md.checkGet(name, t)
	case trigAtomic:
		_, _, err = md.checkAtomic(name, t, op, typ)
	default:
		if (kind == trigSwap) != swaps(op) {
			return bad(name, "operation %d belongs to the other of swap and fetch", op)
		}
		_, _, err = md.checkFetch(name, t, into, operand, op, typ)
	}
	if err != nil {
		return err
	}
	if trig == nil || trig.freed || trig.ni != md.ni {
		return bad(name, "the counting event that triggers is none of this interface")
	}
	w, err := trig.arm(name, threshold)
	if err != nil {
		return err
	}
	w.kind, w.md, w.t, w.op, w.typ = kind, md, *t, op, typ
	md.armed++
	if into != nil {
		w.into = *into
		if into.MD != md {
			into.MD.armed++
		}
	}
	w.operandLen = uint8(copy(w.operand[:], operand))
	trig.armed(w)
	return nil
}

// TriggeredInc has c grow by v when success and failure of trig together reach threshold.
func (c *CT) TriggeredInc(v CTEvent, trig *CT, threshold uint64) error {
	if v.Success != 0 && v.Failure != 0 {
		return bad("PtlTriggeredCTInc", "both success and failure are to grow")
	}
	return c.triggerCT("PtlTriggeredCTInc", v, trig, threshold, trigInc)
}

// TriggeredSet sets c to v then.
func (c *CT) TriggeredSet(v CTEvent, trig *CT, threshold uint64) error {
	return c.triggerCT("PtlTriggeredCTSet", v, trig, threshold, trigSet)
}

func (c *CT) triggerCT(name string, v CTEvent, trig *CT, threshold uint64, kind trigKind) error {
	i, err := c.enter(name)
	if err != nil {
		return err
	}
	defer i.leave()
	if trig == nil || trig.freed || trig.ni != c.ni {
		return bad(name, "the counting event that triggers is none of this interface")
	}
	w, err := trig.arm(name, threshold)
	if err != nil {
		return err
	}
	w.kind, w.ct, w.v = kind, c, v
	trig.armed(w)
	return nil
}

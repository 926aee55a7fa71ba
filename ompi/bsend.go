package ompi

import (
	"unsafe"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/pml"
	"github.com/ompi-go/ompi-go/progress"
)

// bsendBuffer is the instance's attached buffer (MPI-3.1 §3.6). Messages are packed into it and sent from there.
type bsendBuffer struct {
	mem    []byte
	blocks []*bsendBlock // ascending by offset
}

// bsendBlock is a message in the buffer.
type bsendBlock struct {
	off, n int
	done   progress.Completion
	inst   *Instance
}

// RequestDone implements core.Hook: the message has left.
func (b *bsendBlock) RequestDone(r *core.Request) { b.inst.engine.Complete(&b.done) }

// sweep forgets blocks whose messages have left. The instance's mutex is held.
func (b *bsendBuffer) sweep() {
	rest := b.blocks[:0]
	for _, x := range b.blocks {
		if !x.done.Done() {
			rest = append(rest, x)
		}
	}
	clear(b.blocks[len(rest):])
	b.blocks = rest
}

// take finds n bytes, first fit. The instance's mutex is held.
func (b *bsendBuffer) take(i *Instance, n int) *bsendBlock {
	at := 0
	k := 0
	for ; k < len(b.blocks); k++ {
		if b.blocks[k].off-at >= n {
			break
		}
		at = b.blocks[k].off + b.blocks[k].n
	}
	if len(b.mem)-at < n {
		return nil
	}
	x := &bsendBlock{off: at, n: n, inst: i}
	b.blocks = append(b.blocks, nil)
	copy(b.blocks[k+1:], b.blocks[k:])
	b.blocks[k] = x
	return x
}

// AttachBuffer gives the instance memory for buffered sends; it is the instance's until DetachBuffer.
func (i *Instance) AttachBuffer(b []byte) error {
	return i.call("Buffer_attach", func() error { return i.attach(b) })
}

func (i *Instance) attach(b []byte) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.bsend.mem != nil {
		return core.NewError(ErrBuffer, "a buffer is attached already")
	}
	if b == nil {
		b = []byte{}
	}
	i.bsend.mem = b
	return nil
}

// FlushBuffer waits until all messages that are in the attached buffer now have left (MPI 4.1 §3.6).
func (i *Instance) FlushBuffer() error {
	return i.call("Buffer_flush", func() error {
		i.mu.Lock()
		blocks := append([]*bsendBlock(nil), i.bsend.blocks...)
		i.mu.Unlock()
		for _, b := range blocks {
			i.engine.Wait(&b.done)
		}
		return nil
	})
}

// DetachBuffer waits until all buffered messages have left and gives the memory back.
func (i *Instance) DetachBuffer() (mem []byte, err error) {
	err = i.call("Buffer_detach", func() error {
		mem, err = i.detach()
		return err
	})
	return mem, err
}

func (i *Instance) detach() ([]byte, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for i.bsend.sweep(); len(i.bsend.blocks) > 0; i.bsend.sweep() {
		b := i.bsend.blocks[0]
		i.mu.Unlock()
		i.engine.Wait(&b.done)
		i.mu.Lock()
	}
	if i.bsend.mem == nil {
		return nil, core.NewError(ErrBuffer, "no buffer is attached")
	}
	mem := i.bsend.mem
	i.bsend = bsendBuffer{}
	return mem, nil
}

// Bsend sends from the attached buffer and returns at once (MPI-3.1 §3.4); ErrBuffer when there is no room.
func (c *Comm) Bsend(buf Buffer, dest, tag int) error {
	const op = "Bsend"
	if c.seen() {
		return c.call(op, dest, buf.Bytes(), func() error { return c.bsend(op, buf, dest, tag) })
	}
	return c.bsend(op, buf, dest, tag)
}

func (c *Comm) bsend(op string, buf Buffer, dest, tag int) error {
	if err := c.checkSend(op, buf, dest, tag); err != nil {
		return c.refuse(op, err)
	}
	if dest == ProcNull {
		return nil
	}
	return c.outcome(op, c.buffered(buf, dest, tag))
}

// Ibsend is Bsend as a request, which is complete from the start.
func (c *Comm) Ibsend(buf Buffer, dest, tag int) Request {
	const op = "Ibsend"
	start := func() Request {
		if err := c.bsend(op, buf, dest, tag); err != nil {
			return failedRequest(c, op, err)
		}
		return doneRequest(c, op, core.EmptyStatus())
	}
	if c.seen() {
		return observedStart(c, op, dest, buf.Bytes(), start)
	}
	return start()
}

// buffered packs buf into the attached buffer and sends it from there.
func (c *Comm) buffered(buf Buffer, dest, tag int) error {
	i, n := c.inst, int(buf.Bytes())
	poll(i.engine)
	i.mu.Lock()
	i.bsend.sweep()
	b := i.bsend.take(i, n)
	free := len(i.bsend.mem)
	var mem []byte
	if b != nil {
		mem = i.bsend.mem[b.off : b.off+n]
	}
	i.mu.Unlock()
	if b == nil {
		return core.NewError(ErrBuffer, "no %d bytes are free in the attached buffer of %d; attach a larger one (Instance.AttachBuffer)", n, free)
	}
	packInto(mem, buf)
	out := packedBuffer(mem, buf)
	r := c.pml.Isend(&c.c.P2P, out, dest, tag, pml.Standard)
	h := r.Handle()
	i.engine.Lock()
	over := r.Done()
	if over {
		i.engine.Complete(&b.done)
	} else {
		r.Hook = b
	}
	i.engine.Unlock()
	if over {
		st, _ := h.Take()
		return st.Err
	}
	i.engine.Lock()
	h.Abandon()
	i.engine.Unlock()
	return nil
}

func packInto(mem []byte, buf Buffer) {
	if len(mem) == 0 {
		return
	}
	var conv datatype.Convertor
	conv.Prepare(buf.Type(), buf.Count(), buf.Addr())
	conv.Pack(mem)
}

// packedCopy is buf's data in memory of its own.
func packedCopy(buf Buffer) Buffer {
	mem := make([]byte, buf.Bytes())
	packInto(mem, buf)
	return packedBuffer(mem, buf)
}

// packedBuffer describes buf's data as packInto has put them into mem: still as its elements, not as bytes, for the sake of
// receivers of another architecture.
func packedBuffer(mem []byte, buf Buffer) Buffer {
	if len(mem) == 0 {
		return core.MakeBuffer(nil, 0, datatype.Byte)
	}
	return core.MakeBuffer(unsafe.Pointer(unsafe.SliceData(mem)), int64(len(mem)), buf.Type().Stream())
}

// BsendInit makes a persistent Bsend.
func (c *Comm) BsendInit(buf Buffer, dest, tag int) Request {
	if c.seen() {
		return observedStart(c, "Bsend_init", dest, buf.Bytes(), func() Request { return c.bsendInit(buf, dest, tag) })
	}
	return c.bsendInit(buf, dest, tag)
}

func (c *Comm) bsendInit(buf Buffer, dest, tag int) Request {
	const op = "Bsend_init"
	if err := c.checkSend(op, buf, dest, tag); err != nil {
		return c.refused(op, err)
	}
	r := loneRequest(c, op, &bsendOp{c: c, buf: buf, dest: dest, tag: tag})
	r.Persistent = true
	return Request{r.Handle(), c}
}

// bsendOp owns a persistent Bsend.
type bsendOp struct {
	c         *Comm
	buf       Buffer
	dest, tag int
}

// Start implements core.Operation.
func (o *bsendOp) Start(r *core.Request) error {
	r.Reset()
	r.SetActive(true)
	r.Status = core.EmptyStatus()
	var err error
	if o.dest != ProcNull {
		r.Engine.Unlock() // a buffered send takes the token itself
		err = o.c.buffered(o.buf, o.dest, o.tag)
		r.Engine.Lock()
	}
	r.Status.Err = err
	r.Finish()
	return nil
}

// Cancel implements core.Operation.
func (o *bsendOp) Cancel(*core.Request) error { return nil }

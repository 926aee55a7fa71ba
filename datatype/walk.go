package datatype

// walkDepth is how many loops around the current run a walk remembers. Deeper nests work, too: when the remembered ones are
// done, the walk finds its place again from the packed position.
const walkDepth = 8

// walk goes through the runs of a loop in packed order. It lives on the caller's stack during one call of a convertor; between
// calls the position alone says where we are.
type walk struct {
	depth  int // frames in use, at least 1 after seek
	frames [walkDepth]frame
}

// frame is one iteration of one loop. It holds no pointer to the loop itself, only to what the heap has anyway: a convertor's
// root stored here would make the compiler move every convertor to the heap.
type frame struct {
	body   *body
	stride int64 // from iteration to iteration
	disp   int64 // the iteration's origin
	left   int64 // iterations after this one
	next   int   // op of the body we are at
}

// seek goes to byte pos of the loop root and returns how much of the run it is in lies before it. It needs one division and one
// binary search a level.
func (w *walk) seek(root *op, pos int64) int64 {
	w.depth = 0
	o, disp := root, int64(0)
	for {
		var iter int64
		if pos >= o.size {
			iter = pos / o.size
			pos -= iter * o.size
		}
		disp += o.disp + iter*o.stride
		ops := o.body.ops
		i := find(ops, pos)
		w.push(frame{o.body, o.stride, disp, o.count - 1 - iter, i})
		o = &ops[i]
		pos -= o.off
		if o.body == nil {
			return pos
		}
	}
}

// find is the op that holds byte pos of its body.
func find(ops []op, pos int64) int {
	lo, hi := 0, len(ops)-1
	for lo < hi {
		mid := int(uint(lo+hi+1) >> 1)
		if ops[mid].off <= pos {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	return lo
}

func (w *walk) push(f frame) {
	if w.depth == walkDepth {
		// Forget the outermost. The built-in copy would, again, count as an escape.
		for i := 1; i < walkDepth; i++ {
			w.frames[i-1] = w.frames[i]
		}
		w.depth--
	}
	w.frames[w.depth] = f
	w.depth++
}

// runs gives the current run and those directly after it, and the origin of their displacements.
func (w *walk) runs() ([]op, int64) {
	f := &w.frames[w.depth-1]
	ops := f.body.ops[f.next:]
	return ops[:ops[0].runs], f.disp
}

// advance leaves n runs behind; pos is the packed position after them and not the end of root.
func (w *walk) advance(n int, root *op, pos int64) {
	w.frames[w.depth-1].next += n
	for {
		f := &w.frames[w.depth-1]
		switch ops := f.body.ops; {
		case f.next < len(ops):
			o := &ops[f.next]
			if o.body == nil {
				return
			}
			w.push(frame{o.body, o.stride, f.disp + o.disp, o.count - 1, 0})
		case f.left > 0:
			f.left--
			f.disp += f.stride
			f.next = 0
		case w.depth > 1:
			w.depth--
			w.frames[w.depth-1].next++
		default:
			w.seek(root, pos)
			return
		}
	}
}

// whole tells how many iterations of the current loop, from the beginning of the current one on, fit into n bytes when they may
// be moved together, as a plane or column by column: 0 when we are inside one or that would not pay.
func (w *walk) whole(n int64) int64 {
	f := &w.frames[w.depth-1]
	if f.next != 0 || !(f.body.columns || f.body.plane) || n < minColumn*f.body.size {
		return 0
	}
	if k := min(f.left+1, n/f.body.size); k >= minColumn {
		return k
	}
	return 0
}

// skip leaves k whole iterations behind, not beyond the end of the loop, and then as advance.
func (w *walk) skip(k int64, root *op, pos int64) {
	f := &w.frames[w.depth-1]
	if k <= f.left {
		f.left -= k
		f.disp += k * f.stride
		return
	}
	f.left = 0
	w.advance(len(f.body.ops), root, pos)
}

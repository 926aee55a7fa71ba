package progress

import "golang.org/x/sys/unix"

// Spread places the calling thread on the i-th usable core, counted round, and leaves it free to move on; ranks of a host give
// their position among each other. It is for processes that outnumber the cores and poll: they all look busy from the start, so
// it takes the kernel tens of milliseconds to find out that one core has more of them than another, and all wait for the rank
// that comes last. Elsewhere, and where a rank is bound already, it does nothing.
func (e *Engine) Spread(i int) {
	if e.mode != idleYield {
		return
	}
	var usable, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &usable); err != nil || usable.Count() < 2 {
		return // it is a hint: without it things only start more slowly
	}
	i %= usable.Count()
	for cpu := 0; ; cpu++ {
		if !usable.IsSet(cpu) {
			continue
		}
		if i == 0 {
			one.Set(cpu)
			break
		}
		i--
	}
	if unix.SchedSetaffinity(0, &one) == nil {
		_ = unix.SchedSetaffinity(0, &usable) // what was its own set a moment ago
	}
}

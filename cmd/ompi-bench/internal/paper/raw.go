package paper

import (
	"errors"
	"fmt"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ompi-go/ompi-go/unimem"
)

// The raw hardware model, without any MPI: two devices in shared memory, used by two threads.

// rawValues are microseconds, and MB/s by size.
type rawValues struct {
	mailbox float64
	sizes   []int64
	latency []float64
	bw      []float64
}

func (r rawValues) enter(v values) {
	for size := int64(0); size <= 16; size = max(1, 2*size) { // what a message holds, powers of two as elsewhere
		v.add("latency", rawMailbox, size, r.mailbox)
	}
	for i, size := range r.sizes {
		v.add("latency", rawDMA, size, r.latency[i])
		v.add("bw", rawDMA, size, r.bw[i])
	}
}

const rawMost = 4 << 20

func measureRaw() (r rawValues, err error) {
	cfg := unimem.Config{Peers: 2, Slots: 256, Memory: 2 * rawMost, Routes: 16, Burst: 2 * rawMost}
	var dev [2]*unimem.Device
	var base [2]unsafe.Pointer
	for i := range dev {
		mem, err := unix.Mmap(-1, 0, int(cfg.Size()), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANONYMOUS)
		if err != nil {
			return r, fmt.Errorf("memory of %d bytes: %w", cfg.Size(), err)
		}
		defer func() { err = errors.Join(err, unix.Munmap(mem)) }()
		base[i] = unsafe.Pointer(&mem[0])
		if dev[i], err = unimem.New(base[i], cfg); err != nil {
			return r, err
		}
	}
	to1, to0 := dev[0].Connect(base[1], cfg, 0, 1), dev[1].Connect(base[0], cfg, 1, 0)
	if r.mailbox, err = mailbox(to1, to0); err != nil {
		return r, err
	}
	err = r.dma(dev[0], dev[1], to1)
	return r, err
}

// mailbox is the ping-pong of one message, in microseconds one way.
func mailbox(a, b *unimem.Peer) (float64, error) {
	const rounds, patience = 20000, 20 * time.Second
	deadline := time.Now().Add(patience)
	take := func(p *unimem.Peer) bool {
		var m unimem.Message
		for n := 1; !p.In.Take(&m); n++ {
			if n%1024 == 0 {
				if time.Now().After(deadline) {
					return false
				}
				runtime.Gosched()
			}
		}
		for !p.Out.Room(1) {
			if time.Now().After(deadline) {
				return false
			}
		}
		return true
	}
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for range rounds {
			if !take(b) {
				return
			}
			b.Out.Put(&unimem.Message{1, 2, 3})
		}
	}()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := time.Now()
	for range rounds {
		a.Out.Put(&unimem.Message{1, 2, 3})
		if !take(a) {
			return 0, fmt.Errorf("mailbox messages did not come back within %v", patience)
		}
	}
	return time.Since(start).Seconds() * 1e6 / (2 * rounds), nil
}

// dma writes from one device's memory to the other's, with the registration made before.
func (r *rawValues) dma(from, to *unimem.Device, peer *unimem.Peer) error {
	src, err := from.Alloc(rawMost)
	if err != nil {
		return err
	}
	dst, err := to.Alloc(rawMost)
	if err != nil {
		return err
	}
	route, err := from.Register(peer, dst, rawMost)
	if err != nil {
		return err
	}
	here := unsafe.Slice((*byte)(from.At(src)), rawMost)
	for i := range here {
		here[i] = byte(i)
	}
	for size := int64(1); size <= rawMost; size *= 2 {
		t := &unimem.Transfer{Route: route, Local: from.At(src), Remote: dst, N: size, Write: true}
		if err := from.Do(t); err != nil { // makes the pages exist
			return err
		}
		n := int(min(2000, max(8, (32<<20)/size)))
		start := time.Now()
		for range n {
			if err := from.Do(t); err != nil {
				return err
			}
		}
		seconds := time.Since(start).Seconds() / float64(n)
		r.sizes = append(r.sizes, size)
		r.latency = append(r.latency, seconds*1e6)
		r.bw = append(r.bw, float64(size)/seconds/1e6)
	}
	if there := unsafe.Slice((*byte)(to.At(dst)), rawMost); there[rawMost-1] != here[rawMost-1] {
		return errors.New("DMA gave wrong data")
	}
	return nil
}

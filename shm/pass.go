package shm

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Where /proc/<pid>/fd is refused (execute-only binaries, PR_SET_DUMPABLE 0), a rank asks for the segment over an abstract unix
// socket and gets the descriptor as SCM_RIGHTS. Anybody on the host can connect to such a socket; the kernel vouches for the user
// and the process at the other end (SO_PEERCRED). The asker shows a token made from the job's secret, and the owner's process must be that
// of its card. A rank may have changed its user, so others than this one's are heard, too, but cannot keep anybody else waiting.

// passer serves this rank's segment, and its Memory, to its peers. Each asker has a goroutine, so that one that says nothing holds up nobody.
type passer struct {
	ln     *net.UnixListener
	stop   context.CancelFunc
	slots  chan struct{} // one for each asker of this user that is served; the next wait in the socket's backlog
	guests chan struct{} // one for each of another user; the next are sent away
	wg     sync.WaitGroup
}

const (
	passTimeout  = 10 * time.Second // for an exchange, at either end
	guestTimeout = time.Second      // for another user to say who he is
	passAtOnce   = 64
	guestsAtOnce = 16
)

func (d *Domain) passName(rank int) string {
	return fmt.Sprintf("@ompi-go/%s/%d/%s", d.job.ID(), rank, d.called("segment"))
}

// passToken is what rank asker shows to rank owner: its number, then a MAC.
func (d *Domain) passToken(asker, owner int) []byte {
	secret := d.job.Secret()
	b := binary.LittleEndian.AppendUint32(nil, uint32(asker))
	m := hmac.New(sha256.New, secret[:])
	fmt.Fprintf(m, "ompi-go shm %s %s %d for %d", d.called("segment"), d.job.ID(), owner, asker)
	return m.Sum(b)
}

const tokenSize = 4 + sha256.Size

func newPasser(d *Domain) (*passer, error) {
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: d.passName(d.job.Rank()), Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("shm: listening for peers: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	p := &passer{ln: ln, stop: stop, slots: make(chan struct{}, passAtOnce), guests: make(chan struct{}, guestsAtOnce)}
	p.wg.Go(func() { p.accept(ctx, d) })
	return p, nil
}

func (p *passer) accept(ctx context.Context, d *Domain) {
	for {
		c, err := p.ln.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(10 * time.Millisecond) // out of descriptors: a peer may give some back
			continue
		}
		slots, within := p.slots, passTimeout
		if !ofThisUser(c) {
			if slots, within = p.guests, guestTimeout; len(slots) == cap(slots) {
				c.Close()
				continue
			}
		}
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			c.Close()
			return
		}
		p.wg.Go(func() {
			defer func() { <-slots }()
			defer c.Close()
			_ = c.SetReadDeadline(time.Now().Add(within)) // the answer fits into any socket
			defer context.AfterFunc(ctx, func() { _ = c.SetReadDeadline(time.Unix(1, 0)) })()
			d.serve(c)
		})
	}
}

func (p *passer) close() {
	p.ln.Close()
	p.stop()
	p.wg.Wait()
}

// ofThisUser reports whether the process at the other end runs as the same user as this one, or as root, who may do anything anyway.
func ofThisUser(c *net.UnixConn) bool {
	cred, err := peerOf(c)
	return err == nil && (cred.Uid == 0 || int(cred.Uid) == os.Geteuid())
}

func peerOf(c *net.UnixConn) (cred *unix.Ucred, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	if e := raw.Control(func(fd uintptr) { cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); e != nil {
		return nil, e
	}
	return cred, err
}

// serve answers one asker; whoever does not prove itself gets nothing.
func (d *Domain) serve(c *net.UnixConn) {
	var b [tokenSize]byte
	if _, err := io.ReadFull(c, b[:]); err != nil {
		return
	}
	first := binary.LittleEndian.Uint32(b[:])
	asker, fd := int(first&^wantsMemory), d.seg.fd
	if first&wantsMemory == 0 {
		if !d.Shares(asker) || !hmac.Equal(b[:], d.passToken(asker, d.job.Rank())) {
			return
		}
	} else {
		var number [4]byte
		if _, err := io.ReadFull(c, number[:]); err != nil {
			return
		}
		k := binary.LittleEndian.Uint32(number[:])
		if !d.Shares(asker) || !hmac.Equal(b[:], d.memoryToken(asker, d.job.Rank(), k)) {
			return
		}
		var err error
		if fd, err = d.descriptorOf(k); err != nil {
			return
		}
		defer unix.Close(fd)
	}
	_, _, _ = c.WriteMsgUnix([]byte{1}, unix.UnixRights(fd), nil) // an asker that is gone needs no answer
}

// fetch asks rank, whose process is pid, for its segment.
func (d *Domain) fetch(rank, pid int) (int, error) {
	return d.ask(rank, pid, d.passToken(d.job.Rank(), rank))
}

// ask sends a request to rank, whose process is pid, and gives the descriptor that comes back.
func (d *Domain) ask(rank, pid int, request []byte) (int, error) {
	fail := func(err error) (int, error) { return -1, fmt.Errorf("asking for its memory over a socket: %w", err) }
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: d.passName(rank), Net: "unix"})
	if err != nil {
		return fail(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(passTimeout))
	cred, err := peerOf(conn)
	if err != nil {
		return fail(err)
	}
	if int(cred.Pid) != pid {
		return fail(fmt.Errorf("process %d answers where process %d should", cred.Pid, pid))
	}
	if _, err := conn.Write(request); err != nil {
		return fail(err)
	}
	var b [1]byte
	oob := make([]byte, unix.CmsgSpace(4))
	n, oobn, _, _, err := conn.ReadMsgUnix(b[:], oob)
	if err != nil {
		return fail(err)
	}
	if n != 1 || !bytes.Equal(b[:], []byte{1}) {
		return fail(errors.New("it refused"))
	}
	msgs, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil || len(msgs) != 1 {
		return fail(fmt.Errorf("no descriptor came (%v)", err))
	}
	fds, err := unix.ParseUnixRights(&msgs[0])
	if err != nil || len(fds) != 1 {
		for _, fd := range fds {
			unix.Close(fd)
		}
		return fail(fmt.Errorf("no descriptor came (%v)", err))
	}
	unix.CloseOnExec(fds[0])
	return fds[0], nil
}

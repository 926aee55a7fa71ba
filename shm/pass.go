package shm

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Where /proc/<pid>/fd is refused (execute-only binaries, PR_SET_DUMPABLE 0, another user), a rank asks for the segment over an
// abstract unix socket and gets the descriptor as SCM_RIGHTS. Both sides prove that they are of the job: the kernel vouches for
// the process id at the other end (SO_PEERCRED), which must be that of the rank's card, and the asker shows a token made from the
// job's secret.

// passer serves this rank's segment to its peers.
type passer struct {
	ln *net.UnixListener
	wg sync.WaitGroup
}

const passTimeout = 10 * time.Second

func (d *Domain) passName(rank int) string {
	return fmt.Sprintf("@ompi-go/%s/%d/segment", d.job.ID(), rank)
}

// passToken is what rank asker shows to rank owner: its number, then a MAC.
func (d *Domain) passToken(asker, owner int) []byte {
	secret := d.job.Secret()
	b := binary.LittleEndian.AppendUint32(nil, uint32(asker))
	m := hmac.New(sha256.New, secret[:])
	fmt.Fprintf(m, "ompi-go shm segment %s %d for %d", d.job.ID(), owner, asker)
	return m.Sum(b)
}

const tokenSize = 4 + sha256.Size

func newPasser(d *Domain) (*passer, error) {
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: d.passName(d.job.Rank()), Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("shm: listening for peers: %w", err)
	}
	p := &passer{ln: ln}
	p.wg.Add(1)
	go func() {
		defer p.wg.Done()
		for {
			c, err := ln.AcceptUnix()
			if err != nil {
				if errors.Is(err, net.ErrClosed) {
					return
				}
				time.Sleep(10 * time.Millisecond) // out of descriptors: a peer may give some back
				continue
			}
			d.serve(c)
		}
	}()
	return p, nil
}

func (p *passer) close() {
	p.ln.Close()
	p.wg.Wait()
}

// serve answers one asker; whoever does not prove itself gets nothing.
func (d *Domain) serve(c *net.UnixConn) {
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Second))
	var b [tokenSize]byte
	n, err := c.Read(b[:])
	if err != nil || n != tokenSize {
		return
	}
	asker := int(int32(binary.LittleEndian.Uint32(b[:])))
	if !d.Shares(asker) || !hmac.Equal(b[:], d.passToken(asker, d.job.Rank())) {
		return
	}
	_, _, _ = c.WriteMsgUnix([]byte{1}, unix.UnixRights(d.seg.fd), nil) // an asker that is gone needs no answer
}

// fetch asks rank, whose process is pid, for its segment.
func (d *Domain) fetch(rank, pid int) (int, error) {
	fail := func(err error) (int, error) { return -1, fmt.Errorf("asking for its segment over a socket: %w", err) }
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: d.passName(rank), Net: "unix"})
	if err != nil {
		return fail(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(passTimeout))
	raw, err := conn.SyscallConn()
	if err != nil {
		return fail(err)
	}
	var cred *unix.Ucred
	var credErr error
	if err := raw.Control(func(fd uintptr) { cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); err != nil {
		return fail(err)
	}
	if credErr != nil {
		return fail(credErr)
	}
	if int(cred.Pid) != pid {
		return fail(fmt.Errorf("process %d answers where process %d should", cred.Pid, pid))
	}
	if _, err := conn.Write(d.passToken(d.job.Rank(), rank)); err != nil {
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
		return fail(fmt.Errorf("no descriptor came (%v)", err))
	}
	unix.CloseOnExec(fds[0])
	return fds[0], nil
}

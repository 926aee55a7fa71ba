package shm

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// dial connects to rank 1's segment socket as anybody may.
func dial(t testing.TB, d *Domain) *net.UnixConn {
	t.Helper()
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: d.passName(1), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// TestSilentAskers: whoever connects and says nothing, or only a part, holds up neither the others nor Close.
func TestSilentAskers(t *testing.T) {
	d := pair(t, false, Options{Attach: "socket"})
	for i := range passAtOnce / 2 {
		c := dial(t, d[0])
		if i%2 == 0 {
			if _, err := c.Write(d[0].passToken(0, 1)[:tokenSize-1]); err != nil {
				t.Fatal(err)
			}
		}
	}
	begin := time.Now()
	fd, err := d[0].fetch(1, os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(fd)
	d[1].seg.pass.close()
	if took := time.Since(begin); took > passTimeout/2 {
		t.Errorf("it took %v", took)
	}
}

// TestAskersLimit: no more askers are served at once than there are slots; the others wait, and Close does not.
func TestAskersLimit(t *testing.T) {
	d := pair(t, false, Options{Attach: "socket"})
	first := dial(t, d[0])
	for range 2 * passAtOnce {
		dial(t, d[0])
	}
	p := d[1].seg.pass
	for deadline := time.Now().Add(passTimeout); len(p.slots) < passAtOnce; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d askers are served", len(p.slots))
		}
	}
	first.Close() // one of those served: the next gets its slot
	p.close()
	if len(p.slots) != 0 {
		t.Errorf("%d askers are served after Close", len(p.slots))
	}
}

// TestTokenInPieces: a token may come in pieces.
func TestTokenInPieces(t *testing.T) {
	d := pair(t, false, Options{Attach: "socket"})
	c := dial(t, d[0])
	for _, b := range d[0].passToken(0, 1) {
		if _, err := c.Write([]byte{b}); err != nil {
			t.Fatal(err)
		}
	}
	var b [1]byte
	if n, _, _, _, err := c.ReadMsgUnix(b[:], make([]byte, 64)); err != nil || n != 1 {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// strangerMain is another user's process, which keeps more connections open than it may, and says nothing on any. One that is
// turned away ends at once, the others after a while.
func strangerMain() {
	for range guestsAtOnce + 8 {
		c, err := net.Dial("unix", os.Getenv("SOCKET"))
		if err == nil {
			_, err = fmt.Println("connected", c.RemoteAddr())
		}
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	_, _ = os.Stdin.Read(make([]byte, 1)) // to the end
	os.Exit(0)
}

// TestOtherUser: another user's connections, however many, do not hold up an asker, and what he says must be right, too.
func TestOtherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can start a process of another user")
	}
	d := pair(t, false, Options{Attach: "socket"})
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), roleVar+"=stranger", "SOCKET="+d[0].passName(1), "GORACE=atexit_sleep_ms=0")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for i := range guestsAtOnce + 8 {
		if !lines.Scan() || !strings.HasPrefix(lines.Text(), "connected") {
			t.Fatalf("connection %d: %q", i, lines.Text())
		}
	}
	fd, err := d[0].fetch(1, os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(fd)
	p := d[1].seg.pass
	if n := len(p.guests); n > guestsAtOnce {
		t.Errorf("%d connections of another user are served", n)
	}
	p.close()
	if n := len(p.guests); n != 0 {
		t.Errorf("%d connections of another user are served after Close", n)
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

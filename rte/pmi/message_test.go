package pmi

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		line, cmd string
		multi     bool
		want      map[string]string
		absent    string
	}{
		{line: "cmd=init pmi_version=1 pmi_subversion=1\n", cmd: "init", want: map[string]string{"pmi_version": "1", "pmi_subversion": "1"}, absent: "rc"},
		{line: "rc=0 cmd=get_result value=a=b;c= msg=success", cmd: "get_result", want: map[string]string{"value": "a=b;c=", "rc": "0"}},
		{line: "  cmd=put   key=k value=\r\n", cmd: "put", want: map[string]string{"value": ""}},
		{line: "cmd=x stray key=1 key=2 cmd=y", cmd: "x", want: map[string]string{"key": "1"}, absent: "stray"},
		{line: "mcmd=spawn", cmd: "spawn", multi: true},
	} {
		m, err := Parse(c.line)
		if err != nil || m.Cmd != c.cmd || m.Multi != c.multi {
			t.Errorf("Parse(%q) = %+v, %v", c.line, m, err)
			continue
		}
		for k, v := range c.want {
			if got, ok := m.Get(k); !ok || got != v {
				t.Errorf("Parse(%q): %s=%q, %v, want %q", c.line, k, got, ok, v)
			}
		}
		if _, ok := m.Get(c.absent); ok {
			t.Errorf("Parse(%q) found %s", c.line, c.absent)
		}
	}
	for _, line := range []string{"", "\n", "key=value", "cmd=", "cmd=a\nb=c", "cmd=a\x00"} {
		if m, err := Parse(line); err == nil {
			t.Errorf("Parse(%q) = %+v, want an error", line, m)
		}
	}
}

func TestFailure(t *testing.T) {
	for line, bad := range map[string]bool{
		"cmd=r": false, "cmd=r rc=0": false, "cmd=r rc=1": true, "cmd=r rc=-1 msg=why": true, "cmd=r rc=x": true,
	} {
		m, err := Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.failure(); errors.Is(err, ErrRefused) != bad {
			t.Errorf("%q: failure = %v", line, err)
		}
	}
}

func TestAppendRefuses(t *testing.T) {
	for _, v := range []string{"a b", "a\nb", "\x00", "\x7f"} {
		if b, err := Append([]byte("x"), "put", "value", v); err == nil || string(b) != "x" {
			t.Errorf("Append of %q = %q, %v", v, b, err)
		}
	}
}

func TestReadLine(t *testing.T) {
	long := strings.Repeat("a", 5000)
	r := bufio.NewReader(strings.NewReader("one\n" + long + "\n\nrest"))
	for _, want := range []string{"one", long, ""} {
		if got, err := readLine(r); err != nil || got != want {
			t.Fatalf("readLine = %.20q, %v, want %.20q", got, err, want)
		}
	}
	if _, err := readLine(r); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("torn line: %v", err)
	}
	if _, err := readLine(bufio.NewReader(strings.NewReader(""))); !errors.Is(err, io.EOF) {
		t.Errorf("end: %v", err)
	}
	if _, err := readLine(bufio.NewReader(strings.NewReader(strings.Repeat("a", maxLine+8192)))); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("endless line: %v", err)
	}
}

// FuzzParse checks that what parses can be written and parses to the same again.
func FuzzParse(f *testing.F) {
	f.Add("cmd=get_result rc=0 msg=success value=(vector,(0,1,1))\n")
	f.Add("mcmd=spawn nprocs=2")
	f.Add("cmd=put kvsname=kvs_1 key=k value=a=b\\n")
	f.Fuzz(func(t *testing.T, line string) {
		m, err := Parse(line)
		if err != nil || m.Multi {
			return
		}
		var pairs []string
		for _, f := range m.fields {
			pairs = append(pairs, f.key, f.value)
		}
		b, err := Append(nil, m.Cmd, pairs...)
		if err != nil {
			return // control characters: they can be received, not sent
		}
		again, err := Parse(string(b))
		if err != nil {
			if strings.IndexFunc(m.Cmd, unsendable) >= 0 {
				return
			}
			t.Fatalf("%q became %q: %v", line, b, err)
		}
		if again.Cmd != m.Cmd && strings.IndexFunc(m.Cmd, unsendable) < 0 {
			t.Fatalf("cmd %q became %q", m.Cmd, again.Cmd)
		}
		for _, f := range m.fields {
			want, _ := m.Get(f.key)
			if got, ok := again.Get(f.key); ok && got != want {
				t.Fatalf("%s=%q became %q", f.key, want, got)
			}
		}
	})
}

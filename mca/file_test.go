package mca

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestParseParamFile(t *testing.T) {
	text := strings.Join([]string{
		"# a comment",
		"",
		"btl = self,sm",
		"  pml=ob1\t# after a blank it is a comment",
		"x_y = a#b",
		"empty =",
		`quoted = "as it is"`,
		"equals = a=b",
		"crlf = 1\r",
		"no_newline_at_end = 1",
	}, "\n")
	got, err := parseParamFile(text, "f", LayerUserFile)
	if err != nil {
		t.Fatal(err)
	}
	want := []Setting{
		{"btl", "self,sm", LayerUserFile, "f:3"},
		{"pml", "ob1", LayerUserFile, "f:4"},
		{"x_y", "a#b", LayerUserFile, "f:5"},
		{"empty", "", LayerUserFile, "f:6"},
		{"quoted", `"as it is"`, LayerUserFile, "f:7"},
		{"equals", "a=b", LayerUserFile, "f:8"},
		{"crlf", "1", LayerUserFile, "f:9"},
		{"no_newline_at_end", "1", LayerUserFile, "f:10"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestParseParamFileErrors(t *testing.T) {
	_, err := parseParamFile("btl self\n= 3\na b = c\nok = 1\nz = \x00\n", "dir/f", LayerSystemFile)
	wantError(t, err,
		`dir/f:1: "btl self" has no =; expected "name = value"`,
		`dir/f:2: "" is not a parameter name`,
		`dir/f:3: "a b" is not a parameter name`,
		"dir/f:5: the value of z has a NUL byte")
}

func TestReadFilesMissing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none")
	if _, err := ReadParamFile(path, LayerUserFile); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), path) {
		t.Errorf("ReadParamFile: %v", err)
	}
	if _, _, err := ReadTuneFile(path); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), path) {
		t.Errorf("ReadTuneFile: %v", err)
	}
}

func TestReadTuneFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tune")
	text := strings.Join([]string{
		"# tuned for small messages",
		"--mca btl self,sm -mca pml ob1 # both",
		"-x PATH -x GREETING='hello world'  --mca a_b \"say \\\"hi\\\" \\\\ 'x' # no comment\"",
		"",
		"btl_sm_eager_limit = 8k # plain",
		`	--mca empty "" -x E=`,
		`--mca joined a"b c"d\ e`,
	}, "\r\n")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	mca, env, err := ReadTuneFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := []Setting{
		{"btl", "self,sm", LayerTune, "tune " + path + ":2"},
		{"pml", "ob1", LayerTune, "tune " + path + ":2"},
		{"a_b", `say "hi" \ 'x' # no comment`, LayerTune, "tune " + path + ":3"},
		{"btl_sm_eager_limit", "8k", LayerTune, "tune " + path + ":5"},
		{"empty", "", LayerTune, "tune " + path + ":6"},
		{"joined", "ab cd e", LayerTune, "tune " + path + ":7"},
	}
	if !slices.Equal(mca, want) {
		t.Errorf("got  %v\nwant %v", mca, want)
	}
	if want := []string{"PATH", "GREETING=hello world", "E="}; !slices.Equal(env, want) {
		t.Errorf("env %q, want %q", env, want)
	}
}

func TestParseTuneFileErrors(t *testing.T) {
	for _, test := range []struct{ line, want string }{
		{"--mca btl", "--mca needs a name and a value"},
		{"-mca", "-mca needs"},
		{"-x", "-x needs a variable"},
		{"-x =v", `-x: "" is not the name`},
		{"-x A-B=v", `"A-B"`},
		{"--mac a b", `"--mac" cannot stand in a tune file; did you mean --mca`},
		{"--mca a b c", `"c" cannot stand`},
		{"--mca 'a b' c", `"a b" is not a parameter name`},
		{"--mca a 'b", "quote ' is not closed"},
		{`--mca a "b`, `quote " is not closed`},
		{`--mca a b \`, "continued"},
		{"--mca a \x00", "NUL"},
		{"what is this", "has no ="},
	} {
		mca, env, err := parseTuneFile("\n"+test.line+"\n", "f")
		wantError(t, err, "tune f:2: ", test.want, "expected")
		if mca != nil || env != nil {
			t.Errorf("%q: a malformed line gave %v %v", test.line, mca, env)
		}
	}
}

func FuzzParamFile(f *testing.F) {
	f.Add("# c\nbtl = self,sm # x\nbad\n=\n")
	f.Fuzz(func(t *testing.T, text string) {
		settings, _ := parseParamFile(text, "f", LayerUserFile)
		for _, s := range settings {
			if !settingName.MatchString(s.Name) || strings.ContainsAny(s.Value, "\n\x00") || s.Value != strings.TrimSpace(s.Value) {
				t.Errorf("accepted %+v", s)
			}
		}
	})
}

func FuzzTuneFile(f *testing.F) {
	f.Add("--mca btl 'self,sm' -x A=\"b\\\"\" # c\nk = v\n-x B\n")
	f.Add("--mca a \\\n")
	f.Fuzz(func(t *testing.T, text string) {
		mca, env, _ := parseTuneFile(text, "f")
		for _, s := range mca {
			if !settingName.MatchString(s.Name) || strings.ContainsRune(s.Value, 0) || s.Layer != LayerTune {
				t.Errorf("accepted %+v", s)
			}
		}
		for _, v := range env {
			if name, _, _ := strings.Cut(v, "="); !envName.MatchString(name) || strings.ContainsRune(v, 0) {
				t.Errorf("accepted -x %q", v)
			}
		}
	})
}

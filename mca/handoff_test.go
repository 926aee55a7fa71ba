package mca

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestHandoffGolden(t *testing.T) {
	settings := []Setting{
		{"btl", "self,sm", LayerCommandLine, "command line --mca btl"},
		{"x", "", LayerTune, "tune /a;b:3"},
	}
	const want = "1;c:btl:self%2Csm:command+line+--mca+btl;t:x::tune+%2Fa%3Bb%3A3"
	if got := EncodeHandoff(settings); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, err := DecodeHandoff(want); err != nil || !slices.Equal(got, settings) {
		t.Errorf("decoded %v, %v", got, err)
	}
	if got, err := DecodeHandoff(""); got != nil || err != nil {
		t.Errorf("empty: %v, %v", got, err)
	}
	if got, err := DecodeHandoff(EncodeHandoff(nil)); got != nil || err != nil {
		t.Errorf("none: %v, %v", got, err)
	}
}

func TestHandoffErrors(t *testing.T) {
	for text, want := range map[string]string{
		"2":              `version "2"`,
		"x;c:a:b:w":      `version "x"`,
		"1;":             "setting 1: 1 fields",
		"1;c:a:b:w;c:a":  "setting 2: 2 fields",
		"1;c:a:b:w:z":    "5 fields",
		"1;-:a:b:w":      `layer "-"`,
		"1;z:a:b:w":      `layer "z"`,
		"1;:a:b:w":       `layer ""`,
		"1;ca:a:b:w":     `layer "ca"`,
		"1;c:a:%zz:w":    "invalid URL escape",
		"1;c:a:b:w;;c::": "setting 2",
	} {
		_, err := DecodeHandoff(text)
		wantError(t, err, want)
	}
}

func TestEncodeHandoffPanicsOnDefaults(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	EncodeHandoff([]Setting{{Name: "a"}})
}

func TestHandoffRoundTrip(t *testing.T) {
	setting := rapid.Custom(func(t *rapid.T) Setting {
		return Setting{
			Name: rapid.String().Draw(t, "name"), Value: rapid.String().Draw(t, "value"), Where: rapid.String().Draw(t, "where"),
			Layer: Layer(rapid.IntRange(int(LayerSystemFile), int(LayerAPI)).Draw(t, "layer")),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOf(setting).Draw(t, "settings")
		text := EncodeHandoff(want)
		if strings.ContainsAny(text, "\x00\n=") {
			t.Fatalf("%q cannot be the value of a variable", text)
		}
		got, err := DecodeHandoff(text)
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("got %v, %v; want %v", got, err, want)
		}
	})
}

func FuzzDecodeHandoff(f *testing.F) {
	f.Add("1;c:btl:self%2Csm:command+line")
	f.Add("1;t:::;a:x:y:z")
	f.Add("2")
	f.Fuzz(func(t *testing.T, text string) {
		settings, err := DecodeHandoff(text)
		if err != nil {
			return
		}
		again, err := DecodeHandoff(EncodeHandoff(settings))
		if err != nil || !slices.Equal(again, settings) {
			t.Errorf("%q: %v reads back as %v, %v", text, settings, again, err)
		}
	})
}

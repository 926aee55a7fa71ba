package rte

import (
	"bytes"
	"errors"
	"testing"

	"pgregory.net/rapid"
)

func TestCardRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		room := rapid.IntRange(9, 100).Draw(t, "room")
		value := rapid.SliceOfN(rapid.Byte(), 0, 500).Draw(t, "value")
		kvs := map[string]string{}
		err := putCard(3, "key", value, func(string) int { return room }, func(k, v string) error {
			if len(v) > room || len(k) > 64 {
				t.Fatalf("part %s of %d bytes", k, len(v))
			}
			kvs[k] = v
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		got, err := getCard(3, "key", func(k string) (string, error) { return kvs[k], nil })
		if err != nil || !bytes.Equal(got, value) {
			t.Fatalf("%q came back as %q, %v", value, got, err)
		}
	})
}

func TestCardErrors(t *testing.T) {
	if err := putCard(0, "key", nil, func(string) int { return 8 }, nil); err == nil {
		t.Error("a card fits no room")
	}
	broken := errors.New("broken")
	if err := putCard(0, "key", nil, func(string) int { return 99 }, func(string, string) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("put: %v", err)
	}
	for _, first := range []string{"", "x", "0.", "-1.", "2000000.", "1", "1.*", "1.A"} {
		if v, err := getCard(0, "key", func(string) (string, error) { return first, nil }); err == nil {
			t.Errorf("%q gives %q", first, v)
		}
	}
	_, err := getCard(0, "key", func(k string) (string, error) {
		if k == "r0.key.0" {
			return "2.AAAA", nil
		}
		return "", broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("get of the second part: %v", err)
	}
}

func FuzzCard(f *testing.F) {
	f.Add("2.AAAA", "BBBB")
	f.Add("1.", "")
	f.Fuzz(func(t *testing.T, first, more string) {
		calls := 0
		v, err := getCard(0, "key", func(string) (string, error) {
			if calls++; calls == 1 {
				return first, nil
			}
			if calls > 100 {
				return "", errors.New("enough")
			}
			return more, nil
		})
		if err != nil && v != nil {
			t.Fatalf("both %q and %v", v, err)
		}
	})
}

func FuzzParseJob(f *testing.F) {
	f.Add("00")
	f.Fuzz(func(t *testing.T, s string) {
		id, secret, err := parseJob(s)
		if err != nil {
			return
		}
		if again, secret2, err := parseJob(FormatJob(id, secret)); err != nil || again != id || secret2 != secret {
			t.Fatalf("%q does not come back: %v", s, err)
		}
	})
}

package core

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestInfoLimits(t *testing.T) {
	var none *Info
	for what, c := range map[string]struct {
		err  error
		want error
	}{
		"no key":         {NewInfo().Set("", "v"), ErrInfoKey},
		"long key":       {NewInfo().Set(strings.Repeat("k", 256), "v"), ErrInfoKey},
		"longest key":    {NewInfo().Set(strings.Repeat("k", 255), "v"), nil},
		"long value":     {NewInfo().Set("k", strings.Repeat("v", 1024)), ErrInfoValue},
		"longest value":  {NewInfo().Set("k", strings.Repeat("v", 1023)), nil},
		"no value":       {NewInfo().Set("k", ""), nil},
		"delete nothing": {NewInfo().Delete("k"), ErrInfoNoKey},
		"nil set":        {none.Set("k", "v"), ErrInfo},
		"nil delete":     {none.Delete("k"), ErrInfo},
	} {
		if !errors.Is(c.err, c.want) && c.err != c.want {
			t.Errorf("%s: %v, want %v", what, c.err, c.want)
		}
	}
	if _, ok := none.Get("k"); ok || none.Keys() != nil || none.Dup() == nil {
		t.Error("a nil info is not empty")
	}
}

// An info is a list of pairs.
func TestInfoModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		i := NewInfo()
		var keys []string
		values := map[string]string{}
		name := rapid.SampledFrom([]string{"a", "b", "c", "d"})
		t.Repeat(map[string]func(*rapid.T){
			"set": func(t *rapid.T) {
				k, v := name.Draw(t, "key"), rapid.StringN(0, 9, -1).Draw(t, "value")
				if err := i.Set(k, v); err != nil {
					t.Fatal(err)
				}
				if !slices.Contains(keys, k) {
					keys = append(keys, k)
				}
				values[k] = v
			},
			"delete": func(t *rapid.T) {
				k := name.Draw(t, "key")
				if err := i.Delete(k); (err == nil) != slices.Contains(keys, k) {
					t.Fatal(err)
				}
				keys = slices.DeleteFunc(keys, func(x string) bool { return x == k })
				delete(values, k)
			},
			"": func(t *rapid.T) {
				d := i.Dup()
				for _, x := range []*Info{i, d} {
					if !slices.Equal(x.Keys(), keys) {
						t.Fatalf("keys %q, want %q", x.Keys(), keys)
					}
					for _, k := range []string{"a", "b", "c", "d"} {
						got, ok := x.Get(k)
						if want, there := values[k]; ok != there || got != want {
							t.Fatalf("%s is %q, %v, want %q, %v", k, got, ok, want, there)
						}
					}
				}
				if err := d.Set("only here", "x"); err != nil {
					t.Fatal(err)
				}
			},
		})
	})
}

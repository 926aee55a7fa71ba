package mca

import (
	"slices"
	"testing"
)

func TestSelection(t *testing.T) {
	r := fakeRegistry(t)
	for _, test := range []struct {
		text    string
		allowed []string
		names   []string
		plain   string
	}{
		{"", []string{"self", "sm", "tcp"}, nil, ""},
		{"  ", []string{"self", "sm", "tcp"}, nil, ""},
		{"tcp,self", []string{"self", "tcp"}, []string{"tcp", "self"}, "tcp,self"},
		{" tcp , self ", []string{"self", "tcp"}, []string{"tcp", "self"}, "tcp,self"},
		{"^tcp", []string{"self", "sm"}, nil, "^tcp"},
		{"^sm,tcp", []string{"self"}, nil, "^sm,tcp"},
		{"^self,sm,tcp", nil, nil, "^self,sm,tcp"},
	} {
		s, err := r.checkSelection("btl", test.text)
		if err != nil {
			t.Errorf("%q: %v", test.text, err)
			continue
		}
		var allowed []string
		for _, name := range r.componentNames("btl") {
			if s.Allows(name) {
				allowed = append(allowed, name)
			}
		}
		if !slices.Equal(allowed, test.allowed) || !slices.Equal(s.Names(), test.names) || s.String() != test.plain {
			t.Errorf("%q: allowed %v, names %v, plain %q", test.text, allowed, s.Names(), s)
		}
	}
}

func TestSelectionErrors(t *testing.T) {
	r := fakeRegistry(t)
	for _, test := range []struct {
		framework, text string
		want            []string
	}{
		{"btl", "self,tpc", []string{`framework btl has no component "tpc"`, "did you mean tcp?", "the components of btl are self, sm, tcp"}},
		{"btl", "^vader", []string{`no component "vader"`}},
		{"btl", "vader,openib", []string{`"vader"`, `"openib"`}},
		{"btl", "base", []string{`"base"`}},
		{"btl", "self,,sm", []string{"empty name", "expected"}},
		{"btl", ",", []string{"empty name"}},
		{"btl", "^", []string{"empty name"}},
		{"btl", "^sm,^tcp", []string{"only one ^"}},
		{"btl", "sm,^tcp", []string{"only one ^"}},
		{"btl", "^^tcp", []string{"only one ^"}},
		{"btl", "sm,self,sm", []string{"sm twice"}},
		{"nothing", "x", []string{"nothing has no components"}},
	} {
		_, err := r.checkSelection(test.framework, test.text)
		wantError(t, err, test.want...)
	}
}

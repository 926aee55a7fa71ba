package house

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	link = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	// parameter is a whole name in code quotes. The groups are those of parameters, so that metrics and variables pass.
	parameter = regexp.MustCompile("`((?:mpi|shm|btl|bml|pml|coll)_[a-z0-9_]+)`")
)

// documents are the texts for people: their paths from the root, and their contents.
func documents(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	each(t, func(p string) {
		if filepath.Ext(p) == ".md" {
			text, err := os.ReadFile(filepath.Join(root, p))
			if err != nil {
				t.Fatal(err)
			}
			all[filepath.ToSlash(p)] = string(text)
		}
	})
	return all
}

// TestLinks: every link between documents leads to a file.
func TestLinks(t *testing.T) {
	for p, text := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			to, _, _ := strings.Cut(m[1], "#")
			if to == "" || strings.Contains(to, "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(root, filepath.Dir(p), to)); err != nil {
				t.Errorf("%s links to %s: %v", p, m[1], err)
			}
		}
	}
}

// TestParameterNames: documents speak of parameters that exist. docs/params.md is made from their declarations.
func TestParameterNames(t *testing.T) {
	all := documents(t)
	const reference = "docs/params.md"
	if !strings.Contains(all[reference], "`btl_sm_eager_limit`") {
		t.Fatalf("%s is missing or lists no parameters", reference)
	}
	for p, text := range all {
		if p == reference {
			continue
		}
		for _, m := range parameter.FindAllStringSubmatch(text, -1) {
			if !strings.Contains(all[reference], "`"+m[1]+"`") {
				t.Errorf("%s names the parameter %s, which %s does not have", p, m[1], reference)
			}
		}
	}
}

// TestFloorsDocumented: ARCHITECTURE.md knows every floor.
func TestFloorsDocumented(t *testing.T) {
	text := documents(t)["ARCHITECTURE.md"]
	for _, entries := range floors {
		for _, e := range entries {
			if !strings.Contains(text, "`"+e+"`") {
				t.Errorf("ARCHITECTURE.md does not speak of `%s`", e)
			}
		}
	}
}

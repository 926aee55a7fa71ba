package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const (
	modulePath = "github.com/ompi-go/ompi-go"
	root       = "../.."
)

// file is one Go file of this repository, whatever its build constraints.
type file struct {
	path string // from the root, with slashes
	test bool
	ast  *ast.File
	size int // lines
}

// imports are the packages that the file imports; those of this repository without the module's path.
func (f *file) imports(t *testing.T) (ours, others []string) {
	t.Helper()
	for _, spec := range f.ast.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatalf("%s: %v", f.path, err)
		}
		if rest, ok := strings.CutPrefix(p, modulePath+"/"); ok {
			ours = append(ours, rest)
		} else {
			others = append(others, p)
		}
	}
	return ours, others
}

// tree is every package of the repository: its folder from the root, and its files.
func tree(t *testing.T) map[string][]*file {
	t.Helper()
	packages := map[string][]*file{}
	fset := token.NewFileSet()
	each(t, func(p string) {
		if !strings.HasSuffix(p, ".go") {
			return
		}
		text, err := os.ReadFile(filepath.Join(root, p))
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := parser.ParseFile(fset, p, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.ToSlash(filepath.Dir(p))
		packages[dir] = append(packages[dir], &file{
			path: filepath.ToSlash(p), test: strings.HasSuffix(p, "_test.go"), ast: parsed, size: strings.Count(string(text), "\n"),
		})
	})
	if len(packages) < 20 {
		t.Fatalf("only %d packages found below %s: the test looks at the wrong place", len(packages), root)
	}
	return packages
}

// each calls visit with every file of the repository that people write, as a path from the root.
func each(t *testing.T, visit func(path string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			hidden := strings.HasPrefix(name, "_") || strings.HasPrefix(name, ".") && name != ".ci" && p != root
			if name == "testdata" || hidden {
				return filepath.SkipDir
			}
			return nil
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		visit(rel)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// under reports whether package p is dir or lies below it.
func under(p, dir string) bool { return p == dir || strings.HasPrefix(p, dir+"/") }

// isTest reports whether p is a package of helpers for tests.
func isTest(p string) bool { return strings.HasSuffix(p, "test") }

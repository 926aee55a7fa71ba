package house

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/doc"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const maxLines = 600

func TestFileSizes(t *testing.T) {
	for _, files := range tree(t) {
		for _, f := range files {
			if f.size > maxLines {
				t.Errorf("%s has %d lines; one idea a file, at most %d", f.path, f.size, maxLines)
			}
		}
	}
}

// TestPackageDocs: every package says what it is for.
func TestPackageDocs(t *testing.T) {
	for p, files := range tree(t) {
		text, name := "", ""
		for _, f := range files {
			if !f.test {
				name = f.ast.Name.Name
				if f.ast.Doc != nil {
					text += f.ast.Doc.Text()
				}
			}
		}
		synopsis := new(doc.Package).Synopsis(text)
		if synopsis == "" || name != "main" && !strings.HasPrefix(text, "Package "+name+" ") {
			t.Errorf("package %s: its doc comment begins with %q, want what the package is for (\"Package %s ...\" unless it is a program)", p, synopsis, name)
		}
	}
}

// TestNothingPostponed: what is not done yet is not announced in the code.
func TestNothingPostponed(t *testing.T) {
	words := []string{"TO" + "DO", "FIX" + "ME", "XX" + "X:"}
	each(t, func(p string) {
		switch filepath.Ext(p) {
		case ".go", ".s", ".md", ".sh", ".c", ".h":
		default:
			if filepath.Base(p) != "run" {
				return
			}
		}
		text, err := os.ReadFile(filepath.Join(root, p))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(p, "_test.go") {
			return
		}
		for _, w := range words {
			if strings.Contains(string(text), w) {
				t.Errorf("%s says %s", p, w)
			}
		}
	})
}

// TestNoCgo: neither this repository nor what it depends on needs a C compiler.
func TestNoCgo(t *testing.T) {
	for _, files := range tree(t) {
		for _, f := range files {
			if _, others := f.imports(t); slices.Contains(others, "C") {
				t.Errorf("%s uses cgo", f.path)
			}
		}
	}
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Standard,CgoFiles", "./...")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1", "GOFLAGS=-mod=readonly") // with cgo off its files would not be listed as such
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("go list: %v\n%s", err, exit.Stderr)
		}
		t.Skip("no go command: ", err)
	}
	dec, n := json.NewDecoder(strings.NewReader(string(out))), 0
	for {
		var p struct {
			ImportPath string
			Standard   bool
			CgoFiles   []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		n++
		if !p.Standard && len(p.CgoFiles) > 0 {
			t.Errorf("dependency %s uses cgo: %v", p.ImportPath, p.CgoFiles)
		}
	}
	if n < 50 {
		t.Errorf("go list told of %d packages only", n)
	}
}

// shared are the variables of packages that change while a program runs. Everything else hangs off an instance.
var shared = map[string]string{
	"mca.builtin":         "the registry of components",
	"progress.waiterPool": "memory to reuse, without meaning",
	"coll/tuned.builtIn":  "the decision table of default.rules, read once: the same whoever asked first",
	"ompi.processors":     "guards GOMAXPROCS, of which the runtime has one for all instances",
	"datatype.goTypes":    "types derived from Go types: what is found is the same whoever asked first",
}

// TestNoSharedState looks for package variables of the kinds that are made to be changed.
func TestNoSharedState(t *testing.T) {
	seen := map[string]bool{}
	for p, files := range tree(t) {
		if isTest(p) {
			continue
		}
		for _, f := range files {
			if f.test {
				continue
			}
			for _, d := range f.ast.Decls {
				g, ok := d.(*ast.GenDecl)
				if !ok || g.Tok != token.VAR {
					continue
				}
				for _, s := range g.Specs {
					v := s.(*ast.ValueSpec)
					if !changeable(v) && v.Names[0].Name != "builtin" {
						continue
					}
					for _, n := range v.Names {
						name := p + "." + n.Name
						seen[name] = true
						if shared[name] == "" {
							t.Errorf("%s: package variable %s is shared by all instances; hang it off the instance", f.path, n.Name)
						}
					}
				}
			}
		}
	}
	for name := range shared {
		if !seen[name] {
			t.Errorf("%s is listed as shared but does not exist", name)
		}
	}
}

// changeable reports whether a variable is of package sync or sync/atomic, or a channel.
func changeable(v *ast.ValueSpec) bool {
	found := false
	look := func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit, *ast.FuncType:
			return false
		case *ast.ChanType:
			found = true
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && (x.Name == "sync" || x.Name == "atomic") {
				found = true
			}
		}
		return !found
	}
	if v.Type != nil {
		ast.Inspect(v.Type, look)
	}
	for _, x := range v.Values {
		ast.Inspect(x, look)
	}
	return found
}

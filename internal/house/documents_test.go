package house

import (
	"go/ast"
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

// symbol is a function, method or field with its package's folder, as in `pml/ob1.module.Send` or `rte/pmi.Client.call`.
var symbol = regexp.MustCompile("`((?:[a-z0-9_-]+/)*[a-z0-9_-]+)\\.([A-Za-z0-9]+(?:\\.[A-Za-z0-9]+)?)`")

// TestSymbols: what ARCHITECTURE.md names is there, and it names every mutex.
func TestSymbols(t *testing.T) {
	packages := tree(t)
	named := map[string]bool{}
	for _, m := range symbol.FindAllStringSubmatch(documents(t)["ARCHITECTURE.md"], -1) {
		if _, ok := packages[m[1]]; ok {
			named[m[1]+"."+m[2]] = true
		}
	}
	if len(named) < 40 {
		t.Errorf("ARCHITECTURE.md names %d functions and locks only", len(named))
	}
	declared := map[string]bool{}
	for p, files := range packages {
		for _, f := range files {
			if f.test {
				continue
			}
			for _, d := range f.ast.Decls {
				switch d := d.(type) {
				case *ast.FuncDecl:
					declared[p+"."+receiver(d)+d.Name.Name] = true
				case *ast.GenDecl:
					for _, s := range d.Specs {
						s, ok := s.(*ast.TypeSpec)
						if !ok {
							continue
						}
						declared[p+"."+s.Name.Name] = true
						for _, field := range fields(s) {
							declared[p+"."+s.Name.Name+"."+field.name] = true
							if name := p + "." + s.Name.Name + "." + field.name; field.mutex && !isTest(p) && !named[name] {
								t.Errorf("ARCHITECTURE.md does not list the lock %s", name)
							}
						}
					}
				}
			}
		}
	}
	for name := range named {
		if !declared[name] {
			t.Errorf("ARCHITECTURE.md names %s, which does not exist", name)
		}
	}
}

// receiver is the name of a method's type with a dot, "" for a function.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	x := d.Recv.List[0].Type
	if star, ok := x.(*ast.StarExpr); ok {
		x = star.X
	}
	if generic, ok := x.(*ast.IndexExpr); ok {
		x = generic.X
	}
	if id, ok := x.(*ast.Ident); ok {
		return id.Name + "."
	}
	return ""
}

type field struct {
	name  string
	mutex bool
}

// fields are the named fields of a struct type.
func fields(s *ast.TypeSpec) (list []field) {
	st, ok := s.Type.(*ast.StructType)
	if !ok {
		return nil
	}
	for _, f := range st.Fields.List {
		sel, ok := f.Type.(*ast.SelectorExpr)
		mutex := ok && (sel.Sel.Name == "Mutex" || sel.Sel.Name == "RWMutex")
		for _, n := range f.Names {
			list = append(list, field{n.Name, mutex})
		}
	}
	return list
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

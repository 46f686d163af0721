package verity_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestTerms checks that every name in the last column of docs/dev/TERMS.md is a type,
// function, method, constant or file of ours, and that no term stands there twice: a term
// whose name has gone fails.
func TestTerms(t *testing.T) {
	raw, err := os.ReadFile("docs/dev/TERMS.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("(?m)^\\| ([^|]+) \\|.*\\| `([^`|]+)` \\|$").FindAllStringSubmatch(string(raw), -1)
	if len(named) < 60 {
		t.Fatalf("%d terms with a name found: the table is not read right", len(named))
	}
	exported, terms := map[string]map[string]bool{}, map[string]bool{}
	for _, m := range named {
		if terms[m[1]] {
			t.Errorf("docs/dev/TERMS.md has two terms %q", m[1])
		}
		terms[m[1]] = true
		if strings.HasSuffix(m[2], ".go") {
			if _, err := os.Stat(m[2]); err != nil {
				t.Errorf("docs/dev/TERMS.md names a file that does not exist: %v", err)
			}
			continue
		}
		dir, name, _ := strings.Cut(m[2], ".")
		if exported[dir] == nil {
			exported[dir] = exportedNames(t, dir)
		}
		if !exported[dir][name] {
			t.Errorf("docs/dev/TERMS.md names %s.%s, which does not exist", dir, name)
		}
	}
}

// exportedNames returns the exported names of a package, methods as Type.Method.
func exportedNames(t *testing.T, dir string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no package (%v)", dir, err)
	}
	names := map[string]bool{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			addNames(names, d)
		}
	}
	return names
}

func addNames(names map[string]bool, d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		name := d.Name.Name
		if d.Recv != nil {
			of := d.Recv.List[0].Type
			if star, ok := of.(*ast.StarExpr); ok {
				of = star.X
			}
			if id, ok := of.(*ast.Ident); ok {
				name = id.Name + "." + name
			}
		}
		names[name] = true
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				names[spec.Name.Name] = true
			case *ast.ValueSpec:
				for _, id := range spec.Names {
					names[id.Name] = true
				}
			}
		}
	}
}

// TestPackagesDescribed checks that docs/dev/ARCHITECTURE.md names every package.
func TestPackagesDescribed(t *testing.T) {
	raw, err := os.ReadFile("docs/dev/ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(raw), "## Packages")
	table, _, _ = strings.Cut(table, "\n## ")
	for dir := range plan {
		if strings.HasPrefix(dir, "models/") || strings.HasPrefix(dir, "tools/") {
			continue
		}
		name := strings.TrimPrefix(dir, "internal/")
		if dir != "." && !strings.Contains(table, "`"+name+"`") && !strings.Contains(table, "`"+dir+"`") {
			t.Errorf("docs/dev/ARCHITECTURE.md does not say what %s is", dir)
		}
	}
}

// oneMeaning has for each word that once had many meanings the packages that may use it in
// exported names, where it has the one that docs/dev/TERMS.md gives it.
var oneMeaning = map[string]string{
	"Place": "datasets", "Turn": "decoder encoder serve", "Lane": "internal/kernel", "Made": "",
	"Hear": "live", "Heard": "live", "Chunk": "transcribe", "Share": "bench report transcript",
}

// TestOneMeaning checks that words of many meanings are exported with one alone.
func TestOneMeaning(t *testing.T) {
	word := regexp.MustCompile(`(Place|Turn|Lane|Made|Heard|Hear|Chunk|Share)(?:s|d|ed)?(?:[A-Z0-9]|$)`)
	for dir := range plan {
		if strings.HasPrefix(dir, "tools/") {
			continue
		}
		for name := range exportedNames(t, dir) {
			_, own, method := strings.Cut(name, ".")
			if !method {
				own = name
			}
			m := word.FindStringSubmatch(own)
			if m != nil && ast.IsExported(own) && !slices.Contains(strings.Fields(oneMeaning[m[1]]), dir) {
				t.Errorf("%s.%s: %q means something else, see docs/dev/TERMS.md", dir, name, m[1])
			}
		}
	}
}

package verity_test

import (
	"go/ast"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestRaceList: tests in which goroutines meet are among those that make race runs: its list goes by names, so one
// of another name would be left out without a word.
func TestRaceList(t *testing.T) {
	raw, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	value := func(name string) string {
		m := regexp.MustCompile(`(?m)^` + name + ` *:= (.*)$`).FindSubmatch(raw)
		if m == nil {
			t.Fatalf("Makefile has no %s", name)
		}
		return string(m[1])
	}
	listed, rooms := regexp.MustCompile(value("SHARING")), strings.Fields(value("SHARED"))
	found := 0
	for _, s := range sources(t) {
		if !s.test() || !slices.Contains(rooms, "./"+s.dir) {
			continue
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !strings.HasPrefix(f.Name.Name, "Test") || !concurrent(f) {
				continue
			}
			if found++; !listed.MatchString(f.Name.Name) {
				t.Errorf("%s/%s: %s starts goroutines, and make race does not run it: name it so that SHARING matches, or extend that", s.dir, s.name, f.Name.Name)
			}
		}
	}
	if found < 20 {
		t.Errorf("%d tests with goroutines found: the search is broken", found)
	}
}

// concurrent reports whether a function starts goroutines itself.
func concurrent(f *ast.FuncDecl) (found bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = true
		case *ast.CallExpr:
			sel, ok := n.Fun.(*ast.SelectorExpr)
			found = found || ok && sel.Sel.Name == "Go"
		}
		return !found
	})
	return found
}

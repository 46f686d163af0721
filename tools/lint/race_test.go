package lint_test

import (
	"go/ast"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// unraced are the packages that start goroutines and that make race leaves out.
var unraced = map[string]string{
	".":                       "a goroutine that downloads: model/hub and schedule do it",
	"audio":                   "takes minutes; MP3 by several workers and sound as it arrives are read in transcribe and serve",
	"cmd/verity":              "runs the whole program, whose parts are there",
	"internal/testing/golden": "a failing test in a goroutine of its own",
	"eval/selftest":           "takes minutes; what it runs together is schedule's",
	"tokenizer":               "shares what is never written to",
	"tools/load":              "a program",
}

// TestRaceList: the race detector runs the packages in which goroutines are started, by
// the code or by tests, and in them every test but those that are marked as serial.
func TestRaceList(t *testing.T) {
	raw, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`(?m)^SHARED *:= (.*)$`).FindSubmatch(raw)
	if list == nil {
		t.Fatal("Makefile has no SHARED")
	}
	starting := map[string]bool{}
	for _, s := range sources(t) {
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !concurrent(f) {
				continue
			}
			starting[s.dir] = true
			if calls(f, "Serial") {
				t.Errorf("%s/%s: %s starts goroutines, and says that none meet in it", s.dir, s.name, f.Name.Name)
			}
		}
	}
	for dir := range unraced {
		if !starting[dir] {
			t.Errorf("%s starts no goroutines: take it out of unraced", dir)
		}
		delete(starting, dir)
	}
	want := slices.Sorted(maps.Keys(starting))
	got := strings.Fields(strings.ReplaceAll(string(list[1]), "./", ""))
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("make race runs %v; want the packages that start goroutines, %v", got, want)
	}
}

// concurrent reports whether a function starts goroutines itself.
func concurrent(f *ast.FuncDecl) (found bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		_, is := n.(*ast.GoStmt)
		found = found || is
		return !found
	})
	return found || calls(f, "Go")
}

// calls reports whether a function calls one of that name behind a dot.
func calls(f *ast.FuncDecl, name string) (found bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			sel, ok := call.Fun.(*ast.SelectorExpr)
			found = found || ok && sel.Sel.Name == name
		}
		return !found
	})
	return found
}

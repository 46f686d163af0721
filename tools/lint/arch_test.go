package lint_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// layers are the packages of the module from the ground up. A package may import packages of
// lower layers and of its own; "/..." stands for a directory with everything below it.
var layers = [][]string{
	{"internal/...", "parallel", "precision"},
	{"audio/...", "tokenizer", "datasets", "wer/..."},
	{"model/...", "transcript", "diarize"},
	{"encoder"},
	{"decoder/..."},
	{"assistant/..."},
	{"transcribe/..."},
	{".", "eval/...", "serve"},
	{"cmd/internal/..."},
	{"cmd/verity", "tools/...", "examples/..."},
}

// upward are the imports that run against the layers, each with its reason.
var upward = map[string]string{
	"internal/testing/testmodel → model": "test only: writes small checkpoints",
}

// layerOf returns the layer of a package, or -1.
func layerOf(dir string) int {
	return slices.IndexFunc(layers, func(packages []string) bool {
		return slices.ContainsFunc(packages, func(p string) bool {
			below, tree := strings.CutSuffix(p, "/...")
			return dir == below || tree && strings.HasPrefix(dir, below+"/")
		})
	})
}

// testOnly are rooms that no program may contain.
var testOnly = []string{"internal/testing/golden", "internal/testing/needs", "internal/testing/testmodel", "model/digits"}

// commandOnly are modules that only commands may use, and tests.
var commandOnly = []string{
	"github.com/spf13/cobra", "github.com/spf13/pflag", "github.com/schollz/progressbar/v3", "golang.org/x/term",
	"github.com/rogpeppe/go-internal", "github.com/google/go-cmp", "pgregory.net/rapid", "go.uber.org/goleak",
}

// A source is one Go file of the module.
type source struct {
	dir  string // with slashes, "." for the root
	name string
	file *ast.File
	set  *token.FileSet
}

func (s source) test() bool { return strings.HasSuffix(s.name, "_test.go") }

// sources parses every Go file of the module. Reading the
// files here, and not through the go command, lets the test cache see changes.
func sources(t *testing.T) (all []source) {
	t.Helper()
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			_, nested := os.Stat(filepath.Join(name, "go.mod"))
			if name != "." && (nested == nil || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".")) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, name, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		all = append(all, source{filepath.ToSlash(filepath.Dir(name)), d.Name(), f, set})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 20 {
		t.Fatalf("only %d Go files found: the walk is broken", len(all))
	}
	return all
}

// TestImports checks that data flows one way: no package imports a higher layer.
func TestImports(t *testing.T) {
	used := map[string]bool{}
	for _, s := range sources(t) {
		here := layerOf(s.dir)
		if here < 0 {
			t.Errorf("%s: package %s is in no layer: add it to layers in tools/lint/arch_test.go", s.name, s.dir)
			continue
		}
		for _, spec := range s.file.Imports {
			target, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if !s.test() {
				checkImport(t, s, here, target, used)
			}
		}
	}
	for arrow := range upward {
		if !used[arrow] {
			t.Errorf("%s is allowed, but not imported: remove it from upward", arrow)
		}
	}
}

func checkImport(t *testing.T, s source, here int, target string, used map[string]bool) {
	t.Helper()
	own, ours := strings.CutPrefix(target, "verity/")
	if target == "verity" {
		own, ours = ".", true
	}
	arrow := s.dir + " → " + own
	_, allowed := upward[arrow]
	used[arrow] = true
	switch {
	case !ours:
		for _, m := range commandOnly {
			if (target == m || strings.HasPrefix(target, m+"/")) && !strings.HasPrefix(s.dir, "cmd/") {
				t.Errorf("%s/%s imports %s: only commands may", s.dir, s.name, target)
			}
		}
	case slices.Contains(testOnly, own) && !slices.Contains(testOnly, s.dir):
		t.Errorf("%s/%s imports %s: only tests may", s.dir, s.name, target)
	case layerOf(own) > here && !allowed:
		t.Errorf("%s/%s imports %s, which is in a higher layer", s.dir, s.name, target)
	}
}

// TestPackageComments checks that every package has exactly one package comment.
func TestPackageComments(t *testing.T) {
	comments := map[string][]string{}
	for _, s := range sources(t) {
		if s.test() {
			continue
		}
		if _, seen := comments[s.dir]; !seen {
			comments[s.dir] = nil
		}
		if s.file.Doc != nil && strings.TrimSpace(s.file.Doc.Text()) != "" {
			comments[s.dir] = append(comments[s.dir], s.name)
			checkComment(t, s)
		}
	}
	for dir, files := range comments {
		if len(files) != 1 {
			t.Errorf("package %s has %d comments, want one: %v", dir, len(files), files)
		}
	}
}

func checkComment(t *testing.T, s source) {
	t.Helper()
	want := "Package " + s.file.Name.Name + " "
	if s.file.Name.Name == "main" {
		name := path.Base(s.dir)
		want = strings.ToUpper(name[:1]) + name[1:] + " "
	}
	if text := s.file.Doc.Text(); !strings.HasPrefix(text, want) {
		t.Errorf("%s/%s: the package comment does not begin with %q", s.dir, s.name, want)
	}
}

// TestNeeds: tests find recordings beside the repository through package needs alone, and say in
// its form why they are skipped.
func TestNeeds(t *testing.T) {
	for _, s := range sources(t) {
		if !s.test() || s.dir == "internal/testing/needs" || s.dir == "tools/lint" {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				if strings.Contains(n.Value, "../../shared") || strings.Contains(n.Value, "/shared/") || strings.Contains(n.Value, "shared/data") {
					t.Errorf("%s: %s: want needs.Shared of internal/testing/needs", s.set.Position(n.Pos()), n.Value)
				}
			case *ast.CallExpr:
				f, ok := n.Fun.(*ast.SelectorExpr)
				if !ok || f.Sel.Name != "Skip" && f.Sel.Name != "Skipf" && f.Sel.Name != "SkipNow" {
					break
				}
				if len(n.Args) == 0 || !needsText(n.Args[0]) {
					t.Errorf("%s: want a reason as in internal/testing/needs: \"needs THING: WHY\"", s.set.Position(n.Pos()))
				}
			}
			return true
		})
	}
}

// needsText reports whether an expression begins with a text of the form of package needs.
func needsText(e ast.Expr) bool {
	if sum, ok := e.(*ast.BinaryExpr); ok {
		e = sum.X
	}
	text, ok := e.(*ast.BasicLit)
	return ok && strings.HasPrefix(text.Value, `"needs `) && strings.Contains(text.Value, ": ")
}

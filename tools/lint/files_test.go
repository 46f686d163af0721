package lint_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A reasonRule names calls that are safe only for a reason. The function that makes such a call
// states the reason in a comment of one line, best above the call:
//
//	//verity:writes a new file with a random name
//	f, err := os.CreateTemp(dir, "verity-*.wav")
type reasonRule struct {
	mark    string                    // the comment, without its slashes
	calls   map[string]*regexp.Regexp // names by the import path of their package
	exempt  []string                  // directories that need no reason
	instead string                    // what most code should call
}

var system = regexp.MustCompile(`(?i)open|creat|rename|unlink|rmdir|link|mkdir|mknod|mkfifo|chmod|chown|truncate|movefile|deletefile`)

var reasonRules = []reasonRule{
	{
		mark: "verity:writes",
		calls: map[string]*regexp.Regexp{
			"os": regexp.MustCompile(`^(Create|CreateTemp|OpenFile|WriteFile|Rename|Link|Symlink|Truncate|Remove|RemoveAll|` +
				`Chmod|Chown|Lchown|Chtimes|Mkdir|MkdirAll|MkdirTemp|OpenRoot|OpenInRoot|CopyFS)$`),
			"syscall": system, "golang.org/x/sys/unix": system, "golang.org/x/sys/windows": system,
		},
		exempt:  []string{"internal/output", "tools"},
		instead: "write through internal/output, which replaces no file silently",
	},
	{
		mark: "verity:reads",
		calls: map[string]*regexp.Regexp{
			"os":         regexp.MustCompile(`^(Open|OpenFile|ReadFile|ReadDir|DirFS)$`),
			"io/fs":      regexp.MustCompile(`^(ReadFile|ReadDir)$`),
			"crypto/tls": regexp.MustCompile(`^LoadX509KeyPair$`),
		},
		exempt:  []string{"internal/output", "internal/input", "tools"},
		instead: "read through internal/input, which refuses what never ends",
	},
}

// marked lists the files that read text which people write, with where a byte order mark is read over: here, or in what
// they call. All other files of internal/input's callers read what programs write.
var marked = map[string]string{
	"cmd/internal/options/decoding.go": "transcribe.ParseTerms", "cmd/internal/setup/draft.go": "transcript.Read",
	"cmd/internal/setup/speakers.go": "input.Lines", "cmd/internal/text/inputs.go": "input.Text",
	"cmd/internal/text/serve.go": "input.Lines", "cmd/verity/config.go": "input.Lines", "datasets/beside.go": "input.Text",
	"datasets/manifest.go": "input.Text", "eval/speakers.go": "diarize.ReadRTTM", "model/hub/client.go": "input.Text",
}

var byPrograms = []string{
	"assistant/ctc/ctc.go", "cmd/internal/measure/sound.go", "cmd/internal/setup/identity.go", "datasets/parquet.go",
	"eval/compare.go", "eval/report/read.go", "model/checkpoint.go", "model/hub/cache.go", "model/quantize/assemble.go",
	"model/synth/config.go", "model/weights.go", "tokenizer/load.go",
}

// TestByteOrderMarks checks that all text that people write may begin with a byte order mark.
func TestByteOrderMarks(t *testing.T) {
	calls := func(s source, names ...string) (found bool) {
		ast.Inspect(s.file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				found = found || slices.Contains(names, types.ExprString(call.Fun))
			}
			return true
		})
		return found
	}
	for _, s := range sources(t) {
		name := path.Join(s.dir, s.name)
		by, ok := marked[name]
		if !s.test() && !ok && !slices.Contains(byPrograms, name) && calls(s, "input.Read", "input.ReadFS", "input.Open") {
			t.Errorf("%s reads a file: does it read over a byte order mark? See marked", name)
		}
		if ok && !calls(s, by) {
			t.Errorf("%s does not call %s", name, by)
		}
	}
}

// TestFileReasons checks that every call that touches the file system says why it may.
func TestFileReasons(t *testing.T) {
	for _, s := range sources(t) {
		if s.test() || slices.Contains(testOnly, s.dir) || strings.Contains(s.dir, "/_asm") {
			continue
		}
		for _, rule := range reasonRules {
			if slices.ContainsFunc(rule.exempt, func(dir string) bool { return s.dir == dir || strings.HasPrefix(s.dir, dir+"/") }) {
				continue
			}
			for _, problem := range rule.check(s) {
				t.Error(problem)
			}
		}
	}
}

// check returns the calls of a file without a reason, and the reasons without a call.
func (r reasonRule) check(s source) (problems []string) {
	reasons := map[token.Pos]bool{} // comments that no declaration has used yet
	for _, group := range s.file.Comments {
		for _, c := range group.List {
			if text, ok := strings.CutPrefix(c.Text, "//"+r.mark+" "); ok && strings.TrimSpace(text) != "" {
				reasons[c.Pos()] = true
			}
		}
	}
	for _, d := range s.file.Decls {
		calls := r.callsIn(s, d)
		if len(calls) == 0 {
			continue
		}
		begin, found := start(d), false
		for at := range reasons {
			if begin <= at && at < d.End() {
				delete(reasons, at)
				found = true
			}
		}
		if !found {
			problems = append(problems, fmt.Sprintf("%s: %s: %s, or give the reason: //%s REASON",
				s.set.Position(calls[0].Pos()), namesOf(calls), r.instead, r.mark))
		}
	}
	for at := range reasons {
		problems = append(problems, fmt.Sprintf("%s: //%s without a call: remove the comment", s.set.Position(at), r.mark))
	}
	return problems
}

// start returns where a declaration begins, its comment included.
func start(d ast.Decl) token.Pos {
	doc := (*ast.CommentGroup)(nil)
	switch d := d.(type) {
	case *ast.FuncDecl:
		doc = d.Doc
	case *ast.GenDecl:
		doc = d.Doc
	}
	if doc != nil {
		return doc.Pos()
	}
	return d.Pos()
}

// callsIn returns the calls of a declaration that need a reason.
func (r reasonRule) callsIn(s source, d ast.Decl) (calls []*ast.SelectorExpr) {
	ast.Inspect(d, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			x, isName := sel.X.(*ast.Ident)
			if isName && x.Obj == nil && r.matches(s.imported(x.Name), sel.Sel.Name) {
				calls = append(calls, sel)
			}
		}
		return true
	})
	return calls
}

// matches reports whether a name of a package needs a reason.
func (r reasonRule) matches(pkg, name string) bool {
	names, ok := r.calls[pkg]
	return ok && names.MatchString(name)
}

// TestReasonRules checks the checker.
func TestReasonRules(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"no reason", "func f() { os.Remove(name) }", "os.Remove: write through"},
		{"the package has another name", "func f() { system.Remove(name) }", "system.Remove: write through"},
		{"a variable", "var remove = os.Remove", "os.Remove: write through"},
		{"a reason above the call", "func f() {\n\t//verity:writes a test\n\tos.Remove(name)\n}", ""},
		{"a reason in the comment of the function", "//verity:writes a test\nfunc f() { os.Remove(name) }", ""},
		{"an empty reason", "func f() {\n\t//verity:writes \n\tos.Remove(name)\n}", "os.Remove: write through"},
		{"a reason of another function", "//verity:writes a test\nfunc f() {}\n\nfunc g() { os.Remove(name) }", "os.Remove: write through"},
		{"a reason without a call", "//verity:writes a test\nfunc f() {}", "without a call"},
		{"harmless calls", "func f() { os.Getenv(name) }", ""},
	} {
		set := token.NewFileSet()
		text := "package p\n\nimport \"os\"\nimport system \"os\"\n\n" + c.body + "\n"
		file, err := parser.ParseFile(set, "p.go", text, parser.ParseComments)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		got := strings.Join(reasonRules[0].check(source{dir: "p", name: "p.go", file: file, set: set}), "\n")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// namesOf returns the names of calls, "os.Open, os.Remove".
func namesOf(calls []*ast.SelectorExpr) string {
	var names []string
	for _, c := range calls {
		names = append(names, c.X.(*ast.Ident).Name+"."+c.Sel.Name)
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}

// imported returns the import path of a package by its name in the file, or "".
func (s source) imported(name string) string {
	for _, i := range s.file.Imports {
		at := strings.Trim(i.Path.Value, `"`)
		if i.Name != nil && i.Name.Name == name || i.Name == nil && path.Base(at) == name {
			return at
		}
	}
	return ""
}

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// A schema is a JSON object that the program writes. Its fields and their meaning are
// read from the source: struct tags and comments.
type schema struct {
	title, text string
	dir, in     string // directory from the root, and the type
}

var schemas = []schema{
	{"Transcript", "`transcribe --output-format json`; with several files on standard output one object a line.", "transcript", "document"},
	{"Record", "A line of `records.jsonl` (`eval --out`, `compare --out`), one for each utterance.", "eval/report", "Record"},
	{"Report", "`eval --json` and `report --json` of one set of records.", "eval/report", "scoreJSON"},
	{"Comparison", "`compare --json` and `report --json` of several sets. A variant has the fields of a report.", "eval/report", "variantsJSON"},
	{"Model", "`info --json`.", "cmd/internal/models", "Properties"},
	{"Benchmark", "`bench --json`.", "eval/bench", "Result"},
}

func writeSchemas(t *testing.T, b *strings.Builder) {
	t.Helper()
	b.WriteString("# JSON\n\nWritten by `go generate ./cmd/verity` from the program's own types; a test fails when it is not current.\n\nTimes are in seconds unless a name says otherwise. A field may be left out where the table says \"optional\".\n" +
		"New fields may come without a new schema number; a field never changes its meaning under the same number.\n" +
		"A pair is an object with the fields `baseline` (plain decoding) and `assisted`.\n")
	for _, s := range schemas {
		r := source{dirs: map[string][]*ast.File{}, open: map[string]bool{}}
		rows, err := r.root(s)
		for _, name := range r.silent {
			t.Errorf("%s has no comment, which is its meaning here", name)
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) < 5 || !strings.HasPrefix(rows[0], "| `schema` |") {
			t.Errorf("%s: its %d fields do not begin with the schema: %s.%s is not what is written, or the reader of structs is broken",
				s.title, len(rows), s.dir, s.in)
		}
		fmt.Fprintf(b, "\n## %s\n\n%s\n\n| field | type | meaning |\n|---|---|---|\n%s", s.title, s.text, strings.Join(rows, ""))
	}
}

// A source reads struct types from packages of this module.
type source struct {
	dirs map[string][]*ast.File
	open map[string]bool // types that are being written: a type may hold itself

	silent []string // fields that nothing says the meaning of
}

func (r *source) files(dir string) ([]*ast.File, error) {
	if r.dirs[dir] != nil {
		return r.dirs[dir], nil
	}
	names, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(dir), "*.go"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		r.dirs[dir] = append(r.dirs[dir], f)
	}
	return r.dirs[dir], nil
}

// root returns the rows of a schema.
func (r *source) root(s schema) ([]string, error) {
	body, file, err := r.structOf(s.dir, s.in)
	if err == nil && body == nil {
		err = fmt.Errorf("%s: there is no struct type %s", s.dir, s.in)
	}
	return r.rows(s.dir, file, body, ""), err
}

// structOf finds a named struct type.
func (r *source) structOf(dir, name string) (body *ast.StructType, in *ast.File, err error) {
	files, err := r.files(dir)
	for _, f := range files {
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range g.Specs {
				if t, ok := spec.(*ast.TypeSpec); ok && t.Name.Name == name {
					body, _ = t.Type.(*ast.StructType)
					return body, f, err
				}
			}
		}
	}
	return nil, nil, err
}

// marshalled finds the struct that the MarshalJSON of a type writes; nil without one.
func (r *source) marshalled(dir, receiver string) (body *ast.StructType, in *ast.File, err error) {
	files, err := r.files(dir)
	for _, f := range files {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Name.Name != "MarshalJSON" || receiverOf(fn) != receiver {
				continue
			}
			ast.Inspect(fn, func(n ast.Node) bool {
				if s, ok := n.(*ast.StructType); ok && body == nil && len(s.Fields.List) > 0 {
					body, in = s, f
				}
				return body == nil
			})
		}
	}
	return body, in, err
}

func receiverOf(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return ""
	}
	t := fn.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if id, ok := t.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

// rows returns a row for each field, those of structs inside it after it.
func (r *source) rows(dir string, file *ast.File, body *ast.StructType, prefix string) (rows []string) {
	if body == nil {
		return nil
	}
	for _, f := range body.Fields.List {
		tag := ""
		if f.Tag != nil {
			raw, _ := strconv.Unquote(f.Tag.Value)
			tag = reflect.StructTag(raw).Get("json")
		}
		name, options, _ := strings.Cut(tag, ",")
		if name == "-" {
			continue
		}
		if name == "" && len(f.Names) == 0 { // embedded
			rows = append(rows, r.inside(dir, file, f.Type, prefix)...)
			continue
		}
		if name == "" && len(f.Names) > 0 && f.Names[0].IsExported() {
			name = f.Names[0].Name // as encoding/json does
		}
		if name == "" {
			continue
		}
		kind, many := r.spell(dir, file, f.Type)
		meaning := comment(f)
		if meaning == "" {
			r.silent = append(r.silent, dir+": "+prefix+name)
		}
		if strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero") {
			meaning = strings.TrimSpace("optional; " + meaning)
			meaning = strings.TrimSuffix(meaning, ";")
		}
		path := prefix + name
		inner := r.inside(dir, file, f.Type, path+many+".")
		if len(inner) > 0 {
			kind = "object"
		}
		cell := strings.NewReplacer("|", `\|`, "<", "&lt;", "\n", "<br>").Replace(meaning)
		rows = append(rows, fmt.Sprintf("| `%s%s` | %s | %s |\n", path, many, kind, cell))
		rows = append(rows, inner...)
	}
	return rows
}

// inside returns the rows of the struct that a field's type names; none if it is none.
func (r *source) inside(dir string, file *ast.File, t ast.Expr, prefix string) []string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return r.inside(dir, file, t.X, prefix)
	case *ast.ArrayType:
		return r.inside(dir, file, t.Elt, prefix)
	case *ast.MapType:
		return r.inside(dir, file, t.Value, prefix)
	case *ast.StructType:
		return r.rows(dir, file, t, prefix)
	case *ast.SelectorExpr:
		if other := imported(file, t.X.(*ast.Ident).Name); other != "" {
			return r.named(other, t.Sel.Name, prefix)
		}
	case *ast.Ident:
		return r.named(dir, t.Name, prefix)
	}
	return nil
}

func (r *source) named(dir, name, prefix string) []string {
	key := dir + "." + name
	if r.open[key] {
		return nil
	}
	r.open[key] = true
	defer delete(r.open, key)
	body, file, err := r.structOf(dir, name)
	if err != nil || body == nil {
		return nil
	}
	rows := r.rows(dir, file, body, prefix)
	// A type that marshals itself adds fields in a struct of its own.
	if more, in, _ := r.marshalled(dir, name); more != nil {
		rows = append(rows, r.rows(dir, in, more, prefix)...)
	}
	return rows
}

// imported returns the directory of one of our packages by the name a file has for it.
func imported(file *ast.File, name string) string {
	for _, spec := range file.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		dir, ours := strings.CutPrefix(path, "verity/")
		if ours && (spec.Name != nil && spec.Name.Name == name || strings.HasSuffix("/"+dir, "/"+name)) {
			return dir
		}
	}
	return ""
}

// spell returns a type in words of JSON, and "[]" or "{}" if it holds many.
func (r *source) spell(dir string, file *ast.File, t ast.Expr) (kind, many string) {
	switch t := t.(type) {
	case *ast.StarExpr:
		kind, many = r.spell(dir, file, t.X)
		return kind + " or null", many
	case *ast.ArrayType:
		kind, inner := r.spell(dir, file, t.Elt)
		return kind, "[]" + inner
	case *ast.MapType:
		kind, inner := r.spell(dir, file, t.Value)
		return kind, "{}" + inner
	case *ast.SelectorExpr:
		if other := imported(file, t.X.(*ast.Ident).Name); other != "" {
			return r.spellNamed(other, t.Sel.Name)
		}
	case *ast.IndexExpr: // report.Pair is the only generic type in JSON
		kind, many = r.spell(dir, file, t.Index)
		return "pair: " + kind, many
	case *ast.StructType:
		return "object", ""
	case *ast.Ident:
		return r.spellNamed(dir, t.Name)
	}
	return "value", ""
}

func (r *source) spellNamed(dir, name string) (kind, many string) {
	switch {
	case name == "bool":
		return "true or false", ""
	case name == "string":
		return "text", ""
	case strings.HasPrefix(name, "int"), strings.HasPrefix(name, "uint"), strings.HasPrefix(name, "float"):
		return "number", ""
	}
	files, _ := r.files(dir)
	for _, f := range files {
		if o := f.Scope.Lookup(name); o != nil {
			if spec, ok := o.Decl.(*ast.TypeSpec); ok {
				return r.spell(dir, f, spec.Type)
			}
		}
	}
	return "value", ""
}

// comment returns what stands beside or above a field.
func comment(f *ast.Field) string {
	text := f.Doc.Text()
	if text == "" {
		text = f.Comment.Text()
	}
	return strings.TrimSpace(strings.ReplaceAll(text, "\n", " "))
}

package main

import (
	"go/ast"
	"go/constant"
	"go/types"
	"regexp"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// strangers finds values of any type that are printed whole. What a file or a client holds is of
// such types, and 461 bytes of it can stand for 2⁴⁰ values: %T says what it is. A panic's value, and
// what stands in the list of those that are bounded, may be printed.
var strangers = &analysis.Analyzer{
	Name: "strangers",
	Doc:  "no value that may hold others without a bound is printed with %v",
	Run: func(p *analysis.Pass) (any, error) {
		for _, f := range p.Files {
			name := p.Fset.Position(f.Pos()).Filename
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			caught := map[types.Object]bool{} // variables of what recover returns
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.AssignStmt:
					call, ok := n.Rhs[0].(*ast.CallExpr)
					if id, named := n.Lhs[0].(*ast.Ident); ok && named && types.ExprString(call.Fun) == "recover" {
						caught[p.TypesInfo.Defs[id]] = true
					}
				case *ast.CallExpr:
					printed(p, n, caught)
				}
				return true
			})
		}
		return nil, nil
	},
}

// bounded are expressions of any type whose values are bounded.
var bounded = map[string]string{
	"a.Value":           "cmd/internal/cli: a field of a line of the log",
	"option.Value":      "cmd/internal/setup: what a flag was set to",
	"got.Segments":      "tools/load: of an answer of our own server",
	"w.answer.Segments": "the same",
}

var verb = regexp.MustCompile(`%[-+# 0-9.\[\]*]*([a-zA-Z%])`)

// printed reports the arguments of a call behind a format.
func printed(p *analysis.Pass, call *ast.CallExpr, caught map[types.Object]bool) {
	for i, x := range call.Args {
		v := p.TypesInfo.Types[x].Value
		if v == nil || v.Kind() != constant.String {
			continue
		}
		at := i
		for _, m := range verb.FindAllStringSubmatch(constant.StringVal(v), -1) {
			if m[1] == "%" {
				continue
			}
			if at++; at >= len(call.Args) {
				break
			}
			arg := call.Args[at]
			id, _ := arg.(*ast.Ident)
			if m[1] == "T" || id != nil && caught[p.TypesInfo.Uses[id]] || bounded[types.ExprString(arg)] != "" {
				continue
			}
			if holds(p.TypesInfo.TypeOf(arg), 0) {
				p.Reportf(arg.Pos(), "%s may hold any number of values: print its type (%%T), or list it as bounded", types.ExprString(arg))
			}
		}
		return
	}
}

// holds reports whether a value of a type may hold others of any type, which printing follows.
func holds(t types.Type, depth int) bool {
	failure := types.Universe.Lookup("error").Type().Underlying().(*types.Interface)
	if depth > 3 || types.Implements(t, failure) {
		return false
	}
	switch u := t.Underlying().(type) {
	case *types.Interface:
		return u.NumMethods() == 0
	case *types.Pointer:
		return depth == 0 && holds(u.Elem(), 1)
	case *types.Slice:
		return holds(u.Elem(), depth+1)
	case *types.Array:
		return holds(u.Elem(), depth+1)
	case *types.Map:
		return holds(u.Elem(), depth+1)
	case *types.Struct:
		for i := range u.NumFields() {
			if holds(u.Field(i).Type(), depth+1) {
				return true
			}
		}
	}
	return false
}

package report

import (
	"bytes"
	"cmp"
	"fmt"
	"html"
	"io"
	"maps"
	"reflect"
	"text/template/parse"

	"verity/internal/show"
)

// raw is text for the page as it is; all other text is escaped, for browsers and terminals.
type raw string

// A renderer executes the page's template: text, fields, functions, if, range, with and
// template, in the words of package html/template, whose own execution calls methods by
// name. That keeps every method of every type in the program, a quarter of its size.
// Values stand between tags and in quoted attributes alone, where one escaping is right.
type renderer struct {
	trees map[string]*parse.Tree
	funcs map[string]any
}

// comparisons are the functions that every template has.
var comparisons = map[string]any{
	"eq":    func(a, b any) bool { return fmt.Sprint(a) == fmt.Sprint(b) },
	"ne":    func(a, b any) bool { return fmt.Sprint(a) != fmt.Sprint(b) },
	"gt":    func(a, b int) bool { return a > b },
	"le":    func(a, b int) bool { return a <= b },
	"index": func(r row, i int) string { return r[i] },
	"len":   func(list any) int { return reflect.ValueOf(list).Len() },
	"not":   func(v any) bool { return !truth(reflect.ValueOf(v)) },
	"or":    func(a, b string) string { return cmp.Or(a, b) },
}

// newRenderer parses a template. It panics on a mistake in it.
func newRenderer(name, text string, funcs map[string]any) *renderer {
	maps.Copy(funcs, comparisons)
	trees, err := parse.Parse(name, text, "{{", "}}", funcs)
	if err != nil {
		panic(err)
	}
	return &renderer{trees, funcs}
}

// execute writes the template of a name. A mistake in it is a panic, as a test finds.
func (r *renderer) execute(w io.Writer, name string, data any) error {
	var b bytes.Buffer
	r.write(&b, name, reflect.ValueOf(data))
	_, err := w.Write(b.Bytes())
	return err
}

func (r *renderer) write(b *bytes.Buffer, name string, dot reflect.Value) {
	f := frame{r, b, map[string]reflect.Value{"$": dot}}
	f.walk(r.trees[name].Root, dot)
}

// A frame is the execution of one template, with its variables by name.
type frame struct {
	*renderer
	out  *bytes.Buffer
	vars map[string]reflect.Value
}

func (f frame) walk(node parse.Node, dot reflect.Value) {
	switch n := node.(type) {
	case *parse.ListNode:
		for _, child := range n.Nodes {
			f.walk(child, dot)
		}
	case *parse.TextNode:
		f.out.Write(n.Text)
	case *parse.ActionNode:
		v := f.pipe(n.Pipe, dot)
		if len(n.Pipe.Decl) > 0 {
			return
		}
		if s, ok := v.Interface().(raw); ok {
			f.out.WriteString(string(s))
		} else {
			f.out.WriteString(html.EscapeString(show.Text(fmt.Sprint(v.Interface()))))
		}
	case *parse.TemplateNode:
		f.write(f.out, n.Name, f.pipe(n.Pipe, dot))
	case *parse.IfNode:
		f.branch(&n.BranchNode, dot)
	case *parse.WithNode:
		f.branch(&n.BranchNode, dot)
	case *parse.RangeNode:
		f.branch(&n.BranchNode, dot)
	default:
		panic(fmt.Sprintf("report: page template: %T is not supported", n))
	}
}

// branch executes if, with and range.
func (f frame) branch(n *parse.BranchNode, dot reflect.Value) {
	v := f.pipe(n.Pipe, dot)
	switch {
	case !truth(v):
		if n.ElseList != nil {
			f.walk(n.ElseList, dot)
		}
	case n.NodeType == parse.NodeRange:
		for i := range v.Len() {
			at := []reflect.Value{reflect.ValueOf(i), v.Index(i)}
			for j, d := range n.Pipe.Decl {
				f.vars[d.Ident[0]] = at[j+2-len(n.Pipe.Decl)]
			}
			f.walk(n.List, v.Index(i))
		}
	case n.NodeType == parse.NodeWith:
		f.walk(n.List, v)
	default:
		f.walk(n.List, dot)
	}
}

// pipe evaluates a pipeline of one command, and sets its variable if it declares one.
func (f frame) pipe(p *parse.PipeNode, dot reflect.Value) reflect.Value {
	v := f.value(p.Cmds[0].Args, dot)
	for _, d := range p.Decl {
		f.vars[d.Ident[0]] = v
	}
	return v
}

// value evaluates a command: a value, or a function and its arguments.
func (f frame) value(args []parse.Node, dot reflect.Value) reflect.Value {
	switch n := args[0].(type) {
	case *parse.DotNode:
		return dot
	case *parse.FieldNode:
		return follow(dot, n.Ident)
	case *parse.VariableNode:
		return follow(f.vars[n.Ident[0]], n.Ident[1:])
	case *parse.PipeNode:
		return f.pipe(n, dot)
	case *parse.StringNode:
		return reflect.ValueOf(n.Text)
	case *parse.NumberNode:
		return reflect.ValueOf(int(n.Int64))
	case *parse.IdentifierNode:
		in := make([]reflect.Value, len(args)-1)
		for i := range in {
			in[i] = f.value(args[i+1:i+2], dot)
		}
		return reflect.ValueOf(f.funcs[n.Ident]).Call(in)[0]
	}
	panic(fmt.Sprintf("report: page template: %v is not supported", args[0]))
}

// follow follows names of fields, through pointers.
func follow(v reflect.Value, names []string) reflect.Value {
	for _, name := range names {
		for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
			v = v.Elem()
		}
		if v = v.FieldByName(name); !v.IsValid() {
			panic("report: page template: there is no field " + name)
		}
	}
	return v
}

// truth reports whether a value is not empty.
func truth(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.String:
		return v.Len() > 0
	}
	return !v.IsZero()
}

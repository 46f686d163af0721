package report

import (
	"fmt"
	"html"
	"io"
	"reflect"
	"text/template/parse"
)

// raw is text for the page as it is; all other text is escaped.
type raw string

// A renderer executes the page's template: text, fields, functions, if, range, with and
// template, in the words of package html/template, whose own execution calls methods by
// name. That keeps every method of every type in the program, a quarter of its size.
// Values stand between tags and in quoted attributes alone, where one escaping is right.
type renderer struct {
	trees map[string]*parse.Tree
	funcs map[string]any
}

// newRenderer parses a template. It panics on a mistake in it.
func newRenderer(name, text string, funcs map[string]any) *renderer {
	builtin := map[string]any{"eq": true, "ne": true, "gt": true, "le": true, "index": true, "len": true, "not": true, "or": true}
	trees, err := parse.Parse(name, text, "{{", "}}", funcs, builtin)
	if err != nil {
		panic(err)
	}
	return &renderer{trees, funcs}
}

// A frame is the state of an execution: dot, and variables by name.
type frame struct {
	w    io.Writer
	dot  reflect.Value
	vars map[string]reflect.Value
}

// execute writes the template of a name. A mistake in it is a panic, as a test finds.
func (r *renderer) execute(w io.Writer, name string, data any) error {
	e := &sticky{w: w}
	v := reflect.ValueOf(data)
	r.walk(r.trees[name].Root, frame{e, v, map[string]reflect.Value{"$": v}})
	return e.err
}

// A sticky writer keeps the first error.
type sticky struct {
	w   io.Writer
	err error
}

func (s *sticky) Write(p []byte) (int, error) {
	if s.err == nil {
		_, s.err = s.w.Write(p)
	}
	return len(p), nil
}

func (r *renderer) walk(node parse.Node, f frame) {
	switch n := node.(type) {
	case *parse.ListNode:
		for _, child := range n.Nodes {
			r.walk(child, f)
		}
	case *parse.TextNode:
		f.w.Write(n.Text)
	case *parse.ActionNode:
		v := r.pipe(n.Pipe, f)
		if len(n.Pipe.Decl) > 0 {
			return
		}
		if s, ok := v.Interface().(raw); ok {
			io.WriteString(f.w, string(s))
		} else {
			io.WriteString(f.w, html.EscapeString(fmt.Sprint(v.Interface())))
		}
	case *parse.TemplateNode:
		v := reflect.Value{}
		if n.Pipe != nil {
			v = r.pipe(n.Pipe, f)
		}
		r.walk(r.trees[n.Name].Root, frame{f.w, v, map[string]reflect.Value{"$": v}})
	case *parse.IfNode:
		r.branch(&n.BranchNode, f, false)
	case *parse.WithNode:
		r.branch(&n.BranchNode, f, true)
	case *parse.RangeNode:
		r.each(n, f)
	default:
		panic(fmt.Sprintf("report: page template: %T is not supported", n))
	}
}

func (r *renderer) branch(n *parse.BranchNode, f frame, with bool) {
	switch v := r.pipe(n.Pipe, f); {
	case truth(v):
		if with {
			f.dot = v
		}
		r.walk(n.List, f)
	case n.ElseList != nil:
		r.walk(n.ElseList, f)
	}
}

func (r *renderer) each(n *parse.RangeNode, f frame) {
	list := r.value(n.Pipe.Cmds[0].Args, f)
	for i := range list.Len() {
		vars := map[string]reflect.Value{}
		for name, v := range f.vars {
			vars[name] = v
		}
		at := []reflect.Value{reflect.ValueOf(i), list.Index(i)}
		for j, d := range n.Pipe.Decl {
			vars[d.Ident[0]] = at[j+2-len(n.Pipe.Decl)]
		}
		r.walk(n.List, frame{f.w, list.Index(i), vars})
	}
}

// pipe evaluates a pipeline of one command, and sets its variable if it declares one.
func (r *renderer) pipe(p *parse.PipeNode, f frame) reflect.Value {
	v := r.value(p.Cmds[0].Args, f)
	for _, d := range p.Decl {
		f.vars[d.Ident[0]] = v
	}
	return v
}

// value evaluates a command: a value, or a function and its arguments.
func (r *renderer) value(args []parse.Node, f frame) reflect.Value {
	switch n := args[0].(type) {
	case *parse.DotNode:
		return f.dot
	case *parse.FieldNode:
		return follow(f.dot, n.Ident)
	case *parse.VariableNode:
		return follow(f.vars[n.Ident[0]], n.Ident[1:])
	case *parse.PipeNode:
		return r.pipe(n, f)
	case *parse.StringNode:
		return reflect.ValueOf(n.Text)
	case *parse.NumberNode:
		return reflect.ValueOf(int(n.Int64))
	case *parse.IdentifierNode:
		in := make([]reflect.Value, len(args)-1)
		for i, a := range args[1:] {
			in[i] = r.value([]parse.Node{a}, f)
		}
		if fn, ok := r.funcs[n.Ident]; ok {
			return reflect.ValueOf(fn).Call(in)[0]
		}
		return builtin(n.Ident, in)
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

func builtin(name string, in []reflect.Value) reflect.Value {
	text := func(v reflect.Value) string { return fmt.Sprint(v.Interface()) }
	switch name {
	case "eq":
		return reflect.ValueOf(text(in[0]) == text(in[1]))
	case "ne":
		return reflect.ValueOf(text(in[0]) != text(in[1]))
	case "gt":
		return reflect.ValueOf(in[0].Int() > in[1].Int())
	case "le":
		return reflect.ValueOf(in[0].Int() <= in[1].Int())
	case "index":
		return in[0].Index(int(in[1].Int()))
	case "len":
		return reflect.ValueOf(in[0].Len())
	case "not":
		return reflect.ValueOf(!truth(in[0]))
	}
	for _, v := range in { // or
		if truth(v) {
			return v
		}
	}
	return in[len(in)-1]
}

// truth reports whether a value is not empty, as package text/template has it.
func truth(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Invalid:
		return false
	case reflect.Slice, reflect.Map, reflect.String, reflect.Array:
		return v.Len() > 0
	case reflect.Struct:
		return true
	}
	return !v.IsZero()
}

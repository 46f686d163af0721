package torch

import (
	"fmt"
	"slices"

	"verity/internal/formats/weights"
	"verity/internal/tensor"
)

// maxSteps bounds the operations of a pickle, each of which makes at most one value: the
// largest published checkpoint takes 50,000.
const maxSteps = 1 << 18

// A machine interprets a pickle. It builds values and calls nothing. A value is nil, a bool,
// an int, a string, a tuple, a global, a *dict, a *storage or, of a tensor, a *weights.Entry.
// Values hold each other, also themselves, and one of 461 bytes can stand for 2⁴⁰ others:
// nothing here prints what a value holds, only its type (%T). What the machine cannot do
// panics with a fault, which run returns.
type machine struct {
	c       *weights.Cursor
	stack   []any
	marks   []int // stack heights
	memo    map[int64]any
	storage func(key string) ([]byte, error)
}

type (
	fault struct{ error }
	tuple []any

	global struct{ module, name string } // a Python name that the pickle refers to
)

func fail(format string, args ...any) { panic(fault{fmt.Errorf(format, args...)}) }

func (g global) String() string { return fmt.Sprintf("%.160q", g.module+"."+g.name) }

// A dict is a dictionary of texts, in insertion order.
type dict struct {
	keys   []string
	values map[string]any
}

// dict returns the dictionary of a key; nil if there is none.
func (d *dict) dict(key string) *dict {
	if d == nil {
		return nil
	}
	inner, _ := d.values[key].(*dict)
	return inner
}

// run returns the value that a pickle builds; storage returns the bytes of a storage.
func run(program []byte, storage func(key string) ([]byte, error)) (v any, err error) {
	m := &machine{c: weights.NewCursor(program), memo: map[int64]any{}, storage: storage}
	at := 0
	defer func() {
		switch p := recover().(type) {
		case nil:
		case fault:
			v, err = nil, fmt.Errorf("data.pkl: byte %d: %w", at, p.error)
		default:
			panic(p)
		}
	}()
	for range maxSteps {
		at = m.c.At()
		op := m.c.Uint8()
		if op == '.' { // STOP
			return m.pop(1)[0], nil
		}
		if m.c.Err() == nil {
			m.step(op)
		}
		if err := m.c.Err(); err != nil {
			fail("%w", err)
		}
	}
	return nil, fmt.Errorf("data.pkl has more than %d operations", maxSteps)
}

// step executes one operation of those that torch.save writes, in protocol 2. The codes are
// those of pickletools.py.
func (m *machine) step(op int) {
	c := m.c
	switch op {
	case 0x80: // PROTO
		if v := c.Uint8(); v != 2 {
			fail("protocol %d, want 2", v)
		}

	case 'N': // NONE
		m.push(nil)
	case 0x88, 0x89: // NEWTRUE, NEWFALSE
		m.push(op == 0x88)
	case '}': // EMPTY_DICT
		m.push(&dict{values: map[string]any{}})
	case ')': // EMPTY_TUPLE
		m.push(tuple{})
	case 'K': // BININT1
		m.push(c.Uint8())
	case 'M': // BININT2
		m.push(c.Uint16())
	case 'J': // BININT
		m.push(c.Int32())
	case 'X': // BINUNICODE
		m.push(string(c.Bytes(int(c.Uint32()))))

	case 'q': // BINPUT
		m.memo[int64(c.Uint8())] = m.top()
	case 'r': // LONG_BINPUT
		m.memo[c.Uint32()] = m.top()
	case 'h': // BINGET
		m.recall(int64(c.Uint8()))
	case 'j': // LONG_BINGET
		m.recall(c.Uint32())

	case '(': // MARK
		m.marks = append(m.marks, len(m.stack))
	case 't': // TUPLE
		m.push(tuple(m.popMark()))
	case 0x85, 0x86, 0x87: // TUPLE1, TUPLE2, TUPLE3
		m.push(tuple(m.pop(op - 0x84)))
	case 's': // SETITEM
		m.set(m.pop(2))
	case 'u': // SETITEMS
		m.set(m.popMark())

	case 'c': // GLOBAL
		m.push(global{m.line(), m.line()})
	case 'Q': // BINPERSID
		m.persistent(m.pop(1)[0])
	case 'R': // REDUCE
		pair := m.pop(2)
		args, ok := pair[1].(tuple)
		if !ok {
			fail("a call without arguments")
		}
		m.push(call(pair[0], args))
	case 'b': // BUILD: the attributes of an ordered dictionary (state_dict has _metadata) are ignored
		m.pop(1)
		if _, ok := m.top().(*dict); !ok {
			fail("attributes of a %T", m.top())
		}
	default:
		fail("operation %#02x, which is not known here and not run", op)
	}
}

func (m *machine) push(v any) { m.stack = append(m.stack, v) }

func (m *machine) recall(at int64) {
	v, ok := m.memo[at]
	if !ok {
		fail("a value that was not stored")
	}
	m.push(v)
}

// pop pops and returns the last n values.
func (m *machine) pop(n int) []any {
	at := len(m.stack) - n
	if at < 0 || len(m.marks) > 0 && at < m.marks[len(m.marks)-1] {
		fail("the stack is empty")
	}
	return m.cut(at)
}

// popMark pops and returns what was pushed since the last mark.
func (m *machine) popMark() []any {
	last := len(m.marks) - 1
	if last < 0 {
		fail("there is no mark")
	}
	at := m.marks[last]
	m.marks = m.marks[:last]
	return m.cut(at)
}

func (m *machine) cut(at int) []any {
	values := slices.Clone(m.stack[at:])
	m.stack = m.stack[:at]
	return values
}

// top returns the value on top of the stack, to be changed in place.
func (m *machine) top() any {
	if len(m.stack) == 0 {
		fail("the stack is empty")
	}
	return m.stack[len(m.stack)-1]
}

// line returns the text up to the next newline.
func (m *machine) line() string {
	var line []byte
	for len(line) < 256 {
		b := m.c.Bytes(1)
		if b == nil || b[0] == '\n' {
			break
		}
		line = append(line, b[0])
	}
	return string(line)
}

// set adds keys and values, in turn, to the dictionary on the stack.
func (m *machine) set(values []any) {
	d, ok := m.top().(*dict)
	if !ok || len(values)%2 != 0 {
		fail("%d values put into a %T", len(values), m.top())
	}
	for pair := range slices.Chunk(values, 2) {
		key, ok := pair[0].(string)
		if !ok {
			fail("a key of type %T", pair[0])
		}
		if _, ok := d.values[key]; !ok {
			d.keys = append(d.keys, key)
		}
		d.values[key] = pair[1]
	}
}

// call returns the result of one of the known functions. It executes nothing.
func call(function any, args tuple) any {
	switch function {
	case global{"torch._utils", "_rebuild_tensor_v2"}:
		return newTensor(args)
	case global{"collections", "OrderedDict"}:
		if len(args) == 0 {
			return &dict{values: map[string]any{}}
		}
	}
	called := "what is no function"
	if g, ok := function.(global); ok {
		called = g.String()
	}
	panic(fault{fmt.Errorf("it calls %s, which is not run: only tensors, numbers and text are read", called)})
}

// A storage is the memory of one or more tensors.
type storage struct {
	storageKind
	data []byte
}

// A storageKind is an element type.
type storageKind struct {
	name  string
	size  int
	dtype tensor.DType // 0 if the network does not use this type
}

var storageKinds = map[global]storageKind{
	{"torch", "FloatStorage"}:    {"float32", 4, tensor.F32},
	{"torch", "HalfStorage"}:     {"float16", 2, tensor.F16},
	{"torch", "BFloat16Storage"}: {"bfloat16", 2, tensor.BF16},
	{"torch", "DoubleStorage"}:   {"float64", 8, 0},
	{"torch", "LongStorage"}:     {"int64", 8, 0},
}

// persistent pushes the storage that ('storage', kind, key, device, length) refers to.
func (m *machine) persistent(v any) {
	id, ok := v.(tuple)
	if !ok || len(id) != 5 || id[0] != any("storage") {
		fail("a reference that is no storage")
	}
	g, ok1 := id[1].(global)
	key, ok2 := id[2].(string)
	length, ok3 := id[4].(int)
	if !ok1 || !ok2 || !ok3 {
		fail("a storage of %T, %T, %T", id[1], id[2], id[4])
	}
	kind, ok := storageKinds[g]
	if !ok {
		fail("a storage of type %s", g.String())
	}
	data, err := m.storage(key)
	if err != nil {
		fail("%w", err)
	}
	if have := len(data) / kind.size; length < 0 || length > have {
		fail("storage %.40q of %d %s, the archive has %d", key, length, kind.name, have)
	}
	m.push(&storage{kind, data[:length*kind.size]})
}

const maxDims = 8

// newTensor does what _rebuild_tensor_v2 does, given the storage, the first element,
// the shape and the strides. The tensor must be dense and row-major.
func newTensor(args tuple) *weights.Entry {
	if len(args) < 4 {
		fail("a tensor of %d arguments", len(args))
	}
	s, isStorage := args[0].(*storage)
	first, isInt := args[1].(int)
	shape, ok1 := ints(args[2])
	strides, ok2 := ints(args[3])
	if !isStorage || !isInt || !ok1 || !ok2 || len(shape) != len(strides) {
		fail("a tensor of %T, %T, %T, %T", args[0], args[1], args[2], args[3])
	}
	n, fits := weights.Volume(shape)
	if !fits {
		fail("a tensor of shape %v", shape)
	}
	want := 1
	for i, d := range slices.Backward(shape) {
		if d > 1 && strides[i] != want {
			fail("a tensor of shape %v with strides %v, want a dense one: save it with .contiguous()",
				shape, strides)
		}
		want *= d
	}
	have := len(s.data) / s.size
	if first < 0 || first > have || n > have-first {
		fail("a tensor of shape %v from element %d, its storage has %d", shape, first, have)
	}
	at, end := first*s.size, (first+n)*s.size
	return &weights.Entry{Shape: shape, Type: s.name, DType: s.dtype, Data: s.data[at:end:end]}
}

// ints returns the numbers of a tuple, at most maxDims.
func ints(v any) (numbers []int, ok bool) {
	values, ok := v.(tuple)
	if !ok || len(values) > maxDims {
		return nil, false
	}
	for _, x := range values {
		n, ok := x.(int)
		if !ok {
			return nil, false
		}
		numbers = append(numbers, n)
	}
	return numbers, true
}

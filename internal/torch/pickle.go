package torch

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"verity/internal/weights"
)

const (
	maxStack = 1 << 20 // values on the stack, and steps of a list
	maxMemo  = 1 << 20
)

// A machine interprets a pickle. It builds values and calls nothing. What it cannot do
// panics with a fault, which run returns.
type machine struct {
	c       *weights.Cursor
	stack   []Value
	marks   []int // stack heights
	memo    map[int64]Value
	storage func(key string) ([]byte, error)
}

type fault struct{ error }

func fail(format string, args ...any) { panic(fault{fmt.Errorf(format, args...)}) }

// A global is a Python name that the pickle refers to.
type global struct{ module, name string }

func (g global) String() string {
	name := fmt.Sprintf("%.80s.%.80s", g.module, g.name)
	if strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(name)
	}
	return name
}

// run returns the value that a pickle builds; storage returns the bytes of a storage.
func run(program []byte, storage func(key string) ([]byte, error)) (v Value, err error) {
	m := &machine{c: weights.NewCursor(program), memo: map[int64]Value{}, storage: storage}
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
	for {
		at = m.c.At()
		op := m.c.Bytes(1)
		if op == nil {
			return nil, fmt.Errorf("data.pkl: %w", m.c.Err())
		}
		if op[0] == '.' { // STOP
			return m.pop(1)[0], nil
		}
		m.step(op[0])
		if err := m.c.Err(); err != nil {
			fail("%w", err)
		}
		if len(m.stack) > maxStack || len(m.memo) > maxMemo {
			fail("too many values")
		}
	}
}

// step executes one operation. The codes are those of pickletools.py.
func (m *machine) step(op byte) {
	c := m.c
	switch op {
	case 0x80: // PROTO
		if v := c.Uint8(); v < 2 || v > 5 {
			fail("protocol %d, want 2 to 5", v)
		}
	case 0x95: // FRAME
		c.Bytes(8)

	case 'N': // NONE
		m.push(nil)
	case 0x88: // NEWTRUE
		m.push(true)
	case 0x89: // NEWFALSE
		m.push(false)
	case '}': // EMPTY_DICT
		m.push(new(Dict))
	case ']': // EMPTY_LIST
		m.push(new(list))
	case ')': // EMPTY_TUPLE
		m.push(tuple{})
	case 'K': // BININT1
		m.push(int64(c.Uint8()))
	case 'M': // BININT2
		m.push(int64(c.Uint16()))
	case 'J': // BININT
		m.push(int64(c.Int32()))
	case 0x8a: // LONG1: two's complement of any length
		m.push(long(c.Bytes(c.Uint8())))
	case 'G': // BINFLOAT
		if b := c.Bytes(8); b != nil {
			m.push(math.Float64frombits(binary.BigEndian.Uint64(b)))
		}
	case 'X': // BINUNICODE
		m.push(string(c.Bytes(int(c.Uint32()))))
	case 0x8c: // SHORT_BINUNICODE
		m.push(string(c.Bytes(c.Uint8())))

	case 'q': // BINPUT
		m.memo[int64(c.Uint8())] = m.top()
	case 'r': // LONG_BINPUT
		m.memo[c.Uint32()] = m.top()
	case 0x94: // MEMOIZE
		m.memo[int64(len(m.memo))] = m.top()
	case 'h': // BINGET
		m.recall(int64(c.Uint8()))
	case 'j': // LONG_BINGET
		m.recall(c.Uint32())

	case '(': // MARK
		m.marks = append(m.marks, len(m.stack))
	case '0': // POP
		m.pop(1)
	case 't': // TUPLE
		m.push(tuple(m.popMark()))
	case 0x85, 0x86, 0x87: // TUPLE1, TUPLE2, TUPLE3
		m.push(tuple(m.pop(int(op) - 0x84)))
	case 'a': // APPEND
		m.extend(m.pop(1))
	case 'e': // APPENDS
		m.extend(m.popMark())
	case 's': // SETITEM
		m.set(m.pop(2))
	case 'u': // SETITEMS
		m.set(m.popMark())

	case 'c': // GLOBAL
		m.push(global{m.line(), m.line()})
	case 0x93: // STACK_GLOBAL
		names := m.pop(2)
		module, ok1 := names[0].(string)
		name, ok2 := names[1].(string)
		if !ok1 || !ok2 {
			fail("a name that is no text")
		}
		m.push(global{module, name})
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
		if _, ok := m.top().(*Dict); !ok {
			fail("attributes of a %T", m.top())
		}
	default:
		fail("operation %#02x, which is not known here and not run", op)
	}
}

// long returns a number of at most eight bytes. A longer one is truncated: no size is
// that large.
func long(b []byte) int64 {
	var n int64
	for i := min(len(b), 8) - 1; i >= 0; i-- {
		n = n<<8 | int64(b[i])
	}
	if k := len(b); k > 0 && k < 8 && b[k-1] >= 0x80 {
		n -= 1 << (8 * k)
	}
	return n
}

func (m *machine) push(v Value) { m.stack = append(m.stack, v) }

func (m *machine) recall(at int64) {
	v, ok := m.memo[at]
	if !ok {
		fail("a value that was not stored")
	}
	m.push(v)
}

// pop pops and returns the last n values.
func (m *machine) pop(n int) []Value {
	at := len(m.stack) - n
	if at < 0 || len(m.marks) > 0 && at < m.marks[len(m.marks)-1] {
		fail("the stack is empty")
	}
	return m.cut(at)
}

// popMark pops and returns what was pushed since the last mark.
func (m *machine) popMark() []Value {
	last := len(m.marks) - 1
	if last < 0 {
		fail("there is no mark")
	}
	at := m.marks[last]
	m.marks = m.marks[:last]
	return m.cut(at)
}

func (m *machine) cut(at int) []Value {
	values := slices.Clone(m.stack[at:])
	m.stack = m.stack[:at]
	return values
}

// top returns the value on top of the stack, to be changed in place.
func (m *machine) top() Value {
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

// persistent pushes the storage that ('storage', kind, key, device, length) refers to.
func (m *machine) persistent(v Value) {
	id, ok := v.(tuple)
	if !ok || len(id) < 5 || id[0] != Value("storage") {
		fail("a reference that is no storage")
	}
	g, ok1 := id[1].(global)
	key, ok2 := id[2].(string)
	length, ok3 := id[4].(int64)
	if !ok1 || !ok2 || !ok3 {
		fail("a storage of %T, %T, %T", id[1], id[2], id[4])
	}
	kind, ok := storageKinds[g.name]
	if !ok || g.module != "torch" {
		fail("a storage of type %s", g.String())
	}
	data, err := m.storage(key)
	if err != nil {
		fail("%w", err)
	}
	if have := int64(len(data) / kind.size); length < 0 || length > have {
		fail("storage %.40q of %d %s, the archive has %d", key, length, kind.name, have)
	}
	m.push(&storage{kind, data[:int(length)*kind.size]})
}

// call returns the result of one of the known functions. It executes nothing.
func call(function Value, args tuple) Value {
	switch function {
	case global{"torch._utils", "_rebuild_tensor_v2"}:
		return newTensor(args)
	case global{"torch._utils", "_rebuild_parameter"}:
		if len(args) > 0 {
			if t, ok := args[0].(*Tensor); ok {
				return t
			}
		}
		fail("a parameter that is no tensor")
	case global{"collections", "OrderedDict"}:
		if len(args) == 0 {
			return new(Dict)
		}
	}
	called := "what is no function"
	if g, ok := function.(global); ok {
		called = g.String()
	}
	panic(fault{fmt.Errorf("it calls %s, which is not run: only tensors, numbers and text are read", called)})
}

// extend adds values to the list on the stack.
func (m *machine) extend(values []Value) {
	l, ok := m.top().(*list)
	if !ok {
		fail("%d values put into a %T", len(values), m.top())
	}
	if l.values = append(l.values, values...); len(l.values) > maxStack {
		fail("too long a list")
	}
}

// set adds keys and values, in turn, to the dictionary on the stack.
func (m *machine) set(values []Value) {
	d, ok := m.top().(*Dict)
	if !ok || len(values)%2 != 0 {
		fail("%d values put into a %T", len(values), m.top())
	}
	for pair := range slices.Chunk(values, 2) {
		d.set(pair[0], pair[1])
	}
}

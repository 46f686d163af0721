package torch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"

	"verity/internal/weights"
)

const (
	maxStack = 1 << 20 // values on the stack, and steps of a list
	maxMemo  = 1 << 20
)

// A machine interprets a pickle. It builds values and calls nothing.
type machine struct {
	c       *weights.Cursor
	stack   []Value
	marks   []int // stack heights
	memo    map[int64]Value
	storage func(key string) ([]byte, error)
}

// A global is a Python name that the pickle refers to.
type global struct{ module, name string }

func (g global) String() string {
	name := fmt.Sprintf("%.80s.%.80s", g.module, g.name)
	if strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(name)
	}
	return name
}

func newMachine(program []byte, storage func(key string) ([]byte, error)) *machine {
	return &machine{c: weights.NewCursor(program), memo: map[int64]Value{}, storage: storage}
}

// run returns the value that the pickle builds.
func (m *machine) run() (Value, error) {
	for {
		at := m.c.At()
		op := m.c.Bytes(1)
		if op == nil {
			return nil, fmt.Errorf("data.pkl: %w", m.c.Err())
		}
		if op[0] == '.' {
			v, err := m.pop()
			if err != nil {
				return nil, fmt.Errorf("data.pkl: byte %d: %w", at, err)
			}
			return v, nil
		}
		err := m.step(op[0])
		if err == nil {
			err = m.c.Err()
		}
		if err == nil && (len(m.stack) > maxStack || len(m.memo) > maxMemo) {
			err = errors.New("too many values")
		}
		if err != nil {
			return nil, fmt.Errorf("data.pkl: byte %d: %w", at, err)
		}
	}
}

// step executes one operation. The codes are those of pickletools.py.
func (m *machine) step(op byte) error {
	if v, ok := m.literal(op); ok {
		m.push(v)
		return nil
	}
	switch op {
	case 0x80: // PROTO
		if v := m.c.Uint8(); v < 2 || v > 5 {
			return fmt.Errorf("protocol %d, want 2 to 5", v)
		}
		return nil
	case 0x95: // FRAME
		m.c.Bytes(8)
		return nil
	case '(': // MARK
		m.marks = append(m.marks, len(m.stack))
		return nil
	case 'q', 'r', 0x94: // BINPUT, LONG_BINPUT, MEMOIZE
		return m.remember(op)
	case 'h', 'j': // BINGET, LONG_BINGET
		v, ok := m.memo[m.index(op == 'h')]
		if !ok {
			return errors.New("a value that was not stored")
		}
		m.push(v)
		return nil
	case '0': // POP
		_, err := m.pop()
		return err
	case 't', 0x85, 0x86, 0x87: // TUPLE, TUPLE1, TUPLE2, TUPLE3
		return m.tuple(op)
	case 'c', 0x93: // GLOBAL, STACK_GLOBAL
		return m.global(op)
	case 'Q': // BINPERSID
		return m.persistent()
	case 'R': // REDUCE
		return m.reduce()
	case 'b': // BUILD
		return m.build()
	case 's', 'u', 'a', 'e': // SETITEM, SETITEMS, APPEND, APPENDS
		return m.fill(op)
	}
	return fmt.Errorf("operation %#02x, which is not known here and not run", op)
}

// literal returns the value of an operation that only pushes one.
func (m *machine) literal(op byte) (Value, bool) {
	c := m.c
	switch op {
	case 'N':
		return nil, true
	case 0x88:
		return true, true
	case 0x89:
		return false, true
	case '}':
		return new(Dict), true
	case ']':
		return new(list), true
	case ')':
		return tuple{}, true
	case 'K':
		return int64(c.Uint8()), true
	case 'M':
		return int64(c.Uint16()), true
	case 'J':
		return int64(c.Int32()), true
	case 0x8a: // LONG1: two's complement of any length
		return long(c.Bytes(c.Uint8())), true
	case 'G':
		if b := c.Bytes(8); b != nil {
			return math.Float64frombits(binary.BigEndian.Uint64(b)), true
		}
		return nil, true
	case 'X': // BINUNICODE
		return string(c.Bytes(int(c.Uint32()))), true
	case 0x8c: // SHORT_BINUNICODE
		return string(c.Bytes(c.Uint8())), true
	}
	return nil, false
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

func (m *machine) pop() (Value, error) {
	last := len(m.stack) - 1
	if last < 0 || len(m.marks) > 0 && last < m.marks[len(m.marks)-1] {
		return nil, errors.New("the stack is empty")
	}
	v := m.stack[last]
	m.stack = m.stack[:last]
	return v, nil
}

// top returns the value on top of the stack, to be changed in place.
func (m *machine) top() (Value, error) {
	if len(m.stack) == 0 {
		return nil, errors.New("the stack is empty")
	}
	return m.stack[len(m.stack)-1], nil
}

// popMark pops and returns what was pushed since the last mark.
func (m *machine) popMark() ([]Value, error) {
	if len(m.marks) == 0 {
		return nil, errors.New("there is no mark")
	}
	at := m.marks[len(m.marks)-1]
	m.marks = m.marks[:len(m.marks)-1]
	values := append([]Value{}, m.stack[at:]...)
	m.stack = m.stack[:at]
	return values, nil
}

// popN pops and returns the last n values.
func (m *machine) popN(n int) ([]Value, error) {
	values := make([]Value, n)
	for i := n - 1; i >= 0; i-- {
		v, err := m.pop()
		if err != nil {
			return nil, err
		}
		values[i] = v
	}
	return values, nil
}

func (m *machine) index(short bool) int64 {
	if short {
		return int64(m.c.Uint8())
	}
	return m.c.Uint32()
}

func (m *machine) remember(op byte) error {
	at := int64(len(m.memo))
	if op != 0x94 {
		at = m.index(op == 'q')
	}
	v, err := m.top()
	if err == nil {
		m.memo[at] = v
	}
	return err
}

func (m *machine) tuple(op byte) error {
	var values []Value
	var err error
	if op == 't' {
		values, err = m.popMark()
	} else {
		values, err = m.popN(int(op) - 0x84)
	}
	if err == nil {
		m.push(tuple(values))
	}
	return err
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

func (m *machine) global(op byte) error {
	if op == 'c' {
		g := global{m.line(), m.line()}
		m.push(g)
		return nil
	}
	names, err := m.popN(2)
	if err != nil {
		return err
	}
	module, ok1 := names[0].(string)
	name, ok2 := names[1].(string)
	if !ok1 || !ok2 {
		return errors.New("a name that is no text")
	}
	m.push(global{module, name})
	return nil
}

// persistent replaces ('storage', kind, key, device, length) by the storage.
func (m *machine) persistent() error {
	v, err := m.pop()
	if err != nil {
		return err
	}
	id, ok := v.(tuple)
	if !ok || len(id) < 5 || id[0] != Value("storage") {
		return errors.New("a reference that is no storage")
	}
	g, ok1 := id[1].(global)
	key, ok2 := id[2].(string)
	length, ok3 := id[4].(int64)
	if !ok1 || !ok2 || !ok3 {
		return fmt.Errorf("a storage of %T, %T, %T", id[1], id[2], id[4])
	}
	kind, ok := storageKinds[g.name]
	if !ok || g.module != "torch" {
		return fmt.Errorf("a storage of type %s", g.String())
	}
	data, err := m.storage(key)
	if err != nil {
		return err
	}
	if have := int64(len(data) / kind.size); length < 0 || length > have {
		return fmt.Errorf("storage %.40q of %d %s, the archive has %d", key, length, kind.name, have)
	}
	m.push(&storage{kind, data[:int(length)*kind.size]})
	return nil
}

// reduce handles a call of one of the two known functions. It executes nothing.
func (m *machine) reduce() error {
	pair, err := m.popN(2)
	if err != nil {
		return err
	}
	args, ok := pair[1].(tuple)
	if !ok {
		return errors.New("a call without arguments")
	}
	switch pair[0] {
	case global{"torch._utils", "_rebuild_tensor_v2"}:
		t, err := newTensor(args)
		if err != nil {
			return err
		}
		m.push(t)
		return nil
	case global{"torch._utils", "_rebuild_parameter"}:
		if len(args) > 0 {
			if t, ok := args[0].(*Tensor); ok {
				m.push(t)
				return nil
			}
		}
		return errors.New("a parameter that is no tensor")
	case global{"collections", "OrderedDict"}:
		if len(args) == 0 {
			m.push(new(Dict))
			return nil
		}
	}
	called := "what is no function"
	if g, ok := pair[0].(global); ok {
		called = g.String()
	}
	return fmt.Errorf("it calls %s, which is not run: only tensors, numbers and text are read", called)
}

// build sets the attributes of an object. Those of an ordered dictionary (state_dict
// has _metadata) are ignored.
func (m *machine) build() error {
	if _, err := m.pop(); err != nil {
		return err
	}
	v, err := m.top()
	if err != nil {
		return err
	}
	if _, ok := v.(*Dict); !ok {
		return fmt.Errorf("attributes of a %T", v)
	}
	return nil
}

// fill adds items to the list or dictionary on the stack.
func (m *machine) fill(op byte) error {
	var values []Value
	var err error
	switch op {
	case 'u', 'e':
		values, err = m.popMark()
	case 's':
		values, err = m.popN(2)
	default:
		values, err = m.popN(1)
	}
	if err != nil {
		return err
	}
	v, err := m.top()
	if err != nil {
		return err
	}
	if l, ok := v.(*list); ok && (op == 'a' || op == 'e') {
		l.values = append(l.values, values...)
		if len(l.values) > maxStack {
			return errors.New("too long a list")
		}
		return nil
	}
	d, ok := v.(*Dict)
	if !ok || op == 'a' || op == 'e' || len(values)%2 != 0 {
		return fmt.Errorf("%d values put into a %T", len(values), v)
	}
	for i := 0; i < len(values); i += 2 {
		if err := d.set(values[i], values[i+1]); err != nil {
			return err
		}
	}
	return nil
}

package torch

import (
	"slices"

	"verity/internal/tensor"
	"verity/internal/weights"
)

// A Value is one of nil, bool, int64, float64, string, *Dict or *Tensor, or of a type that
// only this package knows. Values hold each other, also themselves, and one of 461 bytes can
// stand for 2⁴⁰ others: nothing here prints what a value holds, only its type (%T).
type Value any

type (
	tuple []Value
	list  struct{ values []Value }
)

// A Dict is a dictionary, in insertion order.
type Dict struct {
	Keys   []Value
	values map[Value]Value
}

// Get returns the value of a string key.
func (d *Dict) Get(key string) (Value, bool) {
	v, ok := d.values[key]
	return v, ok
}

// set adds a key or replaces its value. Only strings and integers are keys.
func (d *Dict) set(key, v Value) {
	switch key.(type) {
	case string, int64:
	default:
		fail("a key of type %T", key)
	}
	if _, ok := d.values[key]; !ok {
		d.Keys = append(d.Keys, key)
	}
	if d.values == nil {
		d.values = map[Value]Value{}
	}
	d.values[key] = v
}

// A Tensor is a part of a storage, with a shape.
type Tensor struct {
	Shape []int
	kind  storageKind
	data  []byte
}

// Entry returns the tensor as an entry with a name.
func (t *Tensor) Entry(name string) weights.Entry {
	return weights.Entry{Name: name, Shape: t.Shape, Type: t.kind.name, DType: t.kind.dtype, Data: t.data}
}

// A storageKind is an element type.
type storageKind struct {
	name  string
	size  int
	dtype tensor.DType // 0 if the network does not use this type
}

var storageKinds = map[string]storageKind{
	"FloatStorage":    {"float32", 4, tensor.F32},
	"HalfStorage":     {"float16", 2, tensor.F16},
	"BFloat16Storage": {"bfloat16", 2, tensor.BF16},
	"DoubleStorage":   {"float64", 8, 0},
	"LongStorage":     {"int64", 8, 0},
	"IntStorage":      {"int32", 4, 0},
	"ShortStorage":    {"int16", 2, 0},
	"CharStorage":     {"int8", 1, 0},
	"ByteStorage":     {"uint8", 1, 0},
	"BoolStorage":     {"bool", 1, 0},
}

// A storage is the memory of one or more tensors.
type storage struct {
	kind storageKind
	data []byte
}

// newTensor does what _rebuild_tensor_v2 does, given the storage, the first element,
// the shape and the strides. The tensor must be dense and row-major.
func newTensor(args tuple) *Tensor {
	if len(args) < 4 {
		fail("a tensor of %d arguments", len(args))
	}
	s, isStorage := args[0].(*storage)
	first, isInt := args[1].(int64)
	shape, ok1 := ints(args[2])
	strides, ok2 := ints(args[3])
	if !isStorage || !isInt || !ok1 || !ok2 || len(shape) != len(strides) || len(shape) > maxDims {
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
	have := int64(len(s.data) / s.kind.size)
	if first < 0 || first > have || int64(n) > have-first {
		fail("a tensor of shape %v from element %d, its storage has %d", shape, first, have)
	}
	at := int(first) * s.kind.size
	end := at + n*s.kind.size
	return &Tensor{shape, s.kind, s.data[at:end:end]}
}

const maxDims = 8

// ints returns the numbers of a tuple.
func ints(v Value) ([]int, bool) {
	values, ok := v.(tuple)
	if !ok {
		return nil, false
	}
	numbers := make([]int, len(values))
	for i, x := range values {
		n, ok := x.(int64)
		if !ok || n != int64(int(n)) {
			return nil, false
		}
		numbers[i] = int(n)
	}
	return numbers, true
}

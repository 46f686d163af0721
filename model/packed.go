package model

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"verity/internal/quant"
	"verity/internal/safetensors"
	"verity/internal/tensor"
)

// What a weight in few bits is split into; package quant has the layout.
const (
	codesPart  = "_packed"
	scalesPart = "_scale"
	zerosPart  = "_zero"
)

// A Stored is a weight as its file holds it.
type Stored struct {
	Shape  []int
	DType  tensor.DType  // of what Checkpoint.Tensor returns
	Data   []byte        // of a weight in few bits, the codes
	Packed *quant.Matrix // of a weight in few bits, else nil
}

// Bytes returns what the weight takes in its file.
func (s Stored) Bytes() int64 {
	if s.Packed == nil {
		return int64(len(s.Data))
	}
	return int64(len(s.Packed.Codes) + len(s.Packed.Scales) + len(s.Packed.Zeros))
}

// String describes the weight, as in "[512 512] f16" or "[512 512] int4".
func (s Stored) String() string {
	if s.Packed != nil {
		return fmt.Sprintf("%v %v", s.Shape, s.Packed.Format)
	}
	return fmt.Sprintf("%v %v", s.Shape, s.DType)
}

// Quantized returns the format most weights in few bits are in, "" if there are none.
func (c *Checkpoint) Quantized() string {
	count := map[string]int{}
	best := ""
	for s := range c.all() {
		if s.Packed != nil {
			f := s.Packed.Format.String()
			if count[f] += s.Packed.Rows * s.Packed.Cols; count[f] > count[best] {
				best = f
			}
		}
	}
	return best
}

// join makes one weight of the parts that the files hold of each in few bits.
func (w *weights) join() error {
	parts := map[string]map[string]weight{}
	w.order = slices.DeleteFunc(w.order, func(key string) bool {
		for _, part := range []string{codesPart, scalesPart, zerosPart} {
			if name, ok := strings.CutSuffix(key, ".weight"+part); ok {
				name += ".weight"
				if parts[name] == nil {
					parts[name] = map[string]weight{}
				}
				parts[name][part] = w.tensors[key]
				delete(w.tensors, key)
				return part != codesPart
			}
		}
		return false
	})
	for i, key := range w.order {
		name, ok := strings.CutSuffix(key, codesPart)
		if _, whole := w.tensors[key]; !ok || whole {
			continue
		}
		if _, twice := w.tensors[name]; twice {
			return fmt.Errorf("%s: tensor %s is there twice, once in few bits", w.name, name)
		}
		t := parts[name][codesPart]
		m, err := packed(parts[name])
		if err != nil {
			return &TensorError{File: t.shard, Name: t.name, Err: fmt.Errorf("%w: %w", ErrDType, err)}
		}
		t.packed = m
		w.tensors[name], w.order[i] = t, name
		delete(parts, name)
	}
	for name, p := range parts {
		for part, t := range p { // scales without codes
			return &TensorError{File: t.shard, Name: strings.TrimSuffix(t.name, part) + codesPart, Err: ErrMissing,
				Want: "the codes of " + name}
		}
	}
	return nil
}

// packed returns the matrix that the parts make. Its format follows from their
// types and lengths.
func packed(parts map[string]weight) (*quant.Matrix, error) {
	part := func(name string, dtypes ...string) (b []byte, i safetensors.Info, err error) {
		t := parts[name]
		if t.file == nil {
			return nil, i, fmt.Errorf("tensor %s%s is missing", strings.TrimSuffix(parts[codesPart].name, codesPart), name)
		}
		b, i, _ = t.file.Bytes(t.name)
		if !slices.Contains(dtypes, i.DType) || len(i.Shape) != 2 {
			return nil, i, fmt.Errorf("tensor %s is %v, want a matrix of %v", t.name, i, dtypes)
		}
		return b, i, nil
	}
	codes, ci, err := part(codesPart, "U8")
	if err != nil {
		return nil, err
	}
	scales, si, err := part(scalesPart, "F16", "F8_E8M0")
	if err != nil {
		return nil, err
	}
	m := &quant.Matrix{Rows: ci.Shape[0], Cols: si.Shape[1] * quant.Group, Codes: codes, Scales: scales}
	if _, ok := parts[zerosPart]; ok {
		if m.Zeros, _, err = part(zerosPart, "U8"); err != nil {
			return nil, err
		}
	}
	for _, f := range quant.Formats() {
		nc, ns, nz := f.Sizes(m.Cols)
		if nc == ci.Shape[1] && (f.ScaleBytes() == 1) == (si.DType != "F16") && ns == si.Shape[1]*f.ScaleBytes() && (nz > 0) == (len(m.Zeros) > 0) {
			m.Format = f
			return m, m.Check()
		}
	}
	return nil, fmt.Errorf("%v with scales %v are of no known format", ci, si)
}

// expand returns all of m as binary16, which holds every weight exactly.
func expand(m *quant.Matrix) tensor.Tensor {
	t := tensor.Tensor{DType: tensor.F16, Shape: []int{m.Rows, m.Cols}, Data: make([]byte, 2*m.Rows*m.Cols)}
	var wg sync.WaitGroup
	step := max(64, m.Rows/runtime.GOMAXPROCS(0)+1)
	for lo := 0; lo < m.Rows; lo += step {
		wg.Go(func() {
			for row := lo; row < min(m.Rows, lo+step); row++ {
				m.Halves(row, t.Data[2*row*m.Cols:][:2*m.Cols])
			}
		})
	}
	wg.Wait()
	return t
}

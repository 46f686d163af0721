package model

import (
	"fmt"
	"slices"
	"strings"

	"verity/internal/quant"
)

// The parts of a few-bit weight in the files; package quant has the layout. An int8 weight has its
// codes under its own name.
const (
	codesPart  = "_packed"
	scalesPart = "_scale"
	zerosPart  = "_zero"
)

// join makes one weight of the parts of each few-bit weight.
func (s *store) join() error {
	for i, key := range s.order {
		name, ok := strings.CutSuffix(key, codesPart)
		if !ok || !strings.HasSuffix(name, ".weight") {
			continue
		}
		if _, twice := s.weights[name]; twice {
			return fmt.Errorf("%s: tensor %s is there twice, once in few bits; convert the model again", s.name, name)
		}
		w := s.weights[key]
		m, err := s.packed(name)
		if err != nil {
			return &TensorError{File: w.Shard, Name: w.Name, Err: fmt.Errorf("%w: %w", ErrDType, err)}
		}
		for _, part := range []string{codesPart, scalesPart, zerosPart} {
			delete(s.weights, name+part)
		}
		s.weights[name], s.order[i] = w.Expanded(m), name
	}
	if err := s.joinRows(); err != nil {
		return err
	}
	s.order = slices.DeleteFunc(s.order, func(key string) bool { _, ok := s.weights[key]; return !ok })
	for _, key := range s.order {
		for _, part := range []string{scalesPart, zerosPart} {
			if name, ok := strings.CutSuffix(key, ".weight"+part); ok { // without codes
				w := s.weights[key]
				return &TensorError{File: w.Shard, Name: strings.TrimSuffix(w.Name, part) + codesPart, Err: ErrMissing,
					Want: "the codes of " + name + ".weight"}
			}
		}
	}
	return nil
}

// joinRows makes one weight of the codes and the scales of each int8 weight.
func (s *store) joinRows() error {
	for _, key := range s.order {
		w := s.weights[key]
		scales, scaled := s.weights[key+scalesPart]
		if w.Type != "I8" || !scaled || !strings.HasSuffix(key, ".weight") {
			continue
		}
		if len(w.Shape) != 2 || scales.Type != "F32" || !slices.Equal(scales.Shape, []int{w.Shape[0], 1}) {
			return &TensorError{File: w.Shard, Name: w.Name, Got: fmt.Sprintf("%v with scales %v", w, scales),
				Want: "a matrix with a float32 scale for each row", Err: ErrDType}
		}
		m := &quant.RowMatrix{Rows: w.Shape[0], Cols: w.Shape[1], Codes: w.Data, Scales: scales.Data}
		if err := m.Check(); err != nil {
			return &TensorError{File: w.Shard, Name: w.Name, Err: fmt.Errorf("%w: %w", ErrDType, err)}
		}
		delete(s.weights, key+scalesPart)
		s.weights[key] = w.ExpandedRows(m)
	}
	return nil
}

// packed returns the matrix that the parts of a weight make. Its format follows from their
// types and lengths.
func (s *store) packed(name string) (*quant.Matrix, error) {
	part := func(suffix string, types ...string) (Weight, error) {
		w, there := s.weights[name+suffix]
		switch {
		case !there:
			return w, fmt.Errorf("tensor %s%s is missing",
				strings.TrimSuffix(s.weights[name+codesPart].Name, codesPart), suffix)
		case !slices.Contains(types, w.Type) || len(w.Shape) != 2:
			return w, fmt.Errorf("tensor %s is %v, want a matrix of %v", w.Name, w, types)
		}
		return w, nil
	}
	codes, err := part(codesPart, "U8")
	if err != nil {
		return nil, err
	}
	scales, err := part(scalesPart, "F16", "F8_E8M0")
	if err != nil {
		return nil, err
	}
	m := &quant.Matrix{Rows: codes.Shape[0], Cols: scales.Shape[1] * quant.Group, Codes: codes.Data,
		Scales: scales.Data}
	if _, ok := s.weights[name+zerosPart]; ok {
		zeros, err := part(zerosPart, "U8")
		if err != nil {
			return nil, err
		}
		m.Zeros = zeros.Data
	}
	for _, f := range quant.Formats() {
		nc, ns, nz := f.Sizes(m.Cols)
		if nc == codes.Shape[1] && (f.ScaleBytes() == 1) == (scales.Type != "F16") &&
			ns == scales.Shape[1]*f.ScaleBytes() && (nz > 0) == (len(m.Zeros) > 0) {
			m.Format = f
			return m, m.Check()
		}
	}
	return nil, fmt.Errorf("%v with scales %v are of no known format", codes, scales)
}

package weights

import (
	"verity/internal/quant"
	"verity/internal/tensor"
	"verity/precision"
)

// A Weight is a tensor of a checkpoint that has not been read yet.
type Weight struct {
	Entry
	Packed *quant.Matrix    // of a weight in groups, else nil
	ByRow  *quant.RowMatrix // of an int8 weight, else nil

	Shard string // the name of the file it is in, or should be
	File  *File  // nil if the weight was made
}

// Fetch brings rows lo … hi-1 of the weight into memory, since they will be used soon. It
// waits for the disk where the system can do that. Of few-bit weights it fetches the codes.
func (w Weight) Fetch(lo, hi int) {
	if b := w.rowBytes(lo, hi); b != nil {
		w.File.Fetch(b)
	}
}

// Drop releases the memory that rows lo … hi-1 of a mapped weight occupy, once their values
// have been copied elsewhere. They can be read again, from the file.
func (w Weight) Drop(lo, hi int) {
	if b := w.rowBytes(lo, hi); b != nil {
		w.File.Drop(b)
	}
}

// rowBytes returns the bytes of rows in the file; nil if the weight is in no file.
func (w Weight) rowBytes(lo, hi int) []byte {
	if w.File == nil || len(w.Shape) == 0 || w.Shape[0] == 0 {
		return nil
	}
	row := len(w.Data) / w.Shape[0]
	return w.Data[lo*row : hi*row]
}

// Bytes returns the stored size of the weight.
func (w Weight) Bytes() int {
	if w.Packed != nil {
		return len(w.Packed.Codes) + len(w.Packed.Scales) + len(w.Packed.Zeros)
	}
	if w.ByRow != nil {
		return len(w.ByRow.Codes) + len(w.ByRow.Scales)
	}
	return len(w.Data)
}

// Expanded returns w, the codes of m, as the weight itself: its values are binary16,
// which holds each of them exactly.
func (w Weight) Expanded(m *quant.Matrix) Weight {
	w.Packed = m
	w.Shape, w.Type, w.DType = []int{m.Rows, m.Cols}, m.Format.String(), tensor.F16
	w.Decode = func(dst []byte, row int) { m.Halves(row, dst) }
	return w
}

// ExpandedRows returns w, the codes of m, as the weight itself, with values in float32.
func (w Weight) ExpandedRows(m *quant.RowMatrix) Weight {
	w.ByRow = m
	w.Type, w.DType = precision.Int8.String(), tensor.F32
	w.Decode = Floats(m.Cols, func(dst []float32, row int) { m.Floats(row, dst) })
	return w
}

// Stored returns the format of a weight that Verity quantised; Auto for any other.
func (w Weight) Stored() precision.Format {
	switch {
	case w.Packed != nil:
		return precision.Format(w.Packed.Format)
	case w.ByRow != nil:
		return precision.Int8
	}
	return precision.Auto
}

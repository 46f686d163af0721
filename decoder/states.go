package decoder

import "verity/internal/kernel"

// States are the outputs of the last norm at the positions of one sequence: all that a
// decoder knows before it chooses. An assistant trained on its target's states knows from
// them much about the coming sound.
//
// The target's session writes the states, and the assistant's session reads them: a
// linear product of the state at the position before is added to the input of its row.
// For positions that the target has not reached, inside a draft, it uses the assistant's
// own states. The state of a silent row, as in a prompt, is zeros.
type States struct {
	width int
	data  []float32 // [TextPositions][width]
}

// NewStates returns states for one sequence of d, all zeros.
func (d *Decoder) NewStates() *States {
	return &States{d.dims.TextWidth, make([]float32, d.dims.TextPositions*d.dims.TextWidth)}
}

func (s *States) at(position int) []float32 {
	return s.data[position*s.width : (position+1)*s.width]
}

// ReadsStates reports whether d was trained on its target's states, so that its sessions
// need SessionOptions.States.
func (d *Decoder) ReadsStates() bool { return d.states.W != nil }

// addStates adds to x, the inputs of rows, the product of the states before them. y is
// scratch memory of the same size.
func (d *Decoder) addStates(x, y []float32, rows []Row) {
	if !d.ReadsStates() {
		return
	}
	width := d.dims.TextWidth
	for i, r := range rows {
		at := y[i*width : (i+1)*width]
		clear(at)
		if s := r.Stream.states; s != nil && r.Position > 0 {
			copy(at, s.at(r.Position-1))
		}
	}
	d.states.Apply(d.pool, x, y, len(rows), width, kernel.StoreAdd)
}

// keepStates keeps the states, in y, of the rows that are not silent.
func (d *Decoder) keepStates(y []float32, rows []Row) {
	width, loud := d.dims.TextWidth, 0
	for _, r := range rows {
		if r.Silent {
			continue
		}
		if r.Stream.states != nil {
			copy(r.Stream.states.at(r.Position), y[loud*width:(loud+1)*width])
		}
		loud++
	}
}

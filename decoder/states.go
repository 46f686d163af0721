package decoder

import "verity/internal/kernel"

// States are what the last norm gave at the positions of one sequence: all that a
// decoder knows before it chooses. An assistant trained on its target's states knows
// much of what the target knows of the sound to come.
//
// The target's session writes them, and the assistant's session reads them: the input of
// its row at a position has, added to it, a product of the state one position before.
// Where the target has not been yet, which is inside a draft, it is the assistant's own
// state. A position has a state of zeros if its row was silent, as in a prompt.
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

// addStates adds to x, the inputs of rows, what comes of the states before them. y is
// room of the same size.
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

// keepStates keeps the states of the rows that are not silent, which y holds.
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

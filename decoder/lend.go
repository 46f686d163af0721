package decoder

import "context"

// A Stepper runs the rows of sessions: *Decoder at once, a schedule.Member together with
// those of others.
type Stepper interface {
	// Lend runs rows and returns the logits [rows not silent][Vocab]. They are valid until
	// the caller's next call, and lie in own, grown as needed, or in memory of the stepper.
	Lend(ctx context.Context, rows []Row, own *[]float32) ([]float32, error)
}

// Lend runs rows and returns their logits, in own.
func (d *Decoder) Lend(ctx context.Context, rows []Row, own *[]float32) ([]float32, error) {
	n := 0
	for _, r := range rows {
		if !r.Silent {
			n += d.dims.Vocab
		}
	}
	if cap(*own) < n {
		*own = make([]float32, n)
	}
	logits := (*own)[:n]
	return logits, d.Step(ctx, rows, logits)
}

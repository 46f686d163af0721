package quantize

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"verity/internal/quant"
	"verity/model"
	"verity/parallel"
)

// A Method is a way to round weights.
type Method string

// The methods, as in the package documentation.
const (
	Nearest Method = "rtn"
	GPTQ    Method = "gptq"
)

// Options say what to write. Format is required.
type Options struct {
	Format string // of matrices: "int4" or "mxfp6"
	Head   string // of the token embedding, which is the vocabulary head too; empty means Format

	// Calibrate runs the model on speech: it makes networks of c, which is watched. GPTQ
	// needs it; without it weights are rounded to nearest, and errors are those of weights.
	// It is called again for each part of a model whose statistics do not fit into Memory.
	Calibrate func(ctx context.Context, c *model.Checkpoint) error

	// Calibration describes what the result of Calibrate depends on: a run with another value
	// does not continue this one.
	Calibration string

	Memory   int64                            // limit of the statistics of inputs; 0 means 2 GiB
	Pool     *parallel.Pool                   // runs the arithmetic; nil means the caller's goroutine alone
	Progress func(l Layer, done, total int64) // called for every finished weight, also those of an earlier run
}

// An OptionError reports an Options field with an invalid value.
type OptionError struct {
	Field  string
	Value  any
	Reason string
}

func (e *OptionError) Error() string {
	return fmt.Sprintf("quantize: option %s = %v: %s", e.Field, e.Value, e.Reason)
}

// Formats returns the names that Options.Format can have.
func Formats() []string { return []string{"int4", "mxfp6"} }

func (o *Options) formats() (body, head quant.Format, err error) {
	parse := func(field, name string) quant.Format {
		f, e := quant.Parse(name)
		if (e != nil || f == quant.Int4Zero) && err == nil {
			err = &OptionError{field, name, "want " + strings.Join(Formats(), " or ")}
		}
		return f
	}
	body = parse("Format", o.Format)
	head = parse("Head", cmp.Or(o.Head, o.Format))
	return body, head, err
}

// Write writes c with few-bit weights to a directory, and returns the result for each
// weight. A run that was stopped continues when it is started again with the same
// options. A checkpoint that this program wrote is overwritten; a directory with anything
// else is an error.
func Write(ctx context.Context, c *model.Checkpoint, dir string, o Options) ([]Layer, error) {
	body, head, err := o.formats()
	if err != nil {
		return nil, err
	}
	if c.Quantized() != "" {
		return nil, fmt.Errorf("%s is in few bits already (%s): name the model it was made from", c.Name, c.Quantized())
	}
	o.Memory = cmp.Or(o.Memory, 2<<30)
	j, err := openJournal(dir, fmt.Sprintf("%s %s %v %s %s",
		o.Format, o.Head, o.Calibrate != nil, o.Calibration, outline(c)))
	if err != nil {
		return nil, err
	}
	r := &run{Options: o, from: c, journal: j}
	if err := r.plan(body, head); err != nil {
		return nil, err
	}
	for len(r.todo) > 0 {
		if err := r.part(ctx); err != nil {
			return nil, err
		}
	}
	return r.layers(), c.Reading(func() error { return r.assemble(ctx) })
}

func outline(c *model.Checkpoint) string {
	return fmt.Sprintf("%s %+v %d", c.Name, c.Dims, c.Bytes())
}

// A run is one call of Write.
type run struct {
	Options
	from    *model.Checkpoint
	journal *journal
	todo    []task
	total   int64
	done    int64
}

// A task is a weight to be done.
type task struct {
	name       string
	rows, cols int
	format     quant.Format
	inputs     string // the weight whose inputs it shares: its own, or the first of those multiplied together
}

const embedding = "decoder.embed_tokens.weight"

// plan lists the matrices in the order of the network, and reports those already done.
func (r *run) plan(body, head quant.Format) error {
	untied := slices.Contains(r.from.Names(), "proj_out.weight") // the embedding is then not a factor
	for name, shape := range r.weights {
		if !packable(name, shape) || name == embedding && untied {
			continue
		}
		r.total += int64(shape[0]) * int64(shape[1])
		if l, ok := r.journal.done[name]; ok {
			r.tell(l)
			continue
		}
		t := task{name: name, rows: shape[0], cols: shape[1], format: body, inputs: inputsOf(name)}
		if name == embedding {
			t.format = head
		}
		r.todo = append(r.todo, t)
	}
	if r.total == 0 {
		return fmt.Errorf("%s: no matrix has rows of whole groups of %d weights", r.from.Name, quant.Group)
	}
	return nil
}

// weights yields the name and shape of every weight that the checkpoint has of its
// network, in the network's order. An assistant may lack the encoder. The loops over it
// have no break.
func (r *run) weights(yield func(name string, shape []int) bool) {
	if r.from.Has("encoder.") {
		r.from.Dims.EncoderWeights()(yield)
	}
	r.from.Dims.DecoderWeights()(yield)
}

// packable reports whether a weight is quantised.
func packable(name string, shape []int) bool {
	return len(shape) == 2 && shape[1]%quant.Group == 0 && !strings.Contains(name, "embed_positions")
}

// inputsOf returns the name under which the inputs of a weight are watched: queries, keys
// and values of a layer are one product.
func inputsOf(name string) string {
	for old, first := range map[string]string{
		"self_attn.k_proj": "self_attn.q_proj", "self_attn.v_proj": "self_attn.q_proj",
		"encoder_attn.v_proj": "encoder_attn.k_proj",
	} {
		if strings.Contains(name, old) {
			return strings.Replace(name, old, first, 1)
		}
	}
	return name
}

func (r *run) tell(l Layer) {
	r.done += l.Weights
	if r.Progress != nil {
		r.Progress(l, r.done, r.total)
	}
}

// part does as many weights as the memory for statistics allows.
func (r *run) part(ctx context.Context) error {
	l := &listener{pool: r.Pool, of: map[string]*hessian{}}
	n, bytes := 0, int64(0)
	for ; n < len(r.todo); n++ {
		t := r.todo[n]
		if r.Calibrate == nil || l.of[t.inputs] != nil {
			continue
		}
		if bytes += hessianBytes(t.cols); n > 0 && bytes > r.Memory {
			break
		}
		l.of[t.inputs] = newHessian(t.cols)
	}
	if r.Calibrate != nil {
		if err := r.Calibrate(ctx, r.from.Watched(l.see)); err != nil {
			return err
		}
		if err := l.finish(); err != nil {
			return err
		}
	}
	if err := r.code(ctx, r.todo[:n], l); err != nil {
		return err
	}
	r.todo = r.todo[n:]
	return nil
}

// code quantises weights. All weights with the same inputs share a solver.
func (r *run) code(ctx context.Context, tasks []task, l *listener) error {
	var (
		s    *solver
		last string
	)
	for _, t := range tasks {
		if err := ctx.Err(); err != nil {
			return err
		}
		w, err := r.read(t, l.of[t.inputs])
		if err != nil {
			return err
		}
		if w.h != nil && t.inputs != last {
			if s, err = newSolver(w.h, w.hm); err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
			last = t.inputs
		}
		m, layer := w.code(r.Pool, t.format, s)
		if err := r.journal.put(layer, m); err != nil {
			return err
		}
		r.tell(layer)
	}
	return nil
}

// read returns a weight in float32, after checking its values.
func (r *run) read(t task, h *hessian) (*weight, error) {
	stored, err := r.from.Weight(t.name, t.rows, t.cols)
	if err != nil {
		return nil, err
	}
	w := &weight{name: t.name, rows: t.rows, cols: t.cols, h: h}
	if err := r.from.Reading(func() error { w.w = stored.Tensor().Float32(); return nil }); err != nil {
		return nil, err
	}
	stored.Drop(0, t.rows)
	for i, v := range w.w {
		if !(v >= -quant.Largest && v <= quant.Largest) {
			return nil, fmt.Errorf("%s: tensor %s: weight %d is %v, want at most %d",
				r.from.Name, t.name, i, v, quant.Largest)
		}
	}
	if h != nil {
		if w.hm, err = h.matrix(); err != nil {
			return nil, err
		}
	}
	w.ref = w.energy(r.Pool, w.w)
	return w, nil
}

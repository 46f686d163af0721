package quantize

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"verity/internal/output"
	"verity/internal/quant"
	"verity/internal/show"
	"verity/model"
	"verity/parallel"
	"verity/precision"
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
	// Format is that of matrices: "int8", "mxfp6" or "int4".
	Format string

	// Calibrate runs the model on speech: it makes networks of c, which is watched. GPTQ
	// needs it; without it weights are rounded to nearest, and errors are those of weights.
	// It is called again for each part of a model whose statistics do not fit into Memory.
	Calibrate func(ctx context.Context, c *model.Checkpoint) error

	Memory   int64                   // limit of the statistics of inputs; 0 means 2 GiB
	Pool     *parallel.Pool          // runs the arithmetic; nil means the caller's goroutine alone
	Progress func(done, total int64) // called for every finished weight, with numbers of parameters
}

// Formats returns the names of the formats in Options.Format.
func Formats() []string { return []string{"int8", "mxfp6", "int4"} }

// ParseFormat reads Options.Format. The error says what it may be.
func ParseFormat(text string) (precision.Format, error) {
	f, err := precision.ParseFormat(text)
	if err != nil || !slices.Contains(Formats(), text) {
		return precision.Auto, fmt.Errorf("want %s", show.JoinOr(Formats()))
	}
	return f, nil
}

// ErrQuantised is the cause if the checkpoint has few bits already.
var ErrQuantised = errors.New("is quantized already")

// Write writes c with few-bit weights to a directory, and returns the result for each
// weight. A checkpoint that this program wrote is overwritten; a directory with anything
// else is an error.
func Write(ctx context.Context, c *model.Checkpoint, dir string, o Options) ([]Result, error) {
	format, err := ParseFormat(o.Format)
	if err != nil {
		return nil, fmt.Errorf("format %q: %w", o.Format, err)
	}
	if c.Quantised() != "" {
		return nil, fmt.Errorf("%s %w, to %s; name the checkpoint that it was made from", c.Name, ErrQuantised, c.Quantised())
	}
	if err := output.CheckModel(dir, quantised); err != nil {
		return nil, err
	}
	o.Memory = cmp.Or(o.Memory, 2<<30)
	r := &run{Options: o, format: format, from: c, done: map[string]coded{}}
	if err := r.plan(); err != nil {
		return nil, err
	}
	err = output.WriteModel(dir, func(put output.FileWriter) error { // at once, so that hours of work have a place to go
		for len(r.todo) > 0 {
			if err := r.part(ctx); err != nil {
				return err
			}
		}
		return c.Reading(func() error { return r.assemble(ctx, put) })
	})
	return r.results, err
}

// A run is one call of Write.
type run struct {
	Options
	format  precision.Format
	from    *model.Checkpoint
	todo    []task
	done    map[string]coded
	results []Result // of done, in the order of the network
	weights int64    // of done
	total   int64
}

// A task is a weight to be done.
type task struct {
	name       string
	rows, cols int
	format     precision.Format
	inputs     string // the weight whose inputs it shares: its own, or the first of those multiplied together
}

const embedding = "decoder.embed_tokens.weight"

// plan lists the matrices in the order of the network.
func (r *run) plan() error {
	untied := slices.Contains(r.from.Names(), "proj_out.weight") // the embedding is then not a factor
	add := func(name string, shape []int) bool {
		if f := r.format; packable(name, shape, f) && (name != embedding || !untied) {
			r.todo = append(r.todo, task{name: name, rows: shape[0], cols: shape[1], format: f, inputs: inputsOf(name)})
			r.total += int64(shape[0]) * int64(shape[1])
		}
		return true
	}
	if r.from.Has("encoder.") { // an assistant may lack it
		r.from.Dims.EncoderWeights()(add)
	}
	r.from.Dims.DecoderWeights()(add)
	if len(r.todo) == 0 {
		return fmt.Errorf("%s: no matrix has rows of whole groups of %d weights", r.from.Name, quant.Group)
	}
	return nil
}

// packable reports whether a weight is quantised.
func packable(name string, shape []int, f precision.Format) bool {
	return len(shape) == 2 && (shape[1]%quant.Group == 0 || !f.Grouped()) && !strings.Contains(name, "embed_positions")
}

// calibrated reports whether the inputs of a weight are wanted: int8 is rounded to nearest in any case.
func (r *run) calibrated(t task) bool { return r.Calibrate != nil && t.format.Grouped() }

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

// part does as many weights as the memory for statistics allows.
func (r *run) part(ctx context.Context) error {
	l := &listener{pool: r.Pool, of: map[string]*hessian{}}
	n, bytes := 0, int64(0)
	for ; n < len(r.todo); n++ {
		t := r.todo[n]
		if !r.calibrated(t) || l.of[t.inputs] != nil {
			continue
		}
		if bytes += hessianBytes(t.cols); n > 0 && bytes > r.Memory {
			break
		}
		l.of[t.inputs] = newHessian(t.cols)
	}
	if len(l.of) > 0 {
		if err := r.Calibrate(ctx, r.from.Tapped(l.record)); err != nil {
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
		w, err := r.lazyWeight(t, l.of[t.inputs])
		if err != nil {
			return err
		}
		if w.h != nil && t.inputs != last {
			if s, err = newSolver(w.h); err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
			last = t.inputs
		}
		var result Result
		err = r.from.Reading(func() (err error) {
			if t.format == precision.Int8 {
				r.done[t.name], result, err = w.bytes()
			} else {
				r.done[t.name], result, err = w.code(r.Pool, quant.Format(t.format), s)
			}
			return err
		})
		if err != nil {
			return err
		}
		r.results = append(r.results, result)
		r.weights += result.Weights
		if r.Progress != nil {
			r.Progress(r.weights, r.total)
		}
	}
	return nil
}

// lazyWeight returns a weight whose rows are read when they are needed.
func (r *run) lazyWeight(t task, h *hessian) (w *weight, err error) {
	stored, err := r.from.Weight(t.name, t.rows, t.cols)
	if err != nil {
		return nil, err
	}
	w = &weight{name: t.name, rows: t.rows, cols: t.cols, h: h}
	w.read = func(lo, hi int) ([]float32, error) {
		x := stored.Rows(lo, hi).Float32()
		stored.Drop(lo, hi)
		for i, v := range x {
			if !(v >= -quant.Largest && v <= quant.Largest) {
				return nil, fmt.Errorf("%s: tensor %s: weight %d is %v, want at most %d",
					r.from.Name, t.name, lo*t.cols+i, v, quant.Largest)
			}
		}
		return x, nil
	}
	if h != nil { // anew for q, k and v, which share h: a copy costs little beside what is done with it
		w.hm, err = h.matrix()
	}
	return w, err
}

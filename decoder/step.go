package decoder

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"verity/internal/kernel"
	"verity/internal/layer"
	"verity/parallel"
)

// buffers are those of one step of at most rows rows.
type buffers struct {
	rows         int
	x, y, q      []float32        // [rows][width]
	normed       layer.NormedRows // in the memory of y
	hidden       []float32        // [rows][ffn]
	places       []kernel.Slot
	self, across []kernel.Span
	attend       kernel.Scratch
	finite       finiteJob
	recorder     *attentionRecorder // of attention weights; nil records none
}

// getBuffers returns buffers for n rows, from the free list if it has some.
func (d *Decoder) getBuffers(n int) *buffers {
	w := d.buffers.Get(func() *buffers { return new(buffers) })
	if w.rows >= n {
		return w
	}
	n = max(n, 16)
	width := d.dims.TextWidth
	*w = buffers{
		rows: n,
		x:    make([]float32, n*width), y: make([]float32, n*width), q: make([]float32, n*width),
		hidden: make([]float32, n*d.dims.TextFFN),
		places: make([]kernel.Slot, n),
		self:   make([]kernel.Span, n), across: make([]kernel.Span, n),
	}
	w.normed.Data = w.y
	return w
}

// Step runs rows through the network and writes the logits of those that want them, in
// order.
//
//	rows    any number, of any streams; see Row
//	logits  [rows with logits][Vocab], not filtered by any rule
//
// Row r's logits have the same bits whatever other rows there are. Afterwards each stream is
// longer by its rows. Step returns an error, and leaves every stream as it was, if a row's
// position is not the next of its stream, if its token is not in the vocabulary, if ctx ends (it
// is checked between layers), or if a logit is not a number.
func (d *Decoder) Step(ctx context.Context, rows []Row, logits []float32) error {
	return d.stepRecording(ctx, rows, logits, nil)
}

// StepInto is Step with a buffer for logits that grows as needed: see Runner.
func (d *Decoder) StepInto(ctx context.Context, rows []Row, buffer *[]float32) ([]float32, error) {
	n := d.LogitCount(rows)
	if cap(*buffer) < n {
		*buffer = make([]float32, n)
	}
	logits := (*buffer)[:n]
	return logits, d.Step(ctx, rows, logits)
}

// stepRecording is Step, and records attention weights in a unless that is nil.
func (d *Decoder) stepRecording(ctx context.Context, rows []Row, logits []float32, a *attentionRecorder) error {
	if err := d.check(rows, logits); err != nil {
		return err
	}
	began := time.Now()
	w := d.getBuffers(len(rows))
	defer d.buffers.Put(w, 2)
	w.recorder = a
	d.embedRows(w.x, rows)
	for i := range d.blocks {
		if err := ctx.Err(); err != nil {
			return err
		}
		if d.blocks[i].apply(d, w, i, rows); a != nil && i == a.last {
			break
		}
	}
	wanted := d.gatherWanted(w, rows)
	d.norm.Apply(d.pool, w.y, w.x, wanted)
	d.tap.Input(w.y, wanted, d.dims.TextWidth)
	kernel.MatMul(d.pool, logits, w.y, wanted, d.dims.TextWidth, d.head, nil, kernel.Store)
	if err := d.checkFinite(logits[:wanted*d.dims.Vocab], rows, w); err != nil {
		return fmt.Errorf("%w: %s", err, d.locateNaN(w, rows))
	}
	for _, r := range rows {
		r.Stream.length = r.Position + 1
	}
	d.addTraffic(rows, wanted, time.Since(began))
	return nil
}

// check returns an error for rows that would read or write outside a cache.
func (d *Decoder) check(rows []Row, logits []float32) error {
	for i, r := range rows {
		want := r.Stream.length
		for j := i - 1; j >= 0; j-- {
			if rows[j].Stream == r.Stream {
				want = rows[j].Position + 1
				break
			}
		}
		switch {
		case r.Stream.d != d:
			return fmt.Errorf("decoder: row %d is of a stream of another decoder", i)
		case r.Position != want:
			return fmt.Errorf("decoder: row %d: got position %d, want %d, the next of its stream", i, r.Position, want)
		case r.Position >= d.dims.TextPositions:
			return fmt.Errorf("decoder: row %d: position %d is past the last of the model's %d",
				i, r.Position, d.dims.TextPositions)
		case r.Token < 0 || int(r.Token) >= d.dims.Vocab:
			return fmt.Errorf("decoder: row %d: token %d is not in the vocabulary of %d", i, r.Token, d.dims.Vocab)
		}
	}
	if want := d.LogitCount(rows); len(logits) < want {
		return fmt.Errorf("decoder: room for logits: got %d values, want %d for %d rows",
			len(logits), want, want/d.dims.Vocab)
	}
	return nil
}

// LogitCount returns the number of values in the logits of rows.
func (d *Decoder) LogitCount(rows []Row) (n int) {
	for _, r := range rows {
		if r.WantLogits {
			n += d.dims.Vocab
		}
	}
	return n
}

// embedRows writes token plus position embedding of each row.
func (d *Decoder) embedRows(x []float32, rows []Row) {
	width := d.dims.TextWidth
	for i, r := range rows {
		at := x[i*width : (i+1)*width]
		d.embed.Row(int(r.Token), at)
		kernel.Add(at, d.positions[r.Position*width:(r.Position+1)*width])
	}
}

func (b *block) apply(d *Decoder, w *buffers, layer int, rows []Row) {
	n, width, heads := len(rows), d.dims.TextWidth, d.dims.TextHeads
	size := width / heads
	scale := float32(1 / math.Sqrt(float64(size)))

	for i, r := range rows {
		s, c := r.Stream.layers[layer], r.Stream.cross.layers[layer]
		w.places[i] = kernel.Slot{K: s.keys, V: s.values, Pos: r.Position}
		w.self[i] = kernel.Span{K: s.keys, V: s.values, N: r.Position + 1}
		w.across[i] = kernel.Span{K: c.keys, V: c.values, N: r.Stream.cross.positions}
	}
	b.norm1.ApplyTo(b.qkv, d.pool, &w.normed, w.x, n)
	// Every row is in its cache, rounded, before any row attends to it.
	b.qkv.ApplyKVNormed(d.pool, w.q, w.places[:n], &w.normed)
	kernel.Attend(d.pool, w.y, w.q, width, heads, size, scale, w.self[:n], &w.attend)
	b.out.Apply(d.pool, w.x, w.y, n, width, kernel.StoreAdd)

	b.norm2.ApplyTo(b.query, d.pool, &w.normed, w.x, n)
	b.query.ApplyNormed(d.pool, w.q, &w.normed, kernel.Store)
	if w.recorder != nil {
		w.recorder.record(d, w, layer, n)
		if layer == w.recorder.last {
			return
		}
	}
	kernel.Attend(d.pool, w.y, w.q, width, heads, size, scale, w.across[:n], &w.attend)
	b.crossOut.Apply(d.pool, w.x, w.y, n, width, kernel.StoreAdd)

	b.norm3.ApplyTo(b.up, d.pool, &w.normed, w.x, n)
	b.up.ApplyNormed(d.pool, w.hidden, &w.normed, kernel.StoreGELU)
	b.down.Apply(d.pool, w.x, w.hidden, n, d.dims.TextFFN, kernel.StoreAdd)
}

// runLength returns how many rows at the start belong to the same stream.
func runLength(rows []Row) int {
	n := 1
	for n < len(rows) && rows[n].Stream == rows[0].Stream {
		n++
	}
	return n
}

// gatherWanted moves the rows that want logits to the front of w.x and returns their number.
func (d *Decoder) gatherWanted(w *buffers, rows []Row) int {
	width, wanted := d.dims.TextWidth, 0
	for i, r := range rows {
		if !r.WantLogits {
			continue
		}
		copy(w.x[wanted*width:(wanted+1)*width], w.x[i*width:(i+1)*width])
		wanted++
	}
	return wanted
}

// checkFinite returns an error for the first row with a logit that is not a number.
func (d *Decoder) checkFinite(logits []float32, rows []Row, w *buffers) error {
	w.finite.logits, w.finite.parts = logits, d.pool.Threads()
	d.pool.Run(w.finite.parts, &w.finite)
	if w.finite.logits = nil; !w.finite.found.Swap(false) {
		return nil
	}
	_, at := kernel.Max(logits)
	rows = slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return !r.WantLogits })
	return fmt.Errorf("decoder: logit of token %d at position %d is not a number", at%d.dims.Vocab, rows[at/d.dims.Vocab].Position)
}

// A finiteJob looks for logits that are not numbers: a [parallel.Task].
type finiteJob struct {
	logits []float32
	parts  int
	found  atomic.Bool
}

// Part looks at part i of the logits.
func (j *finiteJob) Part(i int) {
	lo, hi := parallel.Split(len(j.logits), j.parts, i)
	if v, _ := kernel.Max(j.logits[lo:hi]); v != v {
		j.found.Store(true)
	}
}

// locateNaN repeats a pass whose rows no stream has counted yet, and returns where NaN or
// Inf first appear.
func (d *Decoder) locateNaN(w *buffers, rows []Row) string {
	x := w.x[:len(rows)*d.dims.TextWidth]
	finite := func() bool { return !slices.ContainsFunc(x, func(v float32) bool { return v-v != 0 }) }
	if d.embedRows(w.x, rows); !finite() {
		return "the embedding of a token or a position is NaN or Inf: the weights are corrupt"
	}
	for layer := range d.blocks {
		if d.blocks[layer].apply(d, w, layer, rows); !finite() {
			return fmt.Sprintf("layer %d of %d produced NaN or Inf: its weights or the audio features are corrupt",
				layer, len(d.blocks))
		}
	}
	return "the last norm or the vocabulary head produced NaN or Inf: their weights are corrupt"
}

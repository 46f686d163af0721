package synth

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"verity/internal/formats/safetensors"
	"verity/internal/output"
	"verity/internal/tensor"
	"verity/model"
	"verity/tokenizer"
)

// Options say what to write.
type Options struct {
	Size      string  // a name of [Sizes]
	Alpha     float64 // share of a window's positions, chosen at random, where the assistant agrees
	Assistant Shape   // of the assistant

	// Tokens is the length of the text of a window with timestamps, without end-of-text.
	// The second window of a file, whose prompt is the text of the first, repeats it. Later
	// ones begin somewhere in the text, at <|0.00|>, since their prompts are longer than the
	// model allows.
	Tokens int

	// Text is the text of a window, one segment; Tokens is then ignored. Empty means random words.
	Text string

	// TextSeed chooses the words, and where the assistant errs. The gain of drafts depends on
	// both.
	TextSeed uint64

	// Progress, if not nil, receives the share of a checkpoint's weights that is written.
	Progress func(dir string, share float64)
}

// mostTokens is the maximum number of tokens in a window besides end-of-text: half of the
// positions.
const mostTokens = 223

// Check returns an error for the first number out of range.
func (o Options) Check() error {
	switch {
	case !(o.Alpha >= 0 && o.Alpha <= 1):
		return fmt.Errorf("alpha %v: must be from 0 to 1", o.Alpha)
	case o.Tokens < 4 || o.Tokens > mostTokens:
		return fmt.Errorf("tokens %d: must be from 4 to %d", o.Tokens, mostTokens)
	}
	return nil
}

// An Output is a checkpoint that Write has written.
type Output struct {
	Dir     string
	Dims    model.Dims
	Weights int64
	Bytes   int64
	Plant   Plant
}

// Write writes dir/target and dir/assistant. An existing checkpoint is overwritten if it
// was planted too; any other is an error.
func Write(ctx context.Context, dir string, o Options) (target, assistant Output, err error) {
	if err := o.Check(); err != nil {
		return target, assistant, err
	}
	dims, err := Dims(o.Size)
	if err != nil {
		return target, assistant, err
	}
	small, err := o.Assistant.assistant(dims)
	if err != nil {
		return target, assistant, err
	}
	tok, err := tokenizer.Embedded(dims.Vocab)
	if err != nil {
		return target, assistant, err
	}
	s, err := newScript(tok, dims.TextPositions, o)
	if err != nil {
		return target, assistant, err
	}
	plant := Plant{Tokens: len(s.text), TextSeed: o.TextSeed}
	target = Output{Dir: filepath.Join(dir, "target"), Dims: dims, Plant: plant}
	plant.Alpha, plant.Agreement = o.Alpha, s.agreement()
	assistant = Output{Dir: filepath.Join(dir, "assistant"), Dims: small, Plant: plant}

	for _, w := range []Output{target, assistant} {
		if _, err := output.Below(filepath.Split(w.Dir)); err != nil {
			return target, assistant, err
		}
		if err := output.CheckModel(w.Dir, func(dir fs.FS) bool { return Planted(dir) != nil }); err != nil {
			return target, assistant, err
		}
	}
	if err := target.write(ctx, tok, newNetwork(dims, s.target, tok.TimestampBegin), o.Progress); err != nil {
		return target, assistant, err
	}
	n := newNetwork(small, s.drafts, tok.TimestampBegin)
	if o.Assistant == Tiny { // it encodes the window itself, even if the target is tiny too
		n.own = "assistant."
	}
	err = assistant.write(ctx, tok, n, o.Progress) // before the return statement copies the counts it sets
	return target, assistant, err
}

// write writes the checkpoint, the weights last.
func (w *Output) write(
	ctx context.Context, tok *tokenizer.Tokenizer, n *network, progress func(dir string, share float64),
) error {
	files, err := settings(w.Dims, tok, &w.Plant)
	if err != nil {
		return err
	}
	entries := n.entries()
	for _, e := range entries {
		size := int64(tensor.Tensor{Shape: e.Shape}.Len())
		w.Weights += size
		w.Bytes += size * int64(e.DType.Size())
	}
	return output.WriteModel(w.Dir, func(put output.FileWriter) error {
		for name, b := range files {
			if err := put(name, func(to io.Writer) error { _, err := to.Write(b); return err }); err != nil {
				return err
			}
		}
		return put("model.safetensors", func(to io.Writer) error {
			if progress != nil {
				to = &output.Counter{Writer: to, Report: func(written int64) {
					progress(w.Dir, float64(written)/float64(w.Bytes))
				}}
			}
			return safetensors.Write(ctx, to, entries...)
		})
	})
}

// Open returns a checkpoint of a published size with random float16 weights, in memory.
// It is ready at once, since all matrices are views of the same numbers. It has no
// planted text: it is for measuring time.
func Open(size string) (*model.Checkpoint, error) {
	d, err := Dims(size)
	if err != nil {
		return nil, err
	}
	tok, err := tokenizer.Embedded(d.Vocab)
	if err != nil {
		return nil, err
	}
	files, err := settings(d, tok, nil)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	most := d.Vocab * d.TextWidth
	b.Grow(2 * most)
	if err := newSource("", matrices()).write(&b, most); err != nil {
		return nil, err
	}
	return model.OpenSource(files, size, func(name string, shape []int) tensor.Tensor {
		t := tensor.Tensor{DType: tensor.F16, Shape: shape}
		n := t.Len()
		if strings.HasSuffix(name, "norm.weight") {
			x := make([]uint16, n)
			newSource(name, gains()).fill(x, 0)
			t.Data = bytesOf(x)
			return t
		}
		t.Data = b.Bytes()[: 2*n : 2*n]
		return t
	})
}

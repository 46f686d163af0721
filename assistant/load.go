package assistant

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"verity/decoder"
	"verity/encoder"
	"verity/internal/tensor"
	"verity/model"
	"verity/tokenizer"
)

// A Target is the model that an assistant drafts for.
type Target struct {
	Checkpoint *model.Checkpoint
	Tokenizer  *tokenizer.Tokenizer

	// Decoder is the target's own. Self shares its weights if they have the same precision.
	// If it is nil, Self loads them.
	Decoder *decoder.Decoder
}

// LoadOptions configures Load. Output does not depend on it.
type LoadOptions = encoder.Options

// A MismatchError reports an assistant that cannot draft for a target.
type MismatchError struct {
	Assistant, Target string // names of the checkpoints
	Thing             string
	Got, Want         string // of the assistant, of the target
	Remedy            string
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("%s cannot assist %s: %s: got %s, want %s; %s",
		e.Assistant, e.Target, e.Thing, e.Got, e.Want, e.Remedy)
}

// Load loads a checkpoint as an assistant. An assistant without an encoder, or with the target's,
// drafts from the target's features. Any other encodes the window itself. The checkpoint must
// stay open while the assistant is used.
//
// It returns a *MismatchError if the two differ in tokens or in windows.
func Load(c *model.Checkpoint, t Target, o LoadOptions) (*Model, error) {
	if err := fits(c, t); err != nil {
		return nil, err
	}
	m := &Model{Name: c.Name, EOT: t.Tokenizer.EOT}
	var err error
	if m.Decoder, err = decoder.New(c, o); err != nil {
		return nil, err
	}
	shares, err := sharesEncoder(c, t.Checkpoint)
	if err != nil || shares {
		return m, err
	}
	m.Encoder, err = encoder.New(c, o)
	return m, err
}

// Self makes the target its own assistant in a cheaper precision. In the target's own
// precision it shares all weights.
func Self(t Target, o LoadOptions) (*Model, error) {
	const name = "the model as its own assistant"
	eot := t.Tokenizer.EOT
	if d := t.Decoder; d != nil && d.Precision() == o.Precision.Complete() {
		return &Model{Name: name, Decoder: d.WithPool(o.Pool), EOT: eot}, nil
	}
	d, err := decoder.New(t.Checkpoint, o)
	if err != nil {
		return nil, err
	}
	return &Model{Name: name, Decoder: d, EOT: eot}, nil
}

// fits compares everything that drafting depends on, cheapest first.
func fits(c *model.Checkpoint, t Target) error {
	a, b := c.Dims, t.Checkpoint.Dims
	another := "use an assistant of the same family"
	for _, x := range []struct {
		thing     string
		got, want int
		remedy    string
	}{
		{"vocabulary", a.Vocab, b.Vocab,
			"English-only, multilingual and large-v3 models have vocabularies of their own; " + another},
		{"mel bins", a.MelBins, b.MelBins, "large-v3 models use 128 mel bins, all others 80; " + another},
		{"positions of a window", a.AudioPositions, b.AudioPositions, "their windows differ in length; " + another},
	} {
		if x.got != x.want {
			return &MismatchError{c.Name, t.Checkpoint.Name, x.thing, fmt.Sprint(x.got), fmt.Sprint(x.want), x.remedy}
		}
	}
	if !c.Has("encoder.") && a.AudioWidth != b.AudioWidth {
		return &MismatchError{c.Name, t.Checkpoint.Name, "width of the audio features", fmt.Sprint(a.AudioWidth),
			fmt.Sprint(b.AudioWidth), "it has no encoder of its own, so it must be distilled from this target"}
	}
	// An equal vocabulary size is not enough: a fine-tuned model may have moved tokens.
	if moved := decoder.TokenMismatches(t.Tokenizer, c.Generation); len(moved) > 0 {
		m := moved[0]
		return &MismatchError{c.Name, t.Checkpoint.Name, m.Field, fmt.Sprint(m.Stated), fmt.Sprint(m.Token),
			"its drafts would mean something else to the target; " + another}
	}
	return sameTokens(c, t)
}

// sameTokens compares the vocabularies token by token. A checkpoint without tokenizer files
// uses its target's tokens.
func sameTokens(c *model.Checkpoint, t Target) error {
	if !hasTokenizer(c.FS()) {
		return nil
	}
	tok, err := tokenizer.Load(c.FS(), c.Name, c.Dims.Vocab)
	if err != nil {
		return err
	}
	for id := range Token(c.Dims.Vocab) {
		got, want := tok.DecodeWithTimestamps([]Token{id}), t.Tokenizer.DecodeWithTimestamps([]Token{id})
		if got != want || !bytes.Equal(tok.Bytes(id), t.Tokenizer.Bytes(id)) {
			return &MismatchError{c.Name, t.Checkpoint.Name, fmt.Sprintf("token %d", id), fmt.Sprintf("%q", got),
				fmt.Sprintf("%q", want), "use an assistant of the same family"}
		}
	}
	return nil
}

func hasTokenizer(fsys fs.FS) bool {
	return slices.ContainsFunc([]string{"tokenizer.json", "vocab.json"}, func(name string) bool {
		_, err := fs.Stat(fsys, name)
		return !errors.Is(err, fs.ErrNotExist)
	})
}

// sharesEncoder reports whether c can draft from the target's features: it has no
// encoder, or the same one.
func sharesEncoder(c, target *model.Checkpoint) (same bool, err error) {
	if !c.Has("encoder.") {
		return true, nil
	}
	if c.Dims.AudioLayers != target.Dims.AudioLayers {
		return false, nil
	}
	err = c.Reading(func() error {
		return target.Reading(func() (err error) {
			same, err = sameEncoder(c, target)
			return err
		})
	})
	return same, err
}

// sameEncoder reads the encoders of two checkpoints with equal numbers of layers.
func sameEncoder(c, target *model.Checkpoint) (bool, error) {
	for name, shape := range c.Dims.EncoderWeights() {
		if err := target.Err(); err != nil {
			return false, err
		}
		a, err := c.Weight(name)
		if err != nil {
			return false, err
		}
		b, err := target.Weight(name)
		if err != nil || !slices.Equal(b.Shape, shape) || !sameWeights(a.Tensor(), b.Tensor()) {
			return false, nil // loading the target reports the missing weight
		}
		a.Drop(0, shape[0])
		b.Drop(0, shape[0])
	}
	return true, nil
}

// sameWeights reports whether a and b, of equal shapes, have the same numbers up to the
// precision of the narrower type. Published targets are float32 and assistants distilled from
// them float16: the frozen encoder was rounded when it was saved, and so small a difference
// in features cannot change the target's choices.
func sameWeights(a, b tensor.Tensor) bool {
	if a.DType == b.DType {
		return bytes.Equal(a.Data, b.Data)
	}
	const part = 1 << 12
	var x, y [part]float32
	for from, n := 0, a.Len(); from < n; from += part {
		m := min(part, n-from)
		a.CopyTo(x[:m], from)
		b.CopyTo(y[:m], from)
		for i, v := range x[:m] {
			if v != y[i] && narrow(narrow(v, a.DType), b.DType) != narrow(narrow(y[i], a.DType), b.DType) {
				return false // NaN differs from all
			}
		}
	}
	return true
}

// narrow rounds v to a type.
func narrow(v float32, to tensor.DType) float32 {
	switch to {
	case tensor.F16:
		return tensor.F16ToFloat32(tensor.F16Bits(v))
	case tensor.BF16:
		return tensor.BF16ToFloat32(tensor.BF16Bits(v))
	}
	return v
}

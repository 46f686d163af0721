package model

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing/fstest"

	"verity/internal/frontend"
	"verity/internal/ggml"
	"verity/internal/torch"
	"verity/internal/weights"
)

// vocabMultilingual is the size from which on openai/whisper and whisper.cpp treat a
// vocabulary as multilingual.
const vocabMultilingual = 51865

// openFile opens a checkpoint that is one file. Its first bytes tell the format.
func openFile(ctx context.Context, name string) (*Checkpoint, error) {
	head := make([]byte, 512)
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	n, err := io.ReadFull(f, head)
	f.Close()
	if err != nil && err != io.ErrUnexpectedEOF && err != io.EOF {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	c := &Checkpoint{Name: name, ctx: ctx, fsys: fstest.MapFS{}, tied: true}
	switch head = head[:n]; {
	case strings.HasSuffix(name, ".safetensors"):
		return nil, notModel(name, head)
	case strings.HasPrefix(string(head), ggml.Magic):
		err = c.openSingle(c.parseGGML)
	case strings.HasPrefix(string(head), torch.Magic):
		err = c.openSingle(c.parseTorch)
	default:
		return nil, notModel(name, head)
	}
	return c.finish(err)
}

// openSingle opens the checkpoint's one file. parse returns its tensors and sets the
// sizes.
func (c *Checkpoint) openSingle(parse weights.Parser) error {
	f, err := weights.Open(c.Name, parse)
	if err != nil {
		return err
	}
	c.store = newStore(c.Name)
	if err := c.store.addFile(f, c.Name, nil); err != nil {
		return err
	}
	c.Generation = defaultGeneration(c.Dims)
	c.Generation.AlignmentHeads = headsOf(c.Dims, c.Name)
	return nil
}

// defaultGeneration returns the settings of openai's programs, whose files have none
// about decoding.
func defaultGeneration(d Dims) Generation {
	return Generation{DecoderStartToken: NoToken, EOSToken: NoToken, NoTimestampsToken: NoToken, PrevSOTToken: NoToken,
		Multilingual: d.Vocab >= vocabMultilingual}
}

// setDims sets the sizes, by openai's names. The MLPs are four times as wide as the network.
func (c *Checkpoint) setDims(size func(name string) (int, error)) (err error) {
	for _, f := range c.Dims.fields() {
		if strings.HasPrefix(f.openai, "n_") {
			if *f.value, err = size(f.openai); err != nil {
				return err
			}
		}
	}
	c.Dims.AudioFFN, c.Dims.TextFFN = 4*c.Dims.AudioWidth, 4*c.Dims.TextWidth
	return c.Dims.check(c.Name, func(f field) string { return f.openai })
}

func (c *Checkpoint) parseGGML(b []byte) ([]weights.Entry, error) {
	m, err := ggml.Parse(b)
	if err != nil {
		return nil, err
	}
	if err := c.setDims(func(name string) (int, error) { return m.Sizes[name], nil }); err != nil {
		return nil, err
	}
	if m.Bins != c.Dims.MelBins {
		return nil, fmt.Errorf("%w: n_mels is %d, its mel filters have %d bins", ErrConfig, c.Dims.MelBins, m.Bins)
	}
	if err := checkFilters(m); err != nil {
		return nil, err
	}
	for i, e := range m.Tensors {
		if n := len(e.Shape); n == 2 && e.Shape[1] == 1 && strings.HasSuffix(e.Name, ".bias") {
			m.Tensors[i].Shape = e.Shape[:1] // of a convolution
		}
	}
	if len(m.Vocab) > 0 { // models for tests have none
		c.fsys = fstest.MapFS{"vocabulary.tiktoken": {Data: tiktoken(m.Vocab)}}
	}
	return m.Tensors, nil
}

// filterTolerance bounds the difference between a mel filter's weight and ours, as a
// fraction of the filter's largest. Ours are rounded from float64; librosa computes edges
// in float64 and rounds too, so only the last bits of a float32 can differ.
const filterTolerance = 1e-5

// checkFilters compares the mel filters in a file with those of our front end, which
// every published model was trained with.
func checkFilters(m *ggml.Model) error {
	if m.Frequencies != frontend.Spectrum {
		return fmt.Errorf("%w: its mel filters have %d frequencies, want %d",
			ErrConfig, m.Frequencies, frontend.Spectrum)
	}
	for bin, f := range frontend.Filters(m.Bins) {
		most := 0.0
		for _, w := range f.Weights {
			most = max(most, w)
		}
		for k := range m.Frequencies {
			got, want := float64(m.Filter(bin, k)), 0.0
			if i := k - f.First; i >= 0 && i < len(f.Weights) {
				want = f.Weights[i]
			}
			if !(math.Abs(got-want) <= filterTolerance*most) {
				return fmt.Errorf("%w: mel filter %d, frequency %d: got %v, want %v: "+
					"it was trained with another front end",
					ErrConfig, bin, k, float32(got), float32(want))
			}
		}
	}
	return nil
}

// tiktoken writes a vocabulary as openai does: a line for each token, its bytes in
// base64 and its rank.
func tiktoken(vocab []string) (lines []byte) {
	for rank, s := range vocab {
		text := base64.StdEncoding.EncodeToString([]byte(s))
		if s == "" {
			text = "=" // as in openai's own file
		}
		lines = fmt.Appendf(lines, "%s %d\n", text, rank)
	}
	return lines
}

func (c *Checkpoint) parseTorch(b []byte) ([]weights.Entry, error) {
	v, err := torch.Parse(b)
	if err != nil {
		return nil, err
	}
	saved, ok := v.(*torch.Dict)
	if !ok {
		return nil, fmt.Errorf("%w: it holds a %T, want a dictionary", ErrNotCheckpoint, v)
	}
	dims, _ := saved.Get("dims")
	state, _ := saved.Get("model_state_dict")
	sizes, ok1 := dims.(*torch.Dict)
	tensors, ok2 := state.(*torch.Dict)
	if !ok1 || !ok2 {
		return nil, fmt.Errorf("%w: want dims and model_state_dict, as in checkpoints of openai/whisper; if it is "+
			"pytorch_model.bin of a model in Hugging Face layout, name its directory, %s",
			ErrNotCheckpoint, filepath.Dir(c.Name))
	}
	err = c.setDims(func(name string) (int, error) {
		v, ok := sizes.Get(name)
		if !ok {
			return 0, &ConfigError{c.Name, name, "is missing"}
		}
		n, ok := v.(int64)
		if !ok {
			return 0, &ConfigError{c.Name, name, fmt.Sprintf("is of type %T, want an integer", v)}
		}
		return int(max(min(n, math.MaxInt32), -1)), nil // Dims.check says what it may be
	})
	if err != nil {
		return nil, err
	}
	var entries []weights.Entry
	for _, key := range tensors.Keys {
		name, _ := key.(string)
		v, _ := tensors.Get(name)
		if t, ok := v.(*torch.Tensor); ok {
			entries = append(entries, t.Entry(name))
		}
	}
	return entries, nil
}

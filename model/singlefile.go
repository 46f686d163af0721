package model

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing/fstest"

	"verity/internal/formats/ggml"
	"verity/internal/formats/torch"
	"verity/internal/formats/weights"
	"verity/internal/frontend"
)

// openFile opens a checkpoint that is one file. Its first bytes tell the format.
func openFile(ctx context.Context, name string) (*Checkpoint, error) {
	head := make([]byte, 512)
	//verity:reads the caller has checked that it is a regular file
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
	c.Generation, err = newGeneration(c.Name, generationFields{}, c.Dims) // the files have nothing about decoding
	c.Generation.AlignmentHeads = headsOf(c.Dims, c.Name)
	return err
}

// setDims sets the sizes, by openai's names. The MLPs are four times as wide as the network.
func (c *Checkpoint) setDims(sizes map[string]int) error {
	sizes[audioFFN], sizes[textFFN] = 4*sizes["n_audio_state"], 4*sizes["n_text_state"]
	return c.Dims.set(c.Name, sizes, func(f field) string { return f.openai })
}

func (c *Checkpoint) parseGGML(b []byte) ([]weights.Entry, error) {
	m, err := ggml.Parse(b)
	if err != nil {
		return nil, err
	}
	if err := c.setDims(m.Sizes); err != nil {
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
	if m.Vocab != nil {
		c.fsys = fstest.MapFS{"vocabulary.bin": {Data: m.Vocab}}
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

func (c *Checkpoint) parseTorch(b []byte) ([]weights.Entry, error) {
	m, err := torch.Parse(b)
	if err != nil {
		return nil, err
	}
	if m.Sizes == nil {
		return nil, fmt.Errorf("%w: want dims and model_state_dict, as in checkpoints of openai/whisper; if it is "+
			"pytorch_model.bin of a model in Hugging Face layout, name its directory, %s",
			ErrNotCheckpoint, filepath.Dir(c.Name))
	}
	return m.Tensors, c.setDims(m.Sizes)
}

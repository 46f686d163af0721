package model

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"verity/internal/formats/ggml"
	"verity/internal/formats/torch"
	"verity/internal/formats/weights"
)

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
	c := &Checkpoint{Name: name, ctx: ctx, fsys: memoryFS{}, tied: true}
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
	if err := c.store.addFile(f, c.Name); err != nil {
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
	for i, e := range m.Tensors {
		if n := len(e.Shape); n == 2 && e.Shape[1] == 1 && strings.HasSuffix(e.Name, ".bias") {
			m.Tensors[i].Shape = e.Shape[:1] // of a convolution
		}
	}
	if m.Vocab != nil {
		c.fsys = memoryFS{"vocabulary.bin": m.Vocab}
	}
	return m.Tensors, nil
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

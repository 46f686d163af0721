package model

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"verity/internal/formats/ctranslate2"
	"verity/internal/formats/weights"
	"verity/internal/input"
)

// ct2File holds the weights of a CTranslate2 checkpoint, the format of faster-whisper.
const ct2File = "model.bin"

// isCTranslate2 reports whether a directory is such a checkpoint.
func isCTranslate2(fsys fs.FS) bool {
	return input.Exists(fsys, ct2File) && !input.Exists(fsys, singleFile) && !input.Exists(fsys, indexFile)
}

// openCTranslate2 opens the checkpoint in c's directory. Its sizes are those of its
// variables; config.json has only settings of decoding.
func (c *Checkpoint) openCTranslate2(open opener) error {
	file := path.Join(c.Name, ct2File)
	c.store = newStore(file)
	f, err := open(ct2File, func(b []byte) ([]weights.Entry, error) {
		m, err := ctranslate2.Parse(b)
		if err != nil {
			return nil, err
		}
		n := &ct2Network{Model: m, file: file, tied: true}
		entries, err := n.entries()
		c.Dims, c.tied = n.dims, n.tied
		return entries, err
	})
	if err != nil {
		return err
	}
	if err := c.store.addFile(f, file); err != nil {
		return err
	}
	return cmp.Or(c.ct2Generation(), c.checkFeatures("preprocessor_config.json"))
}

// ct2Generation reads the settings of decoding from config.json.
func (c *Checkpoint) ct2Generation() error {
	file, b, err := c.readFirst("config.json")
	if err != nil {
		return err
	}
	var f struct {
		Suppress      []int   `json:"suppress_ids"`
		SuppressBegin []int   `json:"suppress_ids_begin"`
		Alignment     [][]int `json:"alignment_heads"`
	}
	if b != nil {
		if err := parseJSON(file, b, &f); err != nil {
			return err
		}
	}
	c.Generation, err = newGeneration(file, generationFields{
		Suppress: f.Suppress, BeginSuppress: f.SuppressBegin, Alignment: f.Alignment}, c.Dims)
	return err
}

// A ct2Network renames the variables of a model to our names.
type ct2Network struct {
	*ctranslate2.Model
	file string
	dims Dims
	tied bool
	list []weights.Entry
	err  error
}

// entries returns all weights and sets the sizes.
func (n *ct2Network) entries() ([]weights.Entry, error) {
	if n.Spec != "WhisperSpec" {
		return nil, fmt.Errorf("%w: it is a %.40q of CTranslate2, want \"WhisperSpec\"", ErrNotCheckpoint, n.Spec)
	}
	if err := n.sizes(); err != nil {
		return nil, err
	}
	n.renamePart("encoder/conv1", "encoder.conv1")
	n.renamePart("encoder/conv2", "encoder.conv2")
	n.half("encoder", n.dims.AudioLayers)
	n.rename("decoder/embeddings/weight", embedName)
	n.half("decoder", n.dims.TextLayers)
	if head, ok := n.Variable("decoder/projection/weight"); ok {
		if embed, there := n.Variable("decoder/embeddings/weight"); there && &head.Data[0] != &embed.Data[0] {
			n.tied = false
			n.rename(head.Name, headName)
		}
	}
	return n.list, n.err
}

// sizes reads the sizes off the variables.
func (n *ct2Network) sizes() error {
	dim := func(name string, axis int) int {
		if e, ok := n.Variable(name); ok && axis < len(e.Shape) {
			return e.Shape[axis]
		}
		return 0
	}
	scalar := func(name string) int {
		v, _ := n.Int(name)
		return v
	}
	layers := func(half string) (i int) {
		for dim(fmt.Sprintf("%s/layer_%d/ffn/linear_0/weight", half, i), 0) > 0 {
			i++
		}
		return i
	}
	n.dims = Dims{
		MelBins: dim("encoder/conv1/weight", 1), AudioPositions: dim("encoder/position_encodings/encodings", 0),
		AudioWidth: dim("encoder/conv1/weight", 0), AudioHeads: scalar("encoder/num_heads"),
		AudioLayers: layers("encoder"), AudioFFN: dim("encoder/layer_0/ffn/linear_0/weight", 0),
		Vocab:         dim("decoder/embeddings/weight", 0),
		TextPositions: dim("decoder/position_encodings/encodings", 0),
		TextWidth:     dim("decoder/embeddings/weight", 1), TextHeads: scalar("decoder/num_heads"),
		TextLayers: layers("decoder"), TextFFN: dim("decoder/layer_0/ffn/linear_0/weight", 0),
	}
	return n.dims.check(n.file, func(f field) string { return f.openai })
}

// variable returns a variable, or sets n.err if there is none.
func (n *ct2Network) variable(name string) (weights.Entry, bool) {
	e, ok := n.Variable(name)
	if !ok && n.err == nil {
		n.err = &TensorError{File: n.file, Name: name, Err: ErrMissing}
	}
	return e, ok
}

func (n *ct2Network) rename(from, to string) {
	if e, ok := n.variable(from); ok {
		e.Name = to
		n.list = append(n.list, e)
	}
}

// ct2Layer has what each part of a layer is called by CTranslate2 and by us. A variable of
// several products has the rows of one after those of the other.
var ct2Layer = []struct {
	from string
	to   []string
}{
	{"self_attention/linear_0", []string{"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"}},
	{"self_attention/linear_1", []string{"self_attn.out_proj"}},
	{"self_attention/layer_norm", []string{"self_attn_layer_norm"}},
	{"attention/linear_0", []string{"encoder_attn.q_proj"}},
	{"attention/linear_1", []string{"encoder_attn.k_proj", "encoder_attn.v_proj"}},
	{"attention/linear_2", []string{"encoder_attn.out_proj"}},
	{"attention/layer_norm", []string{"encoder_attn_layer_norm"}},
	{"ffn/linear_0", []string{"fc1"}},
	{"ffn/linear_1", []string{"fc2"}},
	{"ffn/layer_norm", []string{"final_layer_norm"}},
}

// half renames the weights of the layers of the encoder or the decoder.
func (n *ct2Network) half(half string, layers int) {
	n.rename(half+"/position_encodings/encodings", half+".embed_positions.weight")
	for i := range layers {
		for _, part := range ct2Layer {
			if half == "encoder" && strings.HasPrefix(part.from, "attention/") {
				continue // in the decoder alone
			}
			to := make([]string, len(part.to))
			for k, name := range part.to {
				to[k] = fmt.Sprintf("%s.layers.%d.%s", half, i, name)
			}
			n.renamePart(fmt.Sprintf("%s/layer_%d/%s", half, i, part.from), to...)
		}
	}
	n.renamePart(half+"/layer_norm", half+".layer_norm")
}

// renamePart renames the weight and the bias of a part, or splits them into those of several
// products. The bias of keys is zero in Whisper; it is kept only if it is not.
func (n *ct2Network) renamePart(from string, to ...string) {
	words := [][2]string{{"weight", "weight"}, {"bias", "bias"}}
	if strings.HasSuffix(from, "norm") {
		words = [][2]string{{"gamma", "weight"}, {"beta", "bias"}}
	}
	for _, word := range words {
		e, ok := n.variable(from + "/" + word[0])
		if !ok {
			continue
		}
		if len(e.Shape) == 0 || e.Shape[0]%len(to) != 0 {
			n.err = &TensorError{File: n.file, Name: e.Name, Got: e.String(),
				Want: fmt.Sprintf("%d products", len(to)), Err: ErrShape}
			return
		}
		rows := e.Shape[0] / len(to)
		for i, name := range to {
			part := e.Part(name+"."+word[1], i*rows, (i+1)*rows)
			if !strings.HasSuffix(part.Name, "k_proj.bias") || !allZero(part) {
				n.list = append(n.list, part)
			}
		}
	}
}

func allZero(e weights.Entry) bool {
	return e.DType != 0 && !slices.ContainsFunc(e.Tensor().Float32(), func(v float32) bool { return v != 0 })
}

package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strconv"

	"verity/internal/sniff"
)

// maxJSON bounds the JSON files of a checkpoint. The largest, the index of
// large-v3, has 120 kB.
const maxJSON = 16 << 20

// A number is an integer in JSON as people write it: 30, 30.0 or null. The zero
// number was not stated.
type number struct {
	v  int
	ok bool
}

// UnmarshalJSON accepts what is an integer by value. Python writes 30.0 for the
// result of a division.
func (n *number) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	x, err := strconv.ParseFloat(string(b), 64)
	if err != nil || x != math.Trunc(x) || math.Abs(x) > 1<<40 {
		return fmt.Errorf("got %.40s, want an integer", b)
	}
	*n = number{int(x), true}
	return nil
}

// config is config.json, fields in upstream's order.
type config struct {
	ModelType      string `json:"model_type"`
	VocabSize      number `json:"vocab_size"`
	NumMelBins     number `json:"num_mel_bins"`
	EncoderLayers  number `json:"encoder_layers"`
	EncoderHeads   number `json:"encoder_attention_heads"`
	DecoderLayers  number `json:"decoder_layers"`
	DecoderHeads   number `json:"decoder_attention_heads"`
	DecoderFFN     number `json:"decoder_ffn_dim"`
	EncoderFFN     number `json:"encoder_ffn_dim"`
	DModel         number `json:"d_model"`
	MaxSource      number `json:"max_source_positions"`
	MaxTarget      number `json:"max_target_positions"`
	Activation     string `json:"activation_function"`
	ScaleEmbedding *bool  `json:"scale_embedding"` // see [parseConfig]
	Tie            *bool  `json:"tie_word_embeddings"`

	generationFields // older checkpoints have them here
}

// tied reports whether the vocabulary head is the token embedding, upstream's
// default.
func (c *config) tied() bool { return c.Tie == nil || *c.Tie }

// parseConfig reads config.json. It does not look at scale_embedding: upstream
// computes a factor from it and never multiplies by it (transformers v5.23.0,
// modeling_whisper.py, embed_scale), and no published checkpoint sets it.
func parseConfig(file string, b []byte) (*config, Dims, error) {
	var c config
	if err := parseJSON(file, b, &c); err != nil {
		return nil, Dims{}, err
	}
	if c.ModelType != "" && c.ModelType != "whisper" {
		return nil, Dims{}, &ConfigError{file, "model_type", fmt.Sprintf("is %.40q, want \"whisper\"", c.ModelType)}
	}
	if c.Activation != "" && c.Activation != "gelu" {
		return nil, Dims{}, &ConfigError{file, "activation_function", fmt.Sprintf("is %.40q, want \"gelu\"", c.Activation)}
	}
	var d Dims
	for _, f := range []struct {
		name string
		n    number
		most int // several times any model's: a crafted file of 5 MB must not take minutes
		to   []*int
	}{
		{"num_mel_bins", c.NumMelBins, 1 << 10, []*int{&d.MelBins}},
		{"max_source_positions", c.MaxSource, 6000, []*int{&d.AudioPositions}},
		{"d_model", c.DModel, 1 << 16, []*int{&d.AudioWidth, &d.TextWidth}},
		{"encoder_attention_heads", c.EncoderHeads, 1 << 10, []*int{&d.AudioHeads}},
		{"encoder_layers", c.EncoderLayers, 128, []*int{&d.AudioLayers}},
		{"encoder_ffn_dim", c.EncoderFFN, 1 << 18, []*int{&d.AudioFFN}},
		{"vocab_size", c.VocabSize, 1 << 22, []*int{&d.Vocab}},
		{"max_target_positions", c.MaxTarget, 8192, []*int{&d.TextPositions}},
		{"decoder_attention_heads", c.DecoderHeads, 1 << 10, []*int{&d.TextHeads}},
		{"decoder_layers", c.DecoderLayers, 128, []*int{&d.TextLayers}},
		{"decoder_ffn_dim", c.DecoderFFN, 1 << 18, []*int{&d.TextFFN}},
	} {
		switch {
		case !f.n.ok:
			return nil, Dims{}, &ConfigError{file, f.name, "is missing"}
		case f.n.v < 1 || f.n.v > f.most:
			return nil, Dims{}, &ConfigError{file, f.name, fmt.Sprintf("is %d, want 1 … %d", f.n.v, f.most)}
		}
		for _, p := range f.to {
			*p = f.n.v
		}
	}
	if err := checkHeads(file, "encoder_attention_heads", d.AudioWidth, d.AudioHeads); err != nil {
		return nil, Dims{}, err
	}
	return &c, d, checkHeads(file, "decoder_attention_heads", d.TextWidth, d.TextHeads)
}

func checkHeads(file, field string, width, heads int) error {
	if width%heads != 0 {
		return &ConfigError{file, field, fmt.Sprintf("is %d, which does not divide d_model, %d", heads, width)}
	}
	return nil
}

// parseJSON decodes one of the checkpoint's files and says which field is wrong.
func parseJSON(file string, b []byte, v any) error {
	err := json.Unmarshal(b, v)
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrong) && wrong.Field != "":
		return &ConfigError{file, wrong.Field, fmt.Sprintf("is a JSON %s, want %v", wrong.Value, wrong.Type)}
	}
	return jsonError(file, b, err)
}

// jsonError says what a file is that is no JSON.
func jsonError(file string, b []byte, err error) error {
	reason := fmt.Sprintf("reading JSON: %v", err)
	if kind, ok := sniff.What(b); ok {
		reason += fmt.Sprintf("; %v", kind)
	}
	return &ConfigError{file, "", reason}
}

// readJSON reads a small file; its error wraps fs.ErrNotExist if there is none.
func readJSON(fsys fs.FS, file string) ([]byte, error) {
	return sniff.ReadFile(fsys, file, maxJSON)
}

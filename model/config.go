package model

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"unicode"

	"verity/internal/frontend"
	"verity/internal/sniff"
)

// maxJSON bounds the JSON files of a checkpoint. The largest, the index of
// large-v3, has 120 kB.
const maxJSON = 16 << 20

// A number is an integer in JSON, in any of its spellings: 30, 30.0 or null. The zero
// number was not stated.
type number struct {
	v  int
	ok bool
}

// UnmarshalJSON accepts any number with an integer value. Python writes 30.0 for the
// result of a division.
func (n *number) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	x, err := strconv.ParseFloat(string(b), 64)
	if err != nil || x != math.Trunc(x) || math.Abs(x) > 1<<40 {
		return fmt.Errorf("got %s, want an integer", brief(b))
	}
	*n = number{int(x), true}
	return nil
}

// brief shows JSON of a file in an error: on one line, and not all of it.
func brief(b []byte) string {
	return fmt.Sprintf("%.40s", strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, strings.Join(strings.Fields(string(b)), " ")))
}

// config is what config.json says besides sizes.
type config struct {
	ModelType  string `json:"model_type"`
	Activation string `json:"activation_function"`
	Tie        *bool  `json:"tie_word_embeddings"`

	generationFields // older checkpoints have them here
}

// tied reports whether the vocabulary head is the token embedding, upstream's
// default.
func (c *config) tied() bool { return c.Tie == nil || *c.Tie }

// parseConfig reads config.json. It ignores scale_embedding: upstream computes a factor
// from it and never multiplies by it (transformers v5.23.0, modeling_whisper.py,
// embed_scale), and no published checkpoint sets it.
func parseConfig(file string, b []byte) (*config, Dims, error) {
	var c config
	if err := parseJSON(file, b, &c); err != nil {
		return nil, Dims{}, err
	}
	if c.ModelType != "" && c.ModelType != "whisper" {
		return nil, Dims{}, &ConfigError{file, "model_type", fmt.Sprintf("is %.40q, want \"whisper\"", c.ModelType)}
	}
	if c.Activation != "" && c.Activation != "gelu" {
		return nil, Dims{}, &ConfigError{file, "activation_function",
			fmt.Sprintf("is %.40q, want \"gelu\"", c.Activation)}
	}
	var sizes map[string]json.RawMessage
	if err := parseJSON(file, b, &sizes); err != nil {
		return nil, Dims{}, err
	}
	var d Dims
	for _, f := range d.fields() {
		var n number
		if raw, ok := sizes[f.hf]; ok {
			if err := n.UnmarshalJSON(raw); err != nil {
				return nil, Dims{}, &ConfigError{file, f.hf, fmt.Sprintf("is %s, want an integer", brief(raw))}
			}
		}
		if !n.ok {
			return nil, Dims{}, &ConfigError{file, f.hf, "is missing"}
		}
		*f.value = n.v
	}
	return &c, d, d.check(file, func(f field) string { return f.hf })
}

// parseJSON decodes one of the checkpoint's files. Its error names the wrong field.
func parseJSON(file string, b []byte, v any) error {
	err := json.Unmarshal(b, v)
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrong) && wrong.Field != "":
		return &ConfigError{file, wrong.Field, fmt.Sprintf("is a JSON %.40s, want %v", wrong.Value, wrong.Type)}
	case errors.As(err, &wrong) && (wrong.Type.Kind() == reflect.Struct || wrong.Type.Kind() == reflect.Map):
		return &ConfigError{file, "", fmt.Sprintf("reading JSON: got a JSON %.40s, want an object", wrong.Value)}
	}
	reason := fmt.Sprintf("reading JSON: %v", err)
	if kind, ok := sniff.What(b); ok { // if not JSON
		reason += fmt.Sprintf("; %v", kind)
	}
	return &ConfigError{file, "", reason}
}

// checkFeatures reads the first of the files that exists. It may state any subset of the
// log-mel front end that the checkpoint was trained with: what it states must be ours, and
// fit the network.
func (c *Checkpoint) checkFeatures(files ...string) error {
	file, b, err := c.readFirst(files...)
	if err != nil || b == nil {
		return err
	}
	type fields struct {
		Size   number   `json:"feature_size"`
		Rate   number   `json:"sampling_rate"`
		FFT    number   `json:"n_fft"`
		Hop    number   `json:"hop_length"`
		Frames number   `json:"nb_max_frames"`
		Chunk  *float64 `json:"chunk_length"`
	}
	var f struct {
		fields
		Inner *fields `json:"feature_extractor"` // processor_config.json nests them
	}
	if err := parseJSON(file, b, &f); err != nil {
		return err
	}
	in := cmp.Or(f.Inner, &f.fields)
	for _, x := range []struct {
		name string
		n    number
		want int
	}{
		{"feature_size", in.Size, c.Dims.MelBins},
		{"sampling_rate", in.Rate, frontend.SampleRate},
		{"n_fft", in.FFT, frontend.WindowSize},
		{"hop_length", in.Hop, frontend.HopLength},
		{"nb_max_frames", in.Frames, c.Dims.WindowFrames()},
	} {
		if x.n.ok && x.n.v != x.want {
			return &ConfigError{file, x.name, fmt.Sprintf("is %d, the network needs %d", x.n.v, x.want)}
		}
	}
	window := float64(c.Dims.WindowFrames()) * frontend.HopLength / frontend.SampleRate
	if in.Chunk != nil && *in.Chunk != window {
		return &ConfigError{file, "chunk_length", fmt.Sprintf("is %v s, the network's window is %v s", *in.Chunk, window)}
	}
	return nil
}

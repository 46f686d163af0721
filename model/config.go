package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"

	"verity/internal/formats/sniff"
	"verity/internal/frontend"
	"verity/internal/input"
)

// maxJSON bounds the JSON files of a checkpoint: lists in them take some ten times their
// length in memory. The largest, the index of large-v3, has 120 kB.
const maxJSON = 4 << 20

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
	var values map[string]json.RawMessage
	if err := parseJSON(file, b, &values); err != nil {
		return nil, Dims{}, err
	}
	var d Dims
	sizes := map[string]int{}
	for _, f := range d.fields() { // Python writes 30.0 for the result of a division
		var x *float64
		if json.Unmarshal(values[f.hf], &x) == nil && x != nil && *x == math.Trunc(*x) && math.Abs(*x) < 1<<40 {
			sizes[f.hf] = int(*x)
		}
	}
	err := d.set(file, sizes, func(f field) string { return f.hf })
	return &c, d, err
}

// parseJSON decodes one of the checkpoint's files. Its error names the wrong field.
func parseJSON(file string, b []byte, v any) error {
	err := json.Unmarshal(b, v)
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil && string(bytes.TrimSpace(b)) == "null":
		return &ConfigError{file, "", "reading JSON: got a JSON null, want an object"}
	case err == nil:
		return nil
	case errors.As(err, &wrong) && wrong.Field != "":
		name := wrong.Field[strings.LastIndexByte(wrong.Field, '.')+1:]
		return &ConfigError{file, name, fmt.Sprintf("is a JSON %.40s, want %s", wrong.Value, strings.Replace(wrong.Type.String(), "float64", "a number", 1))}
	case errors.As(err, &wrong) && (wrong.Type.Kind() == reflect.Struct || wrong.Type.Kind() == reflect.Map):
		return &ConfigError{file, "", fmt.Sprintf("reading JSON: got a JSON %.40s, want an object", wrong.Value)}
	}
	reason := fmt.Sprintf("is no JSON: %v", input.JSON(b, err))
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
	var in map[string]any
	if err := parseJSON(file, b, &in); err != nil {
		return err
	}
	if inner, ok := in["feature_extractor"].(map[string]any); ok { // processor_config.json nests them
		in = inner
	}
	for _, x := range []struct {
		name string
		want float64
	}{
		{"feature_size", float64(c.Dims.MelBins)},
		{"sampling_rate", frontend.SampleRate},
		{"n_fft", frontend.WindowSize},
		{"hop_length", frontend.HopLength},
		{"nb_max_frames", float64(c.Dims.WindowFrames())},
		{"chunk_length", float64(c.Dims.WindowFrames()) * frontend.HopLength / frontend.SampleRate}, // in seconds
	} {
		if got := in[x.name]; got != nil && got != x.want {
			return &ConfigError{file, x.name, fmt.Sprintf("is %#v, the network needs %v", got, x.want)}
		}
	}
	return nil
}

package model

import (
	"fmt"

	"verity/internal/frontend"
)

// checkFeatures reads preprocessor_config.json, which may state any subset of the log-mel
// front end that the checkpoint was trained with: what it states must be ours, and fit the
// network. b is nil if there is none.
func checkFeatures(file string, b []byte, d Dims) error {
	if b == nil {
		return nil
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
	in := f.fields
	if f.Inner != nil {
		in = *f.Inner
	}
	for _, c := range []struct {
		name string
		n    number
		want int
	}{
		{"feature_size", in.Size, d.MelBins},
		{"sampling_rate", in.Rate, frontend.SampleRate},
		{"n_fft", in.FFT, frontend.WindowSize},
		{"hop_length", in.Hop, frontend.HopLength},
		{"nb_max_frames", in.Frames, d.WindowFrames()},
	} {
		if c.n.ok && c.n.v != c.want {
			return &ConfigError{file, c.name, fmt.Sprintf("is %d, the network needs %d", c.n.v, c.want)}
		}
	}
	window := float64(d.WindowFrames()) * frontend.HopLength / frontend.SampleRate
	if in.Chunk != nil && *in.Chunk != window {
		return &ConfigError{file, "chunk_length",
			fmt.Sprintf("is %v s, the network's window is %v s", *in.Chunk, window)}
	}
	return nil
}

package model

import (
	"fmt"

	"verity/internal/frontend"
)

// Features describes the log-mel front end that a checkpoint was trained with, from
// preprocessor_config.json or, without it, from the sizes. The comments give upstream's
// names.
type Features struct {
	MelBins      int     // feature_size
	SampleRate   int     // sampling_rate, Hz
	FFT          int     // n_fft, samples
	Hop          int     // hop_length, samples
	WindowFrames int     // nb_max_frames, of mel
	ChunkSeconds float64 // chunk_length
}

// parseFeatures reads preprocessor_config.json, or derives everything if b is nil. The
// file may state any subset; what it states must fit the network and the front end.
func parseFeatures(file string, b []byte, d Dims) (Features, error) {
	out := Features{d.MelBins, frontend.SampleRate, frontend.WindowSize, frontend.HopLength, d.WindowFrames(),
		float64(d.WindowFrames()) * frontend.HopLength / frontend.SampleRate}
	if b == nil {
		return out, nil
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
		return Features{}, err
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
		{"feature_size", in.Size, out.MelBins},
		{"sampling_rate", in.Rate, out.SampleRate},
		{"n_fft", in.FFT, out.FFT},
		{"hop_length", in.Hop, out.Hop},
		{"nb_max_frames", in.Frames, out.WindowFrames},
	} {
		if c.n.ok && c.n.v != c.want {
			return Features{}, &ConfigError{file, c.name, fmt.Sprintf("is %d, the network needs %d", c.n.v, c.want)}
		}
	}
	if in.Chunk != nil && *in.Chunk != out.ChunkSeconds {
		return Features{}, &ConfigError{file, "chunk_length",
			fmt.Sprintf("is %v s, the network's window is %v s", *in.Chunk, out.ChunkSeconds)}
	}
	return out, nil
}

package model

import (
	"fmt"
	"iter"
)

// Dims are the sizes of a network. The comments give the names of
// openai/whisper (ModelDimensions) and of Hugging Face (WhisperConfig).
// Heads divide the widths; a head is Width/Heads wide.
type Dims struct {
	MelBins        int // n_mels; num_mel_bins
	AudioPositions int // n_audio_ctx; max_source_positions. A window is twice as many frames of mel
	AudioWidth     int // n_audio_state; d_model
	AudioHeads     int // n_audio_head; encoder_attention_heads
	AudioLayers    int // n_audio_layer; encoder_layers
	AudioFFN       int // 4·n_audio_state; encoder_ffn_dim

	Vocab         int // n_vocab; vocab_size
	TextPositions int // n_text_ctx; max_target_positions
	TextWidth     int // n_text_state; d_model
	TextHeads     int // n_text_head; decoder_attention_heads
	TextLayers    int // n_text_layer; decoder_layers
	TextFFN       int // 4·n_text_state; decoder_ffn_dim
}

// The sizes that openai/whisper does not name.
const (
	audioFFN = "encoder's MLP width"
	textFFN  = "decoder's MLP width"
)

// A field is one of the sizes: its names in upstreams and its maximum.
type field struct {
	hf, openai string
	value      *int
	most       int // several times that of any model: a crafted file of 5 MB must not take minutes
}

func (d *Dims) fields() []field {
	return []field{
		{"num_mel_bins", "n_mels", &d.MelBins, 1 << 10},
		{"max_source_positions", "n_audio_ctx", &d.AudioPositions, 6000},
		{"d_model", "n_audio_state", &d.AudioWidth, 1 << 16},
		{"encoder_attention_heads", "n_audio_head", &d.AudioHeads, 1 << 10},
		{"encoder_layers", "n_audio_layer", &d.AudioLayers, 128},
		{"encoder_ffn_dim", audioFFN, &d.AudioFFN, 1 << 18},
		{"vocab_size", "n_vocab", &d.Vocab, 1 << 22},
		{"max_target_positions", "n_text_ctx", &d.TextPositions, 8192},
		{"d_model", "n_text_state", &d.TextWidth, 1 << 16},
		{"decoder_attention_heads", "n_text_head", &d.TextHeads, 1 << 10},
		{"decoder_layers", "n_text_layer", &d.TextLayers, 128},
		{"decoder_ffn_dim", textFFN, &d.TextFFN, 1 << 18},
	}
}

// set sets the sizes, by the names that they have in a file, and checks them.
func (d *Dims) set(file string, sizes map[string]int, name func(field) string) error {
	for _, f := range d.fields() {
		n, ok := sizes[name(f)]
		if !ok {
			return &ConfigError{file, name(f), missingSize}
		}
		*f.value = n
	}
	return d.check(file, name)
}

// check returns an error about the first size that is out of range; name chooses the name
// of the size.
func (d Dims) check(file string, name func(field) string) error {
	fields := d.fields()
	for _, f := range fields {
		if *f.value < 1 || *f.value > f.most {
			return &ConfigError{file, name(f), fmt.Sprintf("is %d, want 1 … %d", *f.value, f.most)}
		}
	}
	const audioWidth, audioHeads, textWidth, textHeads = 2, 3, 8, 9 // in fields
	for _, at := range [][2]int{{audioWidth, audioHeads}, {textWidth, textHeads}} {
		if width, heads := fields[at[0]], fields[at[1]]; *width.value%*heads.value != 0 {
			return &ConfigError{file, name(heads), fmt.Sprintf("is %d, which does not divide %s, %d",
				*heads.value, name(width), *width.value)}
		}
	}
	return nil
}

// WindowFrames returns the frames of mel in one window: the second convolution
// halves their number.
func (d Dims) WindowFrames() int { return 2 * d.AudioPositions }

// EncoderWeights yields the name and shape of every weight of the encoder.
// Matrices are [out][in], convolutions [out][in][tap].
func (d Dims) EncoderWeights() iter.Seq2[string, []int] {
	w := d.AudioWidth
	return func(yield func(string, []int) bool) {
		y := &yielder{yield: yield}
		y.put("encoder.conv1.weight", w, d.MelBins, 3)
		y.put("encoder.conv1.bias", w)
		y.put("encoder.conv2.weight", w, w, 3)
		y.put("encoder.conv2.bias", w)
		y.put("encoder.embed_positions.weight", d.AudioPositions, w)
		for i := 0; i < d.AudioLayers && !y.done; i++ {
			at := fmt.Sprintf("encoder.layers.%d.", i)
			y.attention(at+"self_attn", w)
			y.mlp(at, w, d.AudioFFN)
		}
		y.norm("encoder.layer_norm", w)
	}
}

// DecoderWeights yields the name and shape of every weight of the decoder. The
// vocabulary head is the token embedding, unless the checkpoint unties them.
func (d Dims) DecoderWeights() iter.Seq2[string, []int] {
	w := d.TextWidth
	return func(yield func(string, []int) bool) {
		y := &yielder{yield: yield}
		y.put("decoder.embed_tokens.weight", d.Vocab, w)
		y.put("decoder.embed_positions.weight", d.TextPositions, w)
		for i := 0; i < d.TextLayers && !y.done; i++ {
			at := fmt.Sprintf("decoder.layers.%d.", i)
			y.attention(at+"self_attn", w)
			y.attention(at+"encoder_attn", w)
			y.mlp(at, w, d.TextFFN)
		}
		y.norm("decoder.layer_norm", w)
	}
}

// A yielder stops when its consumer does.
type yielder struct {
	yield func(string, []int) bool
	done  bool
}

func (y *yielder) put(name string, shape ...int) {
	y.done = y.done || !y.yield(name, shape)
}

func (y *yielder) norm(name string, w int) {
	y.put(name+".weight", w)
	y.put(name+".bias", w)
}

// attention yields the four projections and the norm before them. Keys have no
// bias in Whisper.
func (y *yielder) attention(name string, w int) {
	for _, p := range []string{"q_proj", "k_proj", "v_proj", "out_proj"} {
		y.put(name+"."+p+".weight", w, w)
		if p != "k_proj" {
			y.put(name+"."+p+".bias", w)
		}
	}
	y.norm(name+"_layer_norm", w)
}

func (y *yielder) mlp(at string, w, ffn int) {
	y.put(at+"fc1.weight", ffn, w)
	y.put(at+"fc1.bias", ffn)
	y.put(at+"fc2.weight", w, ffn)
	y.put(at+"fc2.bias", w)
	y.norm(at+"final_layer_norm", w)
}

package synth

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"

	"verity/internal/frontend"
	"verity/internal/input"
	"verity/model"
	"verity/tokenizer"
)

// A Plant is the entry "verity_planted" of config.json, about planted text.
type Plant struct {
	Tokens   int    `json:"tokens"`    // in a window
	TextSeed uint64 `json:"text_seed"` // seed of the planted text

	Alpha     float64 `json:"alpha,omitempty"`     // share of positions where an assistant was to agree
	Agreement float64 `json:"agreement,omitempty"` // share of the first window's positions where it agrees
}

// Planted returns the plant of the checkpoint in a directory; nil if nothing is planted.
func Planted(dir fs.FS) *Plant {
	b, err := input.ReadFS(dir, "config.json", 16<<20)
	if err != nil {
		return nil
	}
	var c struct {
		Plant *Plant `json:"verity_planted"`
	}
	if json.Unmarshal(b, &c) != nil {
		return nil
	}
	return c.Plant
}

func (p *Plant) String() string {
	if p.Alpha == 0 && p.Agreement == 0 {
		return fmt.Sprintf("%d tokens a window, whatever the audio", p.Tokens)
	}
	return fmt.Sprintf("%d tokens a window, %.0f %% of them the target's (α = %g)", p.Tokens, 100*p.Agreement, p.Alpha)
}

// settings returns config.json, generation_config.json and preprocessor_config.json, the
// files with the network's sizes and ids.
func settings(d model.Dims, tok *tokenizer.Tokenizer, p *Plant) (map[string][]byte, error) {
	files := map[string][]byte{}
	for name, x := range map[string]any{
		"config.json":              config(d, tok, p),
		"generation_config.json":   generation(d, tok),
		"preprocessor_config.json": preprocessor(d),
	} {
		b, err := jsonOf(x)
		if err != nil {
			return nil, err
		}
		files[name] = b
	}
	return files, nil
}

func config(d model.Dims, tok *tokenizer.Tokenizer, p *Plant) map[string]any {
	c := map[string]any{
		"architectures": []string{"WhisperForConditionalGeneration"}, "model_type": "whisper",
		"is_encoder_decoder": true, "vocab_size": d.Vocab, "num_mel_bins": d.MelBins, "d_model": d.AudioWidth,
		"encoder_layers": d.AudioLayers, "encoder_attention_heads": d.AudioHeads, "encoder_ffn_dim": d.AudioFFN,
		"decoder_layers": d.TextLayers, "decoder_attention_heads": d.TextHeads, "decoder_ffn_dim": d.TextFFN,
		"num_hidden_layers": d.AudioLayers, "max_source_positions": d.AudioPositions,
		"max_target_positions": d.TextPositions, "activation_function": "gelu", "scale_embedding": false,
		"tie_word_embeddings": true, "use_cache": true, "init_std": 0.02, "dropout": 0.0,
		"attention_dropout": 0.0, "activation_dropout": 0.0, "encoder_layerdrop": 0.0, "decoder_layerdrop": 0.0,
		"bos_token_id": tok.EOT, "eos_token_id": tok.EOT, "pad_token_id": tok.EOT,
		"decoder_start_token_id": tok.SOT, "median_filter_width": 7, "torch_dtype": "float16",
	}
	if p != nil {
		c["verity_planted"] = p
	}
	return c
}

func generation(d model.Dims, tok *tokenizer.Tokenizer) map[string]any {
	suppress := append(tok.NonSpeech(), tok.SOT, tok.Translate, tok.Transcribe, tok.SOTLM, tok.SOTPrev, tok.NoSpeech)
	g := map[string]any{
		"begin_suppress_tokens": append(tok.Encode(" "), tok.EOT), "suppress_tokens": suppress,
		"bos_token_id": tok.EOT, "eos_token_id": tok.EOT, "pad_token_id": tok.EOT, "decoder_start_token_id": tok.SOT,
		"no_timestamps_token_id": tok.NoTimestamps, "prev_sot_token_id": tok.SOTPrev,
		"max_initial_timestamp_index": 50, "max_length": d.TextPositions, "return_timestamps": false,
		"is_multilingual": tok.Multilingual(),
	}
	if tok.Multilingual() {
		lang := map[string]Token{}
		for _, l := range tok.Languages() {
			lang["<|"+l.Code+"|>"] = l.Token
		}
		g["lang_to_id"] = lang
		g["task_to_id"] = map[string]Token{"transcribe": tok.Transcribe, "translate": tok.Translate}
	}
	return g
}

// preprocessor returns the fields that WhisperFeatureExtractor reads.
func preprocessor(d model.Dims) map[string]any {
	const hop, rate = frontend.HopLength, frontend.SampleRate
	return map[string]any{
		"feature_extractor_type": "WhisperFeatureExtractor", "processor_class": "WhisperProcessor",
		"feature_size": d.MelBins, "sampling_rate": rate, "hop_length": hop, "n_fft": frontend.WindowSize,
		"chunk_length": d.WindowFrames() * hop / rate, "n_samples": d.WindowFrames() * hop,
		"nb_max_frames": d.WindowFrames(), "padding_side": "right", "padding_value": 0.0,
		"return_attention_mask": false,
	}
}

// jsonOf leaves <, > and & as they are, as in <|en|>.
func jsonOf(x any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	err := e.Encode(x)
	return b.Bytes(), err
}

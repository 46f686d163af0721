package model

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"

	"verity/tokenizer"
)

// NoToken is the id of a token that the checkpoint does not state.
const NoToken = -1

// Generation is what a checkpoint says about decoding, from generation_config.json, or
// from config.json in older checkpoints. The comments give upstream's names. Fields that
// are not stated stay empty: the defaults are those of the caller.
type Generation struct {
	// SuppressTokens are never chosen (suppress_tokens), BeginSuppressTokens not as the
	// first token (begin_suppress_tokens). Nil means the checkpoint has no such list,
	// empty that it suppresses nothing. Ids outside the vocabulary are left out, since
	// upstream ignores them.
	SuppressTokens      []int32
	BeginSuppressTokens []int32

	LangToID map[string]int32 // lang_to_id: "<|en|>" to token; nil if not stated
	TaskToID map[string]int32 // task_to_id: "transcribe", "translate" to token; nil if not stated

	DecoderStartToken int32 // decoder_start_token_id, <|startoftranscript|>; or NoToken
	EOSToken          int32 // eos_token_id, <|endoftext|>, or the first of a list; or NoToken
	NoTimestampsToken int32 // no_timestamps_token_id, <|notimestamps|>; or NoToken
	PrevSOTToken      int32 // prev_sot_token_id, <|startofprev|>; or NoToken

	AlignmentHeads [][2]int // alignment_heads: layer and head of cross-attention that follows the speech

	// Multilingual is is_multilingual; where it is not stated, whether there are
	// languages or, as in openai/whisper, at least 51,865 tokens.
	Multilingual bool
}

// generationFields are the fields as they stand in the files. Each may be null.
type generationFields struct {
	Suppress      []int            `json:"suppress_tokens"`
	BeginSuppress []int            `json:"begin_suppress_tokens"`
	Start         token            `json:"decoder_start_token_id"`
	EOS           token            `json:"eos_token_id"`
	LangToID      map[string]token `json:"lang_to_id"`
	TaskToID      map[string]token `json:"task_to_id"`
	NoTimestamps  token            `json:"no_timestamps_token_id"`
	PrevSOT       token            `json:"prev_sot_token_id"`
	Alignment     [][]int          `json:"alignment_heads"`
	Multilingual  *bool            `json:"is_multilingual"`
}

// A token is an id, or a list of which the first counts, or null.
type token struct{ id *float64 }

// UnmarshalJSON accepts 50257, 50257.0, [50257] and null.
func (t *token) UnmarshalJSON(b []byte) error {
	var list []*float64
	if json.Unmarshal(b, &list) != nil {
		return json.Unmarshal(b, &t.id)
	}
	if len(list) > 0 {
		t.id = list[0]
	}
	return nil
}

// newGeneration checks the fields of a file.
func newGeneration(file string, f generationFields, d Dims) (Generation, error) {
	p := &generationParser{file: file, dims: d}
	g := Generation{
		SuppressTokens:      p.list(f.Suppress),
		BeginSuppressTokens: p.list(f.BeginSuppress),
		LangToID:            p.ids("lang_to_id", f.LangToID),
		TaskToID:            p.ids("task_to_id", f.TaskToID),
		DecoderStartToken:   p.id("decoder_start_token_id", f.Start),
		EOSToken:            p.id("eos_token_id", f.EOS),
		NoTimestampsToken:   p.id("no_timestamps_token_id", f.NoTimestamps),
		PrevSOTToken:        p.id("prev_sot_token_id", f.PrevSOT),
		AlignmentHeads:      p.heads(f.Alignment),
		Multilingual:        len(f.LangToID) > 0 || d.Vocab >= tokenizer.VocabMultilingual,
	}
	if f.Multilingual != nil {
		g.Multilingual = *f.Multilingual
	}
	return g, p.err
}

// A generationParser checks ids against the sizes and keeps the first error.
type generationParser struct {
	file string
	dims Dims
	err  error
}

func (p *generationParser) fail(field, format string, args ...any) {
	if p.err == nil {
		p.err = &ConfigError{p.file, field, fmt.Sprintf(format, args...)}
	}
}

// list keeps nil and empty apart. It leaves out ids outside the vocabulary, as
// transformers does (logits_process.py, SuppressTokensLogitsProcessor).
func (p *generationParser) list(ids []int) []int32 {
	if ids == nil {
		return nil
	}
	list := make([]int32, 0, len(ids))
	for _, id := range ids {
		if id >= 0 && id < p.dims.Vocab {
			list = append(list, int32(id))
		}
	}
	return list
}

func (p *generationParser) id(field string, t token) int32 {
	if t.id == nil || *t.id == NoToken {
		return NoToken
	}
	if id := *t.id; !(id >= 0 && id < float64(p.dims.Vocab)) || id != math.Trunc(id) {
		p.fail(field, "is token %v, the vocabulary has %d", id, p.dims.Vocab)
		return NoToken
	}
	return int32(*t.id)
}

func (p *generationParser) ids(field string, m map[string]token) map[string]int32 {
	if m == nil {
		return nil
	}
	ids := make(map[string]int32, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) { // in order, for the same error each time
		if id := p.id(field, m[name]); id != NoToken {
			ids[name] = id
		}
	}
	return ids
}

func (p *generationParser) heads(pairs [][]int) (heads [][2]int) {
	for _, h := range pairs {
		if len(h) != 2 {
			p.fail("alignment_heads", "has a list of %d numbers, want pairs", len(h))
			return nil
		}
		layer, head := h[0], h[1]
		if layer < 0 || layer >= p.dims.TextLayers || head < 0 || head >= p.dims.TextHeads {
			p.fail("alignment_heads", "names layer %d, head %d; the decoder has %d layers of %d heads",
				layer, head, p.dims.TextLayers, p.dims.TextHeads)
			return nil
		}
		heads = append(heads, [2]int{layer, head})
	}
	return heads
}

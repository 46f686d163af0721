package transcribe

import (
	"math"

	"verity/decoder"
	"verity/internal/zlibsize"
	"verity/tokenizer"
	"verity/transcript"
)

// A result is one decoding of a window, with the measures that the gates check.
type result struct {
	tokens      []tokenizer.Token // without end-of-text
	logProbs    []float32         // of each token
	marks       []transcript.Mark // of each token; empty if unknown
	temperature float64
	logProb     float64 // mean of all tokens and end-of-text
	compression float64
	noSpeech    float64
}

// judge measures a decoding.
//
// Source: openai/whisper@c0d2f62 whisper/decoding.py, DecodingTask.run.
func judge(t *tokenizer.Tokenizer, d decoding, temperature float64) result {
	r := result{temperature: temperature, noSpeech: float64(d.noSpeechProb)}
	r.tokens = make([]tokenizer.Token, 0, len(d.choices))
	r.logProbs = make([]float32, 0, len(d.choices))
	for i, c := range d.choices {
		if c.Token == t.EOT {
			continue
		}
		r.tokens, r.logProbs = append(r.tokens, c.Token), append(r.logProbs, c.LogProb)
		if d.marks != nil {
			r.marks = append(r.marks, d.marks[i])
		}
	}
	r.logProb = meanLogProb(d.choices, len(r.tokens))
	r.compression = compressionRatio(tokenizer.Strip(spell(t, r.tokens)))
	return r
}

// meanLogProb returns the sum over all choices, end-of-text included, divided by
// the number of tokens and one more, whether or not the sequence ended by itself.
func meanLogProb(choices []decoder.Choice, tokens int) float64 {
	sum := 0.0
	for _, c := range choices {
		sum += float64(c.LogProb)
	}
	return sum / float64(tokens+1)
}

// compressionRatio returns the bytes of text divided by their size after zlib.
//
// Source: openai/whisper@c0d2f62 whisper/utils.py, compression_ratio.
func compressionRatio(text string) float64 {
	return float64(len(text)) / float64(zlibsize.Len(text))
}

// spell returns the text of tokens the way upstream's Tokenizer.decode does:
// timestamps left out, special tokens (a model may emit a language) spelled out.
func spell(t *tokenizer.Tokenizer, tokens []tokenizer.Token) string {
	kept := make([]tokenizer.Token, 0, len(tokens))
	for _, tok := range tokens {
		if !t.IsTimestamp(tok) {
			kept = append(kept, tok)
		}
	}
	return t.DecodeWithTimestamps(kept)
}

// gates are the thresholds of Options. A threshold that is infinite is off.
type gates struct {
	maxCompression, minLogProb, maxNoSpeech float64
}

// repetitive, unlikely and speechless are the three gates.
func (g gates) repetitive(r result) bool { return r.compression > g.maxCompression }
func (g gates) unlikely(r result) bool   { return r.logProb < g.minLogProb }
func (g gates) speechless(r result) bool { return r.noSpeech > g.maxNoSpeech }

// refuse reports whether r must be decoded again at the next temperature. Unlikely
// text in a window without speech is not decoded again.
//
// Source: openai/whisper@c0d2f62 whisper/transcribe.py, decode_with_fallback.
func (g gates) refuse(r result) bool {
	if g.speechless(r) && g.unlikely(r) {
		return false
	}
	return g.repetitive(r) || g.unlikely(r)
}

// silent reports whether the window is to be skipped: its no-speech probability is high
// and its mean log-probability is not high enough to overrule that. With the
// log-probability gate off, text never overrules it.
//
// Source: openai/whisper@c0d2f62 whisper/transcribe.py, "no voice activity check".
func (g gates) silent(r result) bool {
	likely := !math.IsInf(g.minLogProb, -1) && r.logProb > g.minLogProb
	return g.speechless(r) && !likely
}

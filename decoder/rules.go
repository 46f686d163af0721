package decoder

import (
	"cmp"
	"math"

	"verity/internal/kernel"
	"verity/model"
	"verity/tokenizer"
)

var negInf = float32(math.Inf(-1))

// A Rule changes the logits of one position before a token is chosen there.
type Rule interface {
	// Apply changes logits [Vocab] in place. seen holds the tokens before this position:
	// the first begin are the prompt, the others were chosen, drafts included, so that a
	// rule sees the same in a verify pass as in plain decoding.
	Apply(logits []float32, seen []tokenizer.Token, begin int)
}

// RuleOptions configures Rules. The zero value is openai's default.
type RuleOptions struct {
	// WithoutTimestamps leaves out the timestamp rules.
	WithoutTimestamps bool

	// SuppressTokens are never chosen. Nil means the list in the checkpoint's generation
	// config if there is one, else openai's: symbols that are not speech, and special
	// tokens. Empty but not nil turns the rule off, special tokens included, as upstream's
	// suppress_tokens="" does. -1 stands for the symbols.
	SuppressTokens []tokenizer.Token

	// Forbidden are never chosen either, whatever SuppressTokens says.
	Forbidden []tokenizer.Token

	// MaxInitialTimestamp is the latest first timestamp, in seconds. 0 means 1;
	// +Inf turns it off.
	MaxInitialTimestamp float64

	// Terms makes the terms that it was made of likelier. Nil changes nothing.
	Terms *TermBias

	Repetition
}

// Rules returns the logit rules in upstream's order: those of Repetition come first, as in
// transformers, and that of Terms before them.
//
// Source: openai/whisper@c0d2f62 whisper/decoding.py, DecodingTask.__init__.
func Rules(t *tokenizer.Tokenizer, g model.Generation, o RuleOptions) []Rule {
	var rules []Rule
	if o.Terms != nil {
		rules = append(rules, o.Terms)
	}
	rules = append(rules, o.Repetition.rules(t.EOT)...)
	rules = append(rules, suppressBlank{blankTokens(t, g)})
	if list := suppressed(t, g, o.SuppressTokens); len(list) > 0 {
		rules = append(rules, suppress{list})
	}
	if len(o.Forbidden) > 0 {
		rules = append(rules, suppress{o.Forbidden})
	}
	if !o.WithoutTimestamps && t.TimestampBegin >= 0 {
		rules = append(rules, timestamps{
			eot: t.EOT, none: t.NoTimestamps, begin: t.TimestampBegin,
			maxFirst: maxFirst(t, o.MaxInitialTimestamp),
		})
	}
	return rules
}

func blankTokens(t *tokenizer.Tokenizer, g model.Generation) []tokenizer.Token {
	if g.BeginSuppressTokens != nil {
		return tokens(g.BeginSuppressTokens)
	}
	return append(t.Encode(" "), t.EOT)
}

func suppressed(t *tokenizer.Tokenizer, g model.Generation, explicit []tokenizer.Token) []tokenizer.Token {
	if explicit != nil {
		if len(explicit) == 0 {
			return nil
		}
		list := specials(t)
		for _, tok := range explicit {
			if tok == -1 {
				list = append(list, t.NonSpeech()...)
			} else {
				list = append(list, tok)
			}
		}
		return list
	}
	if g.SuppressTokens != nil {
		return tokens(g.SuppressTokens)
	}
	return append(t.NonSpeech(), specials(t)...)
}

// tokens converts ids as the checkpoint states them.
func tokens(ids []int32) []tokenizer.Token {
	list := make([]tokenizer.Token, len(ids))
	for i, id := range ids {
		list[i] = tokenizer.Token(id)
	}
	return list
}

// specials are the tokens that steer the decoder and are never its output.
func specials(t *tokenizer.Tokenizer) []tokenizer.Token {
	var list []tokenizer.Token
	for _, tok := range []tokenizer.Token{t.Transcribe, t.Translate, t.SOT, t.SOTPrev, t.SOTLM, t.NoSpeech} {
		if tok >= 0 {
			list = append(list, tok)
		}
	}
	return list
}

// maxFirst is the largest first timestamp as a count of steps.
func maxFirst(t *tokenizer.Tokenizer, seconds float64) int {
	const all = 1 << 20
	step := t.Seconds(t.TimestampBegin + 1)
	return int(min(math.Round(cmp.Or(seconds, 1)/step), all))
}

// suppress forbids tokens everywhere. Source: SuppressTokens.
type suppress struct{ tokens []tokenizer.Token }

func (r suppress) Apply(logits []float32, _ []tokenizer.Token, _ int) { forbid(logits, r.tokens) }

// suppressBlank forbids tokens at the first position. Source: SuppressBlank.
type suppressBlank struct{ tokens []tokenizer.Token }

func (r suppressBlank) Apply(logits []float32, seen []tokenizer.Token, begin int) {
	if len(seen) == begin {
		forbid(logits, r.tokens)
	}
}

// EndOfSound ends the text of a window where its sound ends. Without it, the decoder repeats itself in a window that is
// encoded with little silence after the sound.
type EndOfSound struct {
	EOT, TimestampBegin tokenizer.Token
	Last                tokenizer.Token // the time at which the sound ends: none is later
	Near                tokenizer.Token // after text that ends at this time or later, only end-of-text follows
}

// Apply implements Rule.
func (r EndOfSound) Apply(logits []float32, seen []tokenizer.Token, begin int) {
	if last := int(r.Last) + 1; last < len(logits) {
		forbidAll(logits[last:])
	}
	if r.reached(seen[begin:]) {
		allowOnly(logits, r.EOT)
	}
}

// reached reports whether only end-of-text may follow the sampled tokens.
func (r EndOfSound) reached(sampled []tokenizer.Token) bool {
	n := len(sampled)
	return n >= 2 && sampled[n-1] >= r.Near && sampled[n-2] < r.TimestampBegin
}

// allowOnly forbids every other token.
func allowOnly(logits []float32, t tokenizer.Token) {
	forbidAll(logits[:t])
	forbidAll(logits[t+1:])
}

func forbid(logits []float32, tokens []tokenizer.Token) {
	for _, t := range tokens {
		if int(t) < len(logits) {
			logits[t] = negInf
		}
	}
}

// timestamps makes timestamps come first, in pairs, and never decrease, and forces one if
// timestamps together are likelier than any single text token. Source:
// ApplyTimestampRules.
type timestamps struct {
	eot, none, begin tokenizer.Token
	maxFirst         int
}

func (r timestamps) Apply(logits []float32, seen []tokenizer.Token, begin int) {
	sampled := seen[begin:]
	if r.none >= 0 {
		logits[r.none] = negInf
	}
	n := len(sampled)
	last := n >= 1 && sampled[n-1] >= r.begin
	before := n < 2 || sampled[n-2] >= r.begin
	if last && before {
		forbidAll(logits[r.begin:]) // a pair is complete: text or end-of-text follows
	} else if last {
		forbidAll(logits[:r.eot]) // half a pair: its other half or end-of-text follows
	}
	if lowest := r.lowest(sampled, last && !before); lowest > r.begin {
		forbidAll(logits[r.begin:min(int(lowest), len(logits))])
	}
	if n == 0 {
		forbidAll(logits[:r.begin])
		forbidAll(logits[min(int(r.begin)+r.maxFirst+1, len(logits)):])
	}
	text, _ := kernel.Max(logits[:r.begin])
	if kernel.LogSumExp(logits[r.begin:]) > text {
		forbidAll(logits[:r.begin])
	}
}

// lowest returns the lowest timestamp that is allowed. The end of a segment may not equal
// its start, the start of the next may equal that end.
func (r timestamps) lowest(sampled []tokenizer.Token, halfPair bool) tokenizer.Token {
	for i := len(sampled) - 1; i >= 0; i-- {
		if sampled[i] >= r.begin {
			if halfPair {
				return sampled[i]
			}
			return sampled[i] + 1
		}
	}
	return r.begin
}

func forbidAll(logits []float32) {
	for i := range logits {
		logits[i] = negInf
	}
}

package decoder

import (
	"slices"

	"verity/tokenizer"
)

// Repetition prevents loops, and early or late ends of text. The zero value changes nothing.
//
// Source: transformers 5.23, generation/logits_process.py:
// RepetitionPenaltyLogitsProcessor, NoRepeatNGramLogitsProcessor and
// MinNewTokensLengthLogitsProcessor. As there, the first two look at the prompt
// too, special tokens and timestamps included.
type Repetition struct {
	// Penalty makes every token that came before less likely: its logit is divided by
	// Penalty if positive, else multiplied, once however often it came. Below 1 it makes
	// them likelier. 0 and 1 turn it off.
	Penalty float32

	// NoRepeat is the length of runs of tokens that must not occur twice. 0 turns it off.
	NoRepeat int

	// MinTokens is the minimum number of tokens before end-of-text, timestamps included,
	// prompt not. 0 turns it off.
	MinTokens int

	// MaxTokens is the maximum number of tokens before end-of-text, counted as MinTokens. 0 turns it off.
	MaxTokens int
}

// rules returns the rules that are on, in the order of transformers'
// GenerationMixin._get_logits_processor.
func (r Repetition) rules(eot tokenizer.Token) []Rule {
	var rules []Rule
	if r.Penalty != 0 && r.Penalty != 1 {
		rules = append(rules, penalty(r.Penalty))
	}
	if r.NoRepeat > 0 {
		rules = append(rules, noRepeat(r.NoRepeat))
	}
	if r.MinTokens > 0 {
		rules = append(rules, minTokens{eot, r.MinTokens})
	}
	if r.MaxTokens > 0 {
		rules = append(rules, maxTokens{eot, r.MaxTokens})
	}
	return rules
}

// penalty makes tokens that have occurred less likely.
type penalty float32

func (r penalty) Apply(logits []float32, seen []tokenizer.Token, _ int) {
	for i, t := range seen {
		if int(t) >= len(logits) || slices.Contains(seen[:i], t) {
			continue // each token counts once
		}
		if l := logits[t]; l < 0 {
			logits[t] = l * float32(r)
		} else {
			logits[t] = l / float32(r)
		}
	}
}

// noRepeat forbids a token that would complete a run of n tokens seen before.
type noRepeat int

func (r noRepeat) Apply(logits []float32, seen []tokenizer.Token, _ int) {
	n := int(r) - 1 // tokens of the run before the one to choose
	if len(seen) < n {
		return
	}
	tail := seen[len(seen)-n:]
	for i := range len(seen) - n {
		if slices.Equal(seen[i:i+n], tail) {
			forbid(logits, seen[i+n:i+n+1])
		}
	}
}

// minTokens forbids end-of-text before n tokens were chosen.
type minTokens struct {
	eot tokenizer.Token
	n   int
}

func (r minTokens) Apply(logits []float32, seen []tokenizer.Token, begin int) {
	if len(seen)-begin < r.n {
		logits[r.eot] = negInf
	}
}

// maxTokens forbids everything but end-of-text after n tokens were chosen.
type maxTokens struct {
	eot tokenizer.Token
	n   int
}

func (r maxTokens) Apply(logits []float32, seen []tokenizer.Token, begin int) {
	if len(seen)-begin >= r.n {
		allowOnly(logits, r.eot)
	}
}

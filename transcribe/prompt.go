package transcribe

import (
	"slices"

	"verity/tokenizer"
)

// A history is the text so far, as later windows see it.
type history struct {
	tokens  []tokenizer.Token // the initial prompt, then the segments' tokens
	initial int               // length of the initial prompt
	reset   int               // later windows do not get the tokens before this one
}

// add appends the tokens of a window's segments. If forget is set, later windows get
// neither these tokens nor any before them.
func (h *history) add(segments [][]tokenizer.Token, forget bool) {
	for _, s := range segments {
		h.tokens = append(h.tokens, s...)
	}
	if forget {
		h.reset = len(h.tokens)
	}
}

// text returns all tokens but the initial prompt.
func (h *history) text() []tokenizer.Token { return h.tokens[h.initial:] }

// shown returns the text that the next window continues, of which its prompt holds at
// most room tokens. With carry the initial prompt comes first whatever was reset, then
// as many of the last tokens as there is room for.
//
// Source: openai/whisper@c0d2f62 whisper/transcribe.py, "if carry_initial_prompt".
func (h *history) forPrompt(room int, carry bool) []tokenizer.Token {
	if !carry {
		return h.tokens[h.reset:]
	}
	rest := h.tokens[max(h.initial, h.reset):]
	return slices.Concat(h.tokens[:h.initial], tail(rest, room-h.initial))
}

// last returns what the Python slice x[-n:] does: the last n elements, but all of
// them for n = 0, and all but the first -n for a negative n. The odd cases arise
// when the initial prompt alone fills the prompt; it is then cut at its start by
// what follows it.
func tail[T any](x []T, n int) []T {
	if n > 0 {
		return x[max(0, len(x)-n):]
	}
	return x[min(len(x), -n):]
}

// assemble returns a window's prompt: the last room tokens of previous text
// behind the token that announces it, then the sequence that starts a transcript.
// It also returns the index of start-of-transcript.
//
// Source: openai/whisper@c0d2f62 whisper/decoding.py,
// DecodingTask._get_initial_tokens.
func buildPrompt(t *tokenizer.Tokenizer, previous, start []tokenizer.Token, room int) (prompt []tokenizer.Token, sot int) {
	if len(previous) > 0 && t.SOTPrev != tokenizer.None {
		prompt = append(prompt, t.SOTPrev)
		prompt = append(prompt, tail(previous, room)...)
	}
	prompt = append(prompt, start...)
	return prompt, slices.Index(prompt, t.SOT)
}

// startSequence returns the tokens that start a transcript: start-of-transcript,
// for a multilingual model language and task, and a token that forbids
// timestamps if there are to be none.
//
// Source: openai/whisper@c0d2f62 whisper/tokenizer.py, Tokenizer.__post_init__
// and sot_sequence_including_notimestamps.
func (t *Transcriber) startTokens(language tokenizer.Language) []tokenizer.Token {
	start := t.languageAndTask(language)
	if t.opt.WithoutTimestamps {
		start = append(start, t.model.Tokenizer.NoTimestamps)
	}
	return start
}

// startOf returns the same without a choice of timestamps.
func (t *Transcriber) languageAndTask(language tokenizer.Language) []tokenizer.Token {
	tok := t.model.Tokenizer
	start := []tokenizer.Token{tok.SOT}
	if t.multilingual() {
		task := tok.Transcribe
		if t.opt.Task == Translate {
			task = tok.Translate
		}
		start = append(start, language.Token, task)
	}
	return start
}

package transcribe

import (
	"slices"

	"verity/tokenizer"
)

// A history is the text so far, as later windows see it.
type history struct {
	tokens  []tokenizer.Token // the initial prompt, then the segments' tokens
	initial int               // length of the initial prompt
	reset   int               // prompts hold no token before this one
}

// forget keeps all text so far out of later prompts.
func (h *history) forget() { h.reset = len(h.tokens) }

// copiedTokens is how many tokens in a row a window may have in common with hotwords and the initial prompt. A
// speaker has fewer; a model that copies has many.
const copiedTokens = 8

// isCopied reports whether text repeats copiedTokens of a prompt, timestamps aside.
func isCopied(t *tokenizer.Tokenizer, prompt, text []tokenizer.Token) bool {
	prompt, text = textOf(t, prompt), textOf(t, text)
	runs := map[[copiedTokens]tokenizer.Token]bool{}
	for i := 0; i+copiedTokens <= len(prompt); i++ {
		runs[[copiedTokens]tokenizer.Token(prompt[i:])] = true
	}
	for i := 0; i+copiedTokens <= len(text); i++ {
		if runs[[copiedTokens]tokenizer.Token(text[i:])] {
			return true
		}
	}
	return false
}

// text returns all tokens but the initial prompt.
func (h *history) text() []tokenizer.Token { return h.tokens[h.initial:] }

// forPrompt returns the text that the next window continues. room is the number of tokens that the
// prompt can hold. With carry, the initial prompt always precedes the last tokens that fit.
//
// Source: openai/whisper@c0d2f62 whisper/transcribe.py, "if carry_initial_prompt".
func (h *history) forPrompt(room int, carry bool) []tokenizer.Token {
	if !carry {
		return h.tokens[h.reset:]
	}
	rest := h.tokens[max(h.initial, h.reset):]
	return slices.Concat(h.tokens[:h.initial], tail(rest, room-h.initial))
}

// tail returns Python's slice x[-n:]: the last n elements, all of them for n = 0, and all but the first -n
// for a negative n. The odd cases arise when the initial prompt alone fills the prompt.
func tail[T any](x []T, n int) []T {
	if n > 0 {
		return x[max(0, len(x)-n):]
	}
	return x[min(len(x), -n):]
}

// buildPrompt returns a window's prompt: the token that announces previous text, the last room tokens of that
// text, and the sequence that starts a transcript. sot is the index of start-of-transcript.
//
// Source: openai/whisper@c0d2f62 whisper/decoding.py, DecodingTask._get_initial_tokens.
func buildPrompt(
	t *tokenizer.Tokenizer, previous, start []tokenizer.Token, room int,
) (prompt []tokenizer.Token, sot int) {
	if len(previous) > 0 && t.SOTPrev != tokenizer.None {
		prompt = append(prompt, t.SOTPrev)
		prompt = append(prompt, tail(previous, room)...)
	}
	prompt = append(prompt, start...)
	return prompt, slices.Index(prompt, t.SOT)
}

// startTokens returns the tokens that start a transcript: start-of-transcript, language and task
// for a multilingual model, and a token that forbids timestamps if there are to be none.
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

// languageAndTask returns the tokens that start a transcript, without the one about timestamps.
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

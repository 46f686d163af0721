package tokenizer

import (
	"maps"
	"slices"
	"strings"
)

// NonSpeech returns, in order, the tokens that openai suppresses so that the
// text holds no speaker tags or annotations of sounds, such as ♪♪♪ or
// ( SPEAKING FOREIGN LANGUAGE ), but keeps its punctuation: brackets and other
// symbols, and a hyphen or quote at the beginning of a word.
//
// Source: openai/whisper@c0d2f62 whisper/tokenizer.py, non_speech_tokens.
func (t *Tokenizer) NonSpeech() []Token {
	const (
		signs = "\" # ( ) * + / : ; < = > @ [ \\ ] ^ _ ` { | } ~ 「 」 『 』" +
			" << >> <<< >>> -- --- -( -[ (' (\" (( )) ((( ))) [[ ]] {{ }} ♪♪ ♪♪♪"
		// These may take several tokens. The first is suppressed then: it holds
		// two bytes that only miscellaneous symbols (U+2640 to U+267F) share.
		music = "♩ ♪ ♫ ♬ ♭ ♮ ♯"
	)
	set := make(map[Token]bool)
	add := func(text string, first bool) {
		toks, bad := t.bpe.encode(text)
		if bad < 0 && (first || len(toks) == 1) {
			set[toks[0]] = true
		}
	}
	add(" -", true)
	add(" '", true)
	for _, s := range strings.Fields(signs) {
		add(s, false)
		add(" "+s, false)
	}
	for _, s := range strings.Fields(music) {
		add(s, true)
		add(" "+s, true)
	}
	return slices.Sorted(maps.Keys(set))
}

package tokenizer

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// openaiTimestamps is how many timestamps openai's vocabularies end with: 0 to
// 30 s, 0.02 s apart.
const openaiTimestamps = 1501

// A vocabulary is what the files say, before special tokens have their meaning.
type vocabulary struct {
	bpe     *bpe
	special map[string]Token // by spelling
}

// isSpecialName reports whether s is spelled like a special token: <|…|>.
func isSpecialName(s string) bool {
	return len(s) > 4 && strings.HasPrefix(s, "<|") && strings.HasSuffix(s, "|>")
}

// timestampName returns the spelling of the i-th timestamp.
func timestampName(i int) string { return fmt.Sprintf("<|%.2f|>", float64(i)*0.02) }

// newTokenizer finds the meaning of the special tokens. vocab is the model's vocabulary size, 0
// if unknown; file is for errors.
func newTokenizer(tab vocabulary, vocab int, file string) (*Tokenizer, error) {
	t := &Tokenizer{bpe: tab.bpe, special: make(map[Token]string, len(tab.special)+openaiTimestamps)}
	for name, tok := range tab.special {
		t.special[tok] = name
		t.size = max(t.size, int(tok)+1)
	}
	t.size = max(t.size, len(tab.bpe.text))
	if vocab > 0 && t.size > vocab {
		return nil, &Error{File: file, Thing: "vocabulary", Err: ErrUnsupported, Got: fmt.Sprintf("ids up to %d", t.size-1),
			Want: fmt.Sprintf("less than the model's vocab_size %d", vocab), Remedy: "use the tokenizer this model was trained with"}
	}
	t.setSpecials(tab.special)
	if t.EOT == None || t.SOT == None {
		return nil, &Error{File: file, Thing: "special token <|endoftext|> or <|startoftranscript|>", Err: ErrMissing, Remedy: remedyNotWhisper}
	}
	t.setTimestamps(tab.special, vocab)
	for i := range openaiTimestamps { // a gap would cut off all later timestamps
		name := timestampName(i)
		if tok, ok := tab.special[name]; ok && (i >= t.timestamps || tok != t.TimestampBegin+Token(i)) {
			return nil, &Error{File: file, Thing: "special token " + name, Err: ErrMalformed, Got: fmt.Sprintf("id %d", tok),
				Want: "all from <|0.00|> to it, id after id", Remedy: remedyDamaged}
		}
	}
	t.setLanguages()
	return t, nil
}

// setSpecials finds the special tokens that have a field.
func (t *Tokenizer) setSpecials(special map[string]Token) {
	find := func(names ...string) Token {
		for _, name := range names {
			if tok, ok := special["<|"+name+"|>"]; ok {
				return tok
			}
		}
		return None
	}
	t.EOT, t.SOT, t.SOTLM, t.SOTPrev = find("endoftext"), find("startoftranscript"), find("startoflm"), find("startofprev")
	t.Translate, t.Transcribe = find("translate"), find("transcribe")
	t.NoSpeech, t.NoTimestamps = find("nospeech", "nocaptions"), find("notimestamps")
}

// setTimestamps finds the timestamps: those the files name, or, since older
// files name none, all ids after <|notimestamps|> up to the model's last.
func (t *Tokenizer) setTimestamps(special map[string]Token, vocab int) {
	begin, named := special["<|0.00|>"]
	if named {
		t.TimestampBegin = begin
		for t.special[begin+Token(t.timestamps)] == timestampName(t.timestamps) {
			t.timestamps++
		}
		return
	}
	t.TimestampBegin = None
	n := min(vocab-int(t.NoTimestamps)-1, openaiTimestamps)
	if t.NoTimestamps == None || n <= 0 || t.size > int(t.NoTimestamps)+1 {
		return
	}
	t.TimestampBegin, t.timestamps = t.NoTimestamps+1, n
	for i := range n {
		t.special[t.TimestampBegin+Token(i)] = timestampName(i)
	}
	t.size = int(t.TimestampBegin) + n
}

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

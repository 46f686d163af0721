package tokenizer

import (
	"fmt"
	"strings"
)

// openaiTimestamps is how many timestamps openai's vocabularies end with: 0 to
// 30 s, 0.02 s apart.
const openaiTimestamps = 1501

// A table is a vocabulary as read, before special tokens have their meaning.
type table struct {
	bpe     *bpe
	special map[string]Token // by spelling
}

// isSpecialName reports whether s is spelled like a special token: <|…|>.
func isSpecialName(s string) bool {
	return len(s) > 4 && strings.HasPrefix(s, "<|") && strings.HasSuffix(s, "|>")
}

// timestampName returns the spelling of the i-th timestamp.
func timestampName(i int) string { return fmt.Sprintf("<|%.2f|>", float64(i)*0.02) }

// newTokenizer gives special tokens their meaning. vocab is the model's vocabulary size,
// 0 if not known; file is for errors.
func newTokenizer(tab table, vocab int, file string) (*Tokenizer, error) {
	t := &Tokenizer{bpe: tab.bpe, special: make(map[Token]string, len(tab.special)+openaiTimestamps)}
	for name, tok := range tab.special {
		t.special[tok] = name
		t.size = max(t.size, int(tok)+1)
	}
	t.size = max(t.size, len(tab.bpe.text))
	if vocab > 0 && t.size > vocab {
		return nil, &Error{
			File: file, Thing: "vocabulary", Err: ErrUnsupported,
			Got:    fmt.Sprintf("ids up to %d", t.size-1),
			Want:   fmt.Sprintf("less than the model's vocab_size %d", vocab),
			Remedy: "use the tokenizer this model was trained with",
		}
	}
	t.setSpecials(tab.special)
	if t.EOT == None || t.SOT == None {
		return nil, &Error{
			File: file, Thing: "special token <|endoftext|> or <|startoftranscript|>", Err: ErrMissing,
			Remedy: "is this the tokenizer of a Whisper model?",
		}
	}
	t.setTimestamps(tab.special, vocab)
	t.setLanguages()
	return t, nil
}

// setSpecials finds the special tokens that have a field.
func (t *Tokenizer) setSpecials(special map[string]Token) {
	for _, f := range []struct {
		tok   *Token
		names []string // any of them will do
	}{
		{&t.EOT, []string{"<|endoftext|>"}},
		{&t.SOT, []string{"<|startoftranscript|>"}},
		{&t.Translate, []string{"<|translate|>"}},
		{&t.Transcribe, []string{"<|transcribe|>"}},
		{&t.SOTLM, []string{"<|startoflm|>"}},
		{&t.SOTPrev, []string{"<|startofprev|>"}},
		{&t.NoSpeech, []string{"<|nospeech|>", "<|nocaptions|>"}},
		{&t.NoTimestamps, []string{"<|notimestamps|>"}},
	} {
		*f.tok = None
		for _, name := range f.names {
			if tok, ok := special[name]; ok {
				*f.tok = tok
				break
			}
		}
	}
}

// setTimestamps finds the timestamps: those the files name, or, since older
// files name none, all ids after <|notimestamps|> up to the model's last.
func (t *Tokenizer) setTimestamps(special map[string]Token, vocab int) {
	begin, named := special["<|0.00|>"]
	if named {
		t.TimestampBegin = begin
		for t.special[begin+Token(t.stamps)] == timestampName(t.stamps) {
			t.stamps++
		}
		return
	}
	t.TimestampBegin = None
	n := min(vocab-int(t.NoTimestamps)-1, openaiTimestamps)
	if t.NoTimestamps == None || n <= 0 || t.size > int(t.NoTimestamps)+1 {
		return
	}
	t.TimestampBegin, t.stamps = t.NoTimestamps+1, n
	for i := range n {
		t.special[t.TimestampBegin+Token(i)] = timestampName(i)
	}
	t.size = int(t.TimestampBegin) + n
}

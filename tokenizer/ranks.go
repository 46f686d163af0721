package tokenizer

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"sync"
)

// The vocabulary sizes of openai's checkpoints.
const (
	VocabEnglish      = 51864 // English-only
	VocabMultilingual = 51865 // multilingual, 99 languages
	VocabLargeV3      = 51866 // multilingual, 100 languages: large-v3 and its kin
)

// The rank tables, packed: see tables/SOURCE.md.
var (
	//go:embed tables/gpt2.bin.gz
	gpt2Packed []byte
	//go:embed tables/multilingual.bin.gz
	multilingualPacked []byte

	gpt2Table         = sync.OnceValue(func() *bpe { return mustUnpack(gpt2Packed) })
	multilingualTable = sync.OnceValue(func() *bpe { return mustUnpack(multilingualPacked) })
)

// Embedded returns the tokenizer of openai's checkpoints with a vocabulary size: [VocabEnglish],
// [VocabMultilingual] or [VocabLargeV3].
func Embedded(vocab int) (*Tokenizer, error) {
	ranks, known := multilingualTable, len(languages)
	switch vocab {
	case VocabEnglish:
		ranks, known = gpt2Table, known-1
	case VocabMultilingual:
		known--
	case VocabLargeV3:
	default:
		return nil, &Error{Thing: "embedded tokenizer", Err: ErrMissing, Got: fmt.Sprintf("vocab_size %d", vocab),
			Want: fmt.Sprintf("%d, %d or %d", VocabEnglish, VocabMultilingual, VocabLargeV3), Remedy: "put the model's tokenizer.json into the directory of its weights"}
	}
	b := ranks()
	return newTokenizer(vocabulary{b, openaiSpecials(len(b.text), known)}, vocab, "embedded")
}

// openaiSpecials numbers openai's special tokens, beginning with first.
//
// Source: openai/whisper@c0d2f62 whisper/tokenizer.py, get_encoding.
func openaiSpecials(first, known int) map[string]Token {
	special := make(map[string]Token, 8+known+openaiTimestamps)
	add := func(name string) { special[name] = Token(first + len(special)) }
	add("<|endoftext|>")
	add("<|startoftranscript|>")
	for _, l := range languages[:known] {
		add("<|" + l.code + "|>")
	}
	for _, name := range []string{"translate", "transcribe", "startoflm", "startofprev", "nospeech", "notimestamps"} {
		add("<|" + name + "|>")
	}
	for i := range openaiTimestamps {
		add(timestampName(i))
	}
	return special
}

// unpack reads a list of text tokens, by rank: their number as six decimal digits and a
// newline, one byte of length per token, then the bytes of all tokens.
func unpack(raw []byte) (text []string, err error) {
	var n int
	if _, err := fmt.Sscanf(string(raw[:min(len(raw), 7)]), "%06d\n", &n); err != nil || n < 0 || len(raw) < 7+n {
		return nil, errors.New("no list of ranks")
	}
	lengths, rest := raw[7:7+n], string(raw[7+n:])
	text = make([]string, n)
	for i, length := range lengths {
		if int(length) > len(rest) {
			return nil, errors.New("a list of ranks that is cut off")
		}
		text[i], rest = rest[:length], rest[length:]
	}
	return text, nil
}

// mustUnpack reads an embedded table. It panics if the table is damaged, which only a broken
// build could do.
func mustUnpack(packed []byte) *bpe {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err == nil {
		packed, err = io.ReadAll(z)
	}
	text, err2 := unpack(packed)
	if err != nil || err2 != nil {
		panic("tokenizer: embedded table damaged")
	}
	return newBPE(text, nil, true)
}

// parseRanks reads a list of ranks. The special tokens are openai's, as many languages as
// vocab leaves room for.
func parseRanks(file string, raw []byte, vocab int) (vocabulary, error) {
	text, err := unpack(raw)
	if err != nil {
		return vocabulary{}, &Error{File: file, Thing: "vocabulary", Err: ErrMalformed, Got: err.Error(), Remedy: remedyDamaged}
	}
	known := vocab - len(text) - len(openaiSpecials(0, 0))
	if known < 1 || known > len(languages) {
		return vocabulary{}, &Error{File: file, Thing: "vocabulary", Err: ErrUnsupported,
			Got: fmt.Sprintf("%d text tokens for a vocab_size of %d, which leaves %d languages",
				len(text), vocab, known),
			Want:   fmt.Sprintf("1 to %d languages", len(languages)),
			Remedy: "use the tokenizer this model was trained with"}
	}
	return vocabulary{newBPE(text, nil, true), openaiSpecials(len(text), known)}, nil
}

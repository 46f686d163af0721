package tokenizer

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"
	"sync"
)

// The vocabulary sizes of openai's checkpoints.
const (
	vocabEnglish = 51864 // English-only
	vocabLarge2  = 51865 // multilingual, 99 languages
	vocabLarge3  = 51866 // multilingual, 100 languages: large-v3 and its kin
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

// Embedded returns the tokenizer of openai's checkpoints with the given
// vocabulary size: 51864 (English-only), 51865 or 51866 (large-v3).
func Embedded(vocab int) (*Tokenizer, error) {
	ranks, known := multilingualTable, len(languages)
	switch vocab {
	case vocabEnglish:
		ranks, known = gpt2Table, known-1
	case vocabLarge2:
		known--
	case vocabLarge3:
	default:
		return nil, &Error{Thing: "embedded tokenizer", Err: ErrMissing, Got: fmt.Sprintf("vocab_size %d", vocab),
			Want: fmt.Sprintf("%d, %d or %d", vocabEnglish, vocabLarge2, vocabLarge3), Remedy: "put the model's tokenizer.json beside its weights"}
	}
	b := ranks()
	return newTokenizer(table{b, openaiSpecials(len(b.text), known)}, vocab, "embedded")
}

// openaiSpecials numbers openai's special tokens from first on.
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

// mustUnpack reads an embedded table: the number of tokens as six decimal digits and a
// newline, one byte of length per token in the order of rank, then the bytes of all
// tokens. It panics if the table is damaged, which only a broken build could do.
func mustUnpack(packed []byte) *bpe {
	var raw []byte
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err == nil {
		raw, err = io.ReadAll(z)
	}
	var n int
	if _, e := fmt.Sscanf(string(raw), "%06d\n", &n); err != nil || e != nil || len(raw) < 7+n {
		panic("tokenizer: embedded table damaged")
	}
	lengths, rest := raw[7:7+n], string(raw[7+n:])
	text := make([]string, n)
	for i := range text {
		text[i], rest = rest[:lengths[i]], rest[lengths[i]:]
	}
	return newBPE(text, nil, true)
}

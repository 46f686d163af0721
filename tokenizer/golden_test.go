package tokenizer

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// readGolden decodes testdata/<name>, which only
// tools/reference/tokenizer_goldens.py writes.
func readGolden(t testing.TB, name string, v any) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(z).Decode(v); err != nil {
		t.Fatal(err)
	}
}

// embedded returns an embedded tokenizer.
func embedded(t testing.TB, vocab int) *Tokenizer {
	t.Helper()
	tok, err := Embedded(vocab)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

func TestEncodeGolden(t *testing.T) {
	var golden struct {
		Source             string
		Texts              []string
		GPT2, Multilingual [][]Token
	}
	readGolden(t, "encode.json.gz", &golden)
	for _, tt := range []struct {
		vocab int
		want  [][]Token
		why   string
	}{
		{VocabEnglish, golden.GPT2, "table gpt2"},
		{VocabMultilingual, golden.Multilingual, "table multilingual"},
		{VocabLargeV3, golden.Multilingual, "the same table under other specials"},
	} {
		tok := embedded(t, tt.vocab)
		for i, text := range golden.Texts {
			if got := tok.Encode(text); !slices.Equal(got, tt.want[i]) {
				t.Errorf("%d: Encode(%q) = %v, want %v (%s)", tt.vocab, text, got, tt.want[i], golden.Source)
			}
			if got := tok.Decode(tt.want[i]); got != text {
				t.Errorf("%d: Decode(%v) = %q, want %q", tt.vocab, tt.want[i], got, text)
			}
		}
	}
}

func TestDecodeGolden(t *testing.T) {
	var golden struct {
		Vocab []struct {
			Size int
			Rows [][3]json.RawMessage // tokens, decoded, with timestamps
		}
	}
	readGolden(t, "decode.json.gz", &golden)
	for _, v := range golden.Vocab {
		tok := embedded(t, v.Size)
		for _, row := range v.Rows {
			var tokens []Token
			var plain, stamped string
			unmarshal(t, row[0], &tokens)
			unmarshal(t, row[1], &plain)
			unmarshal(t, row[2], &stamped)
			if got := tok.Decode(tokens); got != plain {
				t.Errorf("%d: Decode(%v) = %q, want %q", v.Size, tokens, got, plain)
			}
			if got := tok.DecodeWithTimestamps(tokens); got != stamped {
				t.Errorf("%d: DecodeWithTimestamps(%v) = %q, want %q", v.Size, tokens, got, stamped)
			}
			if got := streamed(tok, tokens); got != plain {
				t.Errorf("%d: Stream of %v = %q, want %q", v.Size, tokens, got, plain)
			}
		}
	}
}

func streamed(tok *Tokenizer, tokens []Token) string {
	var out string
	s := tok.Stream()
	for _, id := range tokens {
		out += s.Push(id)
	}
	return out + s.Flush()
}

func unmarshal(t *testing.T, raw []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(raw, v); err != nil {
		t.Fatal(err)
	}
}

func TestWordsGolden(t *testing.T) {
	var golden struct{ Rows [][5]json.RawMessage } // vocab, language, tokens, words, tokens per word
	readGolden(t, "words.json.gz", &golden)
	toks := map[int]*Tokenizer{}
	for _, vocab := range []int{VocabEnglish, VocabMultilingual, VocabLargeV3} {
		toks[vocab] = embedded(t, vocab)
	}
	for _, row := range golden.Rows {
		var vocab int
		var lang string
		var tokens []Token
		var words []string
		var lengths []int
		for i, v := range []any{&vocab, &lang, &tokens, &words, &lengths} {
			unmarshal(t, row[i], v)
		}
		gotWords, groups := toks[vocab].SplitToWords(tokens, lang)
		var gotLengths []int
		for _, g := range groups {
			gotLengths = append(gotLengths, len(g))
		}
		if !slices.Equal(gotWords, words) || !slices.Equal(gotLengths, lengths) {
			t.Errorf("%d: SplitToWords(%v, %q) = %q %v, want %q %v", vocab, tokens, lang, gotWords, gotLengths, words, lengths)
		}
		if flat := slices.Concat(groups...); !slices.Equal(flat, tokens[:len(flat)]) {
			t.Errorf("%d: SplitToWords(%v, %q) moved tokens: %v", vocab, tokens, lang, groups)
		}
	}
}

func TestSpecialsGolden(t *testing.T) {
	var golden struct {
		Vocab []struct {
			Size, EOT, SOT, Translate, Transcribe int
			SOTLM                                 int      `json:"sot_lm"`
			SOTPrev                               int      `json:"sot_prev"`
			NoSpeech                              int      `json:"no_speech"`
			NoTimestamps                          int      `json:"no_timestamps"`
			TimestampBegin                        int      `json:"timestamp_begin"`
			Codes                                 []string `json:"language_codes"`
			Tokens                                []Token  `json:"language_tokens"`
			NonSpeech                             []Token  `json:"non_speech"`
		}
		Names, Aliases map[string]string
	}
	readGolden(t, "specials.json.gz", &golden)
	for _, want := range golden.Vocab {
		tok := embedded(t, want.Size)
		got := []Token{Token(tok.Size()), tok.EOT, tok.SOT, tok.Translate, tok.Transcribe, tok.SOTLM, tok.SOTPrev,
			tok.NoSpeech, tok.NoTimestamps, tok.TimestampBegin}
		var ids []Token
		for _, n := range []int{want.Size, want.EOT, want.SOT, want.Translate, want.Transcribe, want.SOTLM, want.SOTPrev,
			want.NoSpeech, want.NoTimestamps, want.TimestampBegin} {
			ids = append(ids, Token(n))
		}
		if diff := cmp.Diff(ids, got); diff != "" {
			t.Errorf("%d: special tokens (-want +got):\n%s", want.Size, diff)
		}
		if diff := cmp.Diff(want.NonSpeech, tok.NonSpeech()); diff != "" {
			t.Errorf("%d: NonSpeech (-want +got):\n%s", want.Size, diff)
		}
		checkLanguages(t, tok, want.Codes, want.Tokens, golden.Names, golden.Aliases)
	}
}

// checkLanguages compares the languages of tok with openai's, and looks each up
// by code, name and alias.
func checkLanguages(t *testing.T, tok *Tokenizer, codes []string, tokens []Token, names, aliases map[string]string) {
	t.Helper()
	got := tok.Languages()
	if len(got) != len(codes) {
		t.Fatalf("%d: %d languages, want %d", tok.Size(), len(got), len(codes))
	}
	for i, l := range got {
		if l.Code != codes[i] || l.Token != tokens[i] || strings.ToLower(l.Name) != names[l.Code] {
			t.Errorf("%d: language %d = %+v, want %s %s %d", tok.Size(), i, l, codes[i], names[l.Code], tokens[i])
		}
		for _, s := range []string{l.Code, l.Name, names[l.Code]} {
			if found, ok := tok.Language(s); !ok || found != l {
				t.Errorf("%d: Language(%q) = %v, %v", tok.Size(), s, found, ok)
			}
		}
	}
	for alias, code := range aliases {
		found, ok := tok.Language(alias)
		if has := slices.Contains(codes, code); ok != has || ok && found.Code != code {
			t.Errorf("%d: Language(%q) = %v, %v, want %s", tok.Size(), alias, found, ok, code)
		}
	}
}

package tokenizer

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestMerge compares merging with its definition, by ranks and by a list of merges.
func TestMerge(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for name, b := range map[string]*bpe{
		"gpt2": gpt2Table(), "multilingual": multilingualTable(), "list": loadHF(t).bpe,
	} {
		for _, alphabet := range []string{"a", "ab", "the and ing", "\xe3\x81\x82\xe3\x82", "aeiou \x00\xff"} {
			for n := range 150 {
				raw := make([]byte, n)
				for i := range raw {
					raw[i] = alphabet[rng.IntN(len(alphabet))]
				}
				piece := string(raw)
				if _, whole := b.ids[piece]; whole && (b.keepsWhole || slices.ContainsFunc([]byte(piece), func(c byte) bool { return b.byteToken[c] == None })) {
					continue
				}
				if got, _ := b.appendPiece(nil, piece); !slices.Equal(got, merged(b, piece)) {
					t.Fatalf("%s: %q: got %v, want %v", name, piece, got, merged(b, piece))
				}
			}
		}
	}
}

// merged is the definition of merging: as long as two neighbours can be merged, the pair
// of lowest rank is, the leftmost of equals first.
func merged(b *bpe, piece string) (toks []Token) {
	var texts []string
	for i := range len(piece) {
		if tok := b.byteToken[piece[i]]; tok != None {
			toks, texts = append(toks, tok), append(texts, piece[i:i+1])
		}
	}
	for {
		at, best := -1, merge{noRank, None}
		for i := range len(toks) - 1 {
			m, ok := b.pairs[tokenPair{toks[i], toks[i+1]}]
			if b.pairs == nil {
				m.tok, ok = b.ids[texts[i]+texts[i+1]]
				m.rank = int32(m.tok)
			}
			if ok && m.rank < best.rank {
				at, best = i, m
			}
		}
		if at < 0 {
			return toks
		}
		toks[at] = best.tok
		texts[at] += texts[at+1]
		toks, texts = slices.Delete(toks, at+1, at+2), slices.Delete(texts, at+1, at+2)
	}
}

// TestEncodeHostile encodes megabytes without a place to split.
func TestEncodeHostile(t *testing.T) {
	n := 1 << 20
	if testing.Short() {
		n = 1 << 17
	}
	tok := embedded(t, VocabLargeV3)
	for _, unit := range []string{"a", " ", "\n", "ab", "=", "あ", "the", "\xff", "\x00\u0301", "0", "'"} {
		text := strings.Repeat(unit, n/len(unit))
		tokens := tok.Encode(text) // merging in quadratic time would take hours
		if got := spell(tok, tokens); got != text {
			t.Errorf("Encode of %d bytes of %q spells %d other bytes", len(text), unit, len(got))
		}
	}
}

// spell returns the bytes of tokens, as they are.
func spell(tok *Tokenizer, tokens []Token) string {
	var raw []byte
	for _, id := range tokens {
		raw = append(raw, tok.Bytes(id)...)
	}
	return string(raw)
}

// TestEncodeRoundTrip holds for any bytes, UTF-8 or not.
func TestEncodeRoundTrip(t *testing.T) {
	toks := []*Tokenizer{embedded(t, VocabEnglish), embedded(t, VocabLargeV3), loadHF(t)}
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapid.SliceOf(rapid.Byte()).Draw(t, "text"))
		for _, tok := range toks {
			if got := spell(tok, tok.Encode(text)); got != text {
				t.Fatalf("Encode(%q) spells %q", text, got)
			}
		}
	})
}

func TestEncodeStrict(t *testing.T) {
	b := newBPE([]string{" zero", " one", "a", "b"}, nil, false)
	b.pairs = map[tokenPair]merge{}
	tok := &Tokenizer{bpe: b}
	for _, tt := range []struct {
		text      string
		want      []Token
		encodable bool
		why       string
	}{
		{"", []Token{}, true, "nothing to spell"},
		{" zero one", []Token{0, 1}, true, "pieces that are tokens need no bytes"},
		{"ab", []Token{2, 3}, true, "bytes without a merge"},
		{" zero two", []Token{0}, false, "no bytes for two"},
		{"acb", []Token{2, 3}, false, "one byte in the middle is missing"},
	} {
		if got := tok.Encode(tt.text); !slices.Equal(got, tt.want) {
			t.Errorf("Encode(%q) = %v, want %v: %s", tt.text, got, tt.want, tt.why)
		}
		got, err := tok.EncodeStrict(tt.text)
		switch {
		case tt.encodable && (err != nil || !slices.Equal(got, tt.want)):
			t.Errorf("EncodeStrict(%q) = %v, %v, want %v: %s", tt.text, got, err, tt.want, tt.why)
		case !tt.encodable && (!errors.Is(err, ErrUnspellable) || got != nil):
			t.Errorf("EncodeStrict(%q) = %v, %v, want ErrUnspellable: %s", tt.text, got, err, tt.why)
		}
	}
	_, err := tok.EncodeStrict(" zero two")
	if want := `tokenizer: byte 5 of the text: not in the vocabulary: got " two"`; !strings.HasPrefix(fmt.Sprint(err), want) {
		t.Errorf("EncodeStrict error = %v, want %s…", err, want)
	}
}

package tokenizer

import (
	"testing"

	"pgregory.net/rapid"
)

func TestReplaceInvalid(t *testing.T) {
	for _, tt := range []struct {
		raw, want string // want as printed by Python 3.11
		why       string
	}{
		{"", "", ""},
		{"h\u00e9\U0001f602", "h\u00e9\U0001f602", "valid"},
		{"\xff\xfe", "��", "never part of a character: one each"},
		{"\x80\xbf", "��", "continuations without a lead"},
		{"\xc0\xaf", "��", "overlong lead"},
		{"\xe2\x82", "�", "cut short at the end"},
		{"\xe2\x82A", "�A", "cut short by another"},
		{"\xf0\x9f\x98", "�", "three of four bytes are one part"},
		{"\xf0\x9f\x98\xf0\x9f\x98\x82", "�😂", "and the next character is whole"},
		{"\xf0\x80\x80", "���", "overlong: the second byte fits no character"},
		{"\xed\xa0\x80", "���", "surrogate"},
		{"\xf4\x90\x80\x80", "����", "beyond U+10FFFF"},
		{"\xef\xbf\xbd", "�", "a U+FFFD that was written"},
		{"\xe2\xe2\x82\xac", "�€", "lead after lead"},
	} {
		if got := replaceInvalid([]byte(tt.raw)); got != tt.want {
			t.Errorf("replaceInvalid(%q) = %q, want %q: %s", tt.raw, got, tt.want, tt.why)
		}
	}
}

// TestStream checks that what a Stream returns adds up to Decode, that none of
// it is taken back, and that it holds back no more than three bytes.
func TestStream(t *testing.T) {
	tok := embedded(t, VocabLargeV3)
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.OneOf(rapid.Int32Range(0, 255), rapid.Int32Range(-2, VocabLargeV3+2))
		ids := rapid.SliceOf(id).Draw(t, "ids")
		tokens := make([]Token, len(ids))
		for i, id := range ids {
			tokens[i] = Token(id)
		}
		var out string
		s := tok.Stream()
		for range 2 { // a flushed Stream starts afresh
			out = ""
			for _, id := range tokens {
				out += s.Push(id)
				if len(s.pending) > 3 {
					t.Fatalf("holds back %q", s.pending)
				}
			}
			out += s.Flush()
		}
		if want := tok.Decode(tokens); out != want {
			t.Fatalf("Stream of %v = %q, want %q", tokens, out, want)
		}
	})
}

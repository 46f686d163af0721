package tokenizer

import (
	"unicode/utf8"
	"unsafe"
)

const replacement = "\uFFFD"

// replaceInvalid returns raw as text, each maximal ill-formed part replaced by one
// U+FFFD: the longest run of bytes that begins a character and is incomplete, or else a
// single byte. (strings.ToValidUTF8 replaces a whole ill-formed run by one, a conversion
// to []rune every byte.) Valid text is returned without a copy, so the caller must not change raw
// afterwards.
func replaceInvalid(raw []byte) string {
	if utf8.Valid(raw) {
		return unsafe.String(unsafe.SliceData(raw), len(raw))
	}
	out, rest := appendValid(make([]byte, 0, len(raw)+8), raw)
	if len(rest) > 0 {
		out = append(out, replacement...)
	}
	return string(out)
}

// appendValid appends raw to dst as valid UTF-8. rest is what may still become valid: the first
// bytes of a character.
func appendValid(dst, raw []byte) (out, rest []byte) {
	for len(raw) > 0 {
		r, n := utf8.DecodeRune(raw)
		if r != utf8.RuneError || n > 1 {
			dst = append(dst, raw[:n]...)
			raw = raw[n:]
			continue
		}
		if !utf8.FullRune(raw) {
			return dst, raw
		}
		dst = append(dst, replacement...)
		raw = raw[illFormedLength(raw):]
	}
	return dst, nil
}

// illFormedLength returns the length of the maximal ill-formed part that raw begins with: the
// longest proper beginning of a character, at least one byte.
func illFormedLength(raw []byte) int {
	for n := 1; n < len(raw); n++ {
		if utf8.FullRune(raw[:n]) { // complete, or invalid already
			return max(1, n-1)
		}
	}
	return max(1, len(raw)-1)
}

// A Stream decodes tokens one by one. It withholds the first bytes of a character until the rest
// arrives, so the texts that it returns add up to [Tokenizer.Decode] of all the tokens.
type Stream struct {
	t       *Tokenizer
	pending []byte
}

// Stream returns a new Stream. It is not safe for concurrent use.
func (t *Tokenizer) Stream() *Stream { return &Stream{t: t} }

// Push returns the text that tok completes, which may be empty.
func (s *Stream) Push(tok Token) string {
	if !s.t.IsText(tok) {
		return ""
	}
	raw := append(s.pending, s.t.bpe.text[tok]...)
	out, rest := appendValid(nil, raw)
	s.pending = append(raw[:0], rest...)
	return string(out)
}

// Flush returns what is left at the end: nothing, or U+FFFD for an incomplete character.
// The Stream can be used again.
func (s *Stream) Flush() string {
	if len(s.pending) == 0 {
		return ""
	}
	s.pending = s.pending[:0]
	return replacement
}

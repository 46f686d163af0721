package tokenizer

// A Stream decodes tokens as they come. It holds back the first bytes of a
// character until the rest arrives, so that the pieces it returns, put together,
// are what [Tokenizer.Decode] makes of all the tokens.
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

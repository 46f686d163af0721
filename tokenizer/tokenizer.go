package tokenizer

import (
	"fmt"
	"math"
)

// A Token is an id in the vocabulary of a checkpoint.
type Token int32

// None is the id of a special token that a checkpoint does not have.
const None Token = -1

// A Tokenizer is the vocabulary of one checkpoint. It is immutable and safe for
// concurrent use; its fields must not be changed.
type Tokenizer struct {
	// The special tokens, None where the checkpoint has none.
	EOT            Token // <|endoftext|>
	SOT            Token // <|startoftranscript|>
	Translate      Token // <|translate|>
	Transcribe     Token // <|transcribe|>
	SOTLM          Token // <|startoflm|>
	SOTPrev        Token // <|startofprev|>
	NoSpeech       Token // <|nospeech|>, <|nocaptions|> in older files
	NoTimestamps   Token // <|notimestamps|>
	TimestampBegin Token // <|0.00|>

	bpe        *bpe             // the text tokens
	special    map[Token]string // spelling of every other token, timestamps included
	languages  []Language       // by id
	timestamps int              // how many timestamps
	size       int              // one more than the largest id
}

// Size returns one more than the largest id of the vocabulary.
func (t *Tokenizer) Size() int { return t.size }

// IsText reports whether tok stands for text: it is neither special nor a
// timestamp, and the vocabulary has it.
func (t *Tokenizer) IsText(tok Token) bool {
	_, special := t.special[tok]
	return !special && t.bpe.has(tok)
}

// IsTimestamp reports whether tok is a timestamp.
func (t *Tokenizer) IsTimestamp(tok Token) bool {
	return t.timestamps > 0 && tok >= t.TimestampBegin && int(tok-t.TimestampBegin) < t.timestamps
}

// Timestamps returns how many timestamp tokens there are: 1501 for windows of
// 30 s.
func (t *Tokenizer) Timestamps() int { return t.timestamps }

// Seconds returns the time that a timestamp token means, counted from the start
// of the window: (tok - TimestampBegin)·0.02. It is NaN for any other token.
func (t *Tokenizer) Seconds(tok Token) float64 {
	if !t.IsTimestamp(tok) {
		return math.NaN()
	}
	return float64(tok-t.TimestampBegin) * 0.02
}

// Bytes returns the bytes that a text token stands for, and nil for any other.
func (t *Tokenizer) Bytes(tok Token) []byte {
	if !t.IsText(tok) {
		return nil
	}
	return []byte(t.bpe.text[tok])
}

// Encode returns the tokens of text. What looks like a special token is text
// like any other, as in tiktoken's encode_ordinary.
//
// A vocabulary may lack tokens for some bytes: the demo model's does, no published one. Encode
// leaves such bytes out; [Tokenizer.EncodeStrict] fails instead.
func (t *Tokenizer) Encode(text string) []Token {
	toks, _ := t.bpe.encode(text)
	return toks
}

// EncodeStrict is Encode, but returns an [Error] with cause ErrUnspellable, and
// no tokens, if the vocabulary cannot spell all of text.
func (t *Tokenizer) EncodeStrict(text string) ([]Token, error) {
	toks, bad := t.bpe.encode(text)
	if bad >= 0 {
		return nil, &Error{Thing: fmt.Sprintf("byte %d of the text", bad), Err: ErrUnspellable,
			Got: fmt.Sprintf("%q", text[bad:min(bad+12, len(text))]), Remedy: "this vocabulary has no token for every byte: use words it has"}
	}
	return toks, nil
}

// Decode returns the text of tokens. Special tokens, timestamps and ids outside the
// vocabulary add nothing. Ill-formed UTF-8 becomes U+FFFD, as in Python's
// bytes.decode("utf-8", errors="replace").
func (t *Tokenizer) Decode(tokens []Token) string {
	var raw []byte
	for _, tok := range tokens {
		if t.IsText(tok) {
			raw = append(raw, t.bpe.text[tok]...)
		}
	}
	return replaceInvalid(raw)
}

// DecodeWithTimestamps is Decode, but spells out special tokens and timestamps,
// as in "<|0.00|> Hello.<|1.08|>".
//
// Source: openai/whisper@c0d2f62 whisper/tokenizer.py, decode_with_timestamps.
func (t *Tokenizer) DecodeWithTimestamps(tokens []Token) string {
	var raw []byte
	for _, tok := range tokens {
		if name, ok := t.special[tok]; ok {
			raw = append(raw, name...)
		} else if t.bpe.has(tok) {
			raw = append(raw, t.bpe.text[tok]...)
		}
	}
	return replaceInvalid(raw)
}

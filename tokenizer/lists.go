package tokenizer

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
)

// Vocabularies that are one list, where the rank of a token is its place: those of
// openai/whisper (.tiktoken) and of CTranslate2 (vocabulary.json or .txt). Any two tokens
// may be merged whose bytes together are a token.

// parseTiktoken reads a line for each text token, its bytes in base64 and its rank. The
// special tokens are openai's, as many languages as vocab leaves room for.
func parseTiktoken(file string, raw []byte, vocab int) (table, error) {
	text, err := parseRanks(file, raw)
	if err != nil {
		return table{}, err
	}
	known := vocab - len(text) - len(openaiSpecials(0, 0))
	if known < 1 || known > len(languages) {
		return table{}, &Error{File: file, Thing: "vocabulary", Err: ErrUnsupported,
			Got: fmt.Sprintf("%d text tokens for a vocab_size of %d, which leaves %d languages",
				len(text), vocab, known),
			Want:   fmt.Sprintf("1 to %d languages", len(languages)),
			Remedy: "use the tokenizer this model was trained with"}
	}
	return table{newBPE(text, nil, true), openaiSpecials(len(text), known)}, nil
}

func parseRanks(file string, raw []byte) ([]string, error) {
	lines := bytes.Split(bytes.TrimSuffix(raw, []byte("\n")), []byte("\n"))
	if len(lines) > maxToken {
		return nil, &Error{File: file, Thing: "vocabulary", Err: ErrMalformed,
			Got: fmt.Sprintf("%d tokens", len(lines)), Want: fmt.Sprintf("at most %d", maxToken), Remedy: damaged}
	}
	text, seen := make([]string, len(lines)), make([]bool, len(lines))
	for i, line := range lines {
		word, number, _ := strings.Cut(string(line), " ")
		rank, err := strconv.Atoi(number)
		token, err2 := base64.StdEncoding.DecodeString(word)
		if word == "=" { // openai's spelling of no bytes
			token, err2 = nil, nil
		}
		if err != nil || err2 != nil || rank < 0 || rank >= len(lines) || seen[rank] {
			return nil, &Error{File: file, Thing: fmt.Sprintf("line %d", i+1), Err: ErrMalformed,
				Got:  fmt.Sprintf("%.60q", line),
				Want: fmt.Sprintf("base64 and a rank below %d that no other line has", len(lines)), Remedy: damaged}
		}
		text[rank], seen[rank] = string(token), true
	}
	return text, nil
}

// parseWordsJSON reads vocabulary.json of CTranslate2, a list of spellings.
func parseWordsJSON(file string, raw []byte) (table, error) {
	var words []string
	if err := parseJSON(file, raw, &words); err != nil {
		return table{}, err
	}
	return wordsTable(file, words)
}

// parseWordsText reads vocabulary.txt of CTranslate2, a line for each spelling.
func parseWordsText(file string, raw []byte) (table, error) {
	return wordsTable(file, strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n"))
}

// wordsTable returns the vocabulary of spellings, whose index is the id. A spelling
// <|like this|> is special.
func wordsTable(file string, words []string) (table, error) {
	vocab := make(map[string]int64, len(words))
	var added []addedToken
	for id, w := range words {
		if isSpecialName(w) {
			added = append(added, addedToken{ID: int64(id), Content: w, Special: true})
			continue
		}
		if _, twice := vocab[w]; twice {
			return table{}, &Error{File: file, Thing: "vocabulary", Err: ErrMalformed,
				Got: fmt.Sprintf("%.60q twice", w), Remedy: damaged}
		}
		vocab[w] = int64(id)
	}
	text, known, special, err := textTokens(file, vocab, added)
	return table{newBPE(text, known, true), special}, err
}

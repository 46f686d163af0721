package tokenizer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"verity/internal/formats/sniff"
	"verity/internal/input"
)

// tokenizerJSON has the fields of tokenizer.json that differ among Whisper's: all are
// byte-level BPE with the pattern of GPT-2 (see [piece]).
type tokenizerJSON struct {
	AddedTokens []addedToken `json:"added_tokens"`
	Model       struct {
		Vocab  map[string]int64 `json:"vocab"`
		Merges []mergeJSON      `json:"merges"`
	} `json:"model"`
}

type addedToken struct {
	ID      int64  `json:"id"`
	Content string `json:"content"`
	Special bool   `json:"special"`
}

// A mergeJSON is a pair of spellings: "a b" in older files, ["a","b"] in newer.
type mergeJSON struct{ left, right string }

func (m *mergeJSON) UnmarshalJSON(raw []byte) error {
	var pair []string
	if raw[0] == '[' {
		if err := json.Unmarshal(raw, &pair); err != nil {
			return err
		}
	} else {
		var line string
		if err := json.Unmarshal(raw, &line); err != nil {
			return err
		}
		pair = strings.Split(line, " ")
	}
	if len(pair) != 2 {
		return fmt.Errorf("a merge of %d parts, want 2: %.60q", len(pair), raw)
	}
	m.left, m.right = pair[0], pair[1]
	return nil
}

func parseTokenizerJSON(file string, raw []byte) (vocabulary, error) {
	var tj tokenizerJSON
	if err := parseJSON(file, raw, &tj); err != nil {
		return vocabulary{}, err
	}
	return newVocabulary(file, tj.Model.Vocab, tj.AddedTokens, tj.Model.Merges)
}

// parseJSON is json.Unmarshal with an Error.
func parseJSON(file string, raw []byte, v any) error {
	err := json.Unmarshal(raw, v)
	if err == nil {
		return nil
	}
	e := &Error{File: file, Thing: "JSON", Err: ErrMalformed, Got: input.JSON(raw, err).Error(), Remedy: remedyDamaged}
	if kind, ok := sniff.What(raw); ok {
		e.Remedy = kind.String()
	}
	return e
}

// Remedies of several errors.
const (
	remedyDamaged    = "the file may be damaged: copy it again"
	remedyNotWhisper = "is this the tokenizer of a Whisper model?"
)

// parseVocab reads vocab.json, and merges.txt and added_tokens.json beside it.
func (d checkpointDir) parseVocab(file string, raw []byte) (vocabulary, error) {
	var vocab, more map[string]int64
	if err := parseJSON(file, raw, &vocab); err != nil {
		return vocabulary{}, err
	}
	raw, err := d.readFile("merges.txt")
	if err != nil {
		return vocabulary{}, err
	}
	merges, err := parseMerges(path.Join(d.name, "merges.txt"), raw)
	if err != nil {
		return vocabulary{}, err
	}
	if input.Exists(d.fsys, "added_tokens.json") {
		if raw, err = d.readFile("added_tokens.json"); err == nil {
			err = parseJSON(path.Join(d.name, "added_tokens.json"), raw, &more)
		}
		if err != nil {
			return vocabulary{}, err
		}
	}
	added := make([]addedToken, 0, len(more)+1)
	for s, id := range more {
		added = append(added, addedToken{ID: id, Content: s})
	}
	const eot = "<|endoftext|>" // is in vocab.json
	if id, ok := vocab[eot]; ok {
		added = append(added, addedToken{ID: id, Content: eot})
	}
	return newVocabulary(file, vocab, added, merges)
}

// parseMerges reads merges.txt: a line "#version: …", then a merge "a b" a line.
func parseMerges(file string, raw []byte) ([]mergeJSON, error) {
	var merges []mergeJSON
	for i, line := range bytes.Split(raw, []byte("\n")) {
		s := strings.TrimRight(string(line), "\r ")
		if s == "" || i == 0 && strings.HasPrefix(s, "#version") {
			continue
		}
		left, right, ok := strings.Cut(s, " ")
		if !ok || strings.Contains(right, " ") {
			return nil, &Error{File: file, Thing: fmt.Sprintf("line %d", i+1), Err: ErrMalformed,
				Got: fmt.Sprintf("%.60q", s), Want: "two tokens", Remedy: remedyDamaged}
		}
		merges = append(merges, mergeJSON{left, right})
	}
	return merges, nil
}

// newVocabulary makes a vocabulary of the content of the files. Text tokens are spelled in the
// byte-level alphabet; special and added tokens are not.
func newVocabulary(file string, vocab map[string]int64, added []addedToken, merges []mergeJSON) (vocabulary, error) {
	t, err := textTokens(file, vocab, added)
	if err != nil {
		return vocabulary{}, err
	}
	if len(merges) == 0 && len(vocab) > maxWithoutMerges {
		return vocabulary{}, &Error{File: file, Thing: "merges", Err: ErrMissing,
			Got: fmt.Sprintf("none, of a vocabulary of %d tokens", len(vocab)), Remedy: remedyDamaged}
	}
	b := newBPE(t.text, t.known, false)
	b.pairs, err = mergesByPair(file, vocab, merges)
	return vocabulary{b, t.special}, err
}

// maxWithoutMerges is the largest vocabulary accepted without merges, such as one of whole words.
// A larger one would spell prompts byte by byte.
const maxWithoutMerges = 1000

// A tokenTable holds the tokens of a vocabulary.
type tokenTable struct {
	text    []string // the bytes of text tokens by id
	known   []bool   // which ids are text tokens
	special map[string]Token
}

// textTokens returns the tokens of a vocabulary file. An id has one spelling.
func textTokens(file string, vocab map[string]int64, added []addedToken) (tokenTable, error) {
	t := tokenTable{special: make(map[string]Token)}
	var spelled []string // by id
	set := func(id int64, spelling, bytes string, isText bool) error {
		if id < 0 || id >= maxToken {
			return &Error{File: file, Thing: fmt.Sprintf("id of %.60q", spelling), Err: ErrMalformed,
				Got: fmt.Sprint(id), Want: fmt.Sprintf("0 to %d", maxToken-1), Remedy: remedyDamaged}
		}
		if more := int(id) + 1 - len(spelled); more > 0 {
			spelled = append(spelled, make([]string, more)...)
			t.text, t.known = append(t.text, make([]string, more)...), append(t.known, make([]bool, more)...)
		}
		if was := spelled[id]; was != "" && was != spelling {
			return &Error{File: file, Thing: fmt.Sprintf("id %d", id), Err: ErrMalformed,
				Got:  fmt.Sprintf("both %.60q and %.60q", min(was, spelling), max(was, spelling)),
				Want: "one token", Remedy: remedyDamaged}
		}
		spelled[id], t.text[id], t.known[id] = spelling, "", isText
		if isText {
			t.text[id] = bytes
		}
		return nil
	}
	for s, id := range vocab {
		if err := set(id, s, fromByteLevel(s), true); err != nil {
			return t, err
		}
	}
	for _, a := range added { // as they are, not in the byte-level alphabet
		if a.Content == "" {
			continue
		}
		isText := !a.Special && !isSpecialName(a.Content)
		if err := set(a.ID, a.Content, a.Content, isText); err != nil {
			return t, err
		}
		if !isText {
			t.special[a.Content] = Token(a.ID)
		}
	}
	return t, nil
}

// mergesByPair returns the merges by pair. If a pair is listed twice, the first counts.
func mergesByPair(file string, vocab map[string]int64, merges []mergeJSON) (map[tokenPair]merge, error) {
	pairs := make(map[tokenPair]merge, len(merges))
	for i, m := range merges {
		left, ok1 := vocab[m.left]
		right, ok2 := vocab[m.right]
		into, ok3 := vocab[m.left+m.right]
		if !ok1 || !ok2 || !ok3 {
			return nil, &Error{File: file, Thing: fmt.Sprintf("merge %d", i), Err: ErrMalformed,
				Got:    fmt.Sprintf("%.60q + %.60q", m.left, m.right),
				Want:   "two tokens of the vocabulary that make a third",
				Remedy: "vocabulary and merges must come from the same checkpoint"}
		}
		p := tokenPair{Token(left), Token(right)}
		if _, twice := pairs[p]; !twice {
			pairs[p] = merge{int32(i), Token(into)}
		}
	}
	return pairs, nil
}

// byteOf maps the characters of the byte-level alphabet to their bytes. In it
// every byte is a printable character: the printable ones of Latin-1 stand for
// themselves, the other 68 bytes, in order, are U+0100 and up; so a space is Ġ.
// Source: bytes_to_unicode in openai/gpt-2@9b63575 src/encoder.py.
var byteOf = func() map[rune]byte {
	m, next := make(map[rune]byte, 256), rune(0x100)
	for b := range 256 {
		r := rune(b)
		if r <= ' ' || 0x7f <= r && r <= 0xa0 || r == 0xad {
			r = next
			next++
		}
		m[r] = byte(b)
	}
	return m
}()

// fromByteLevel returns the bytes that s spells. If s has a character outside the
// alphabet, s stands for itself, as in Hugging Face's decoder.
func fromByteLevel(s string) string {
	raw := make([]byte, 0, utf8.RuneCountInString(s))
	for _, r := range s {
		b, ok := byteOf[r]
		if !ok {
			return s
		}
		raw = append(raw, b)
	}
	return string(raw)
}

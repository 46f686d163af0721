package synth

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"verity/tokenizer"
)

// An added token is not part of the byte-level vocabulary.
type added struct {
	ID         Token  `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	LStrip     bool   `json:"lstrip"`
	RStrip     bool   `json:"rstrip"`
	Normalized bool   `json:"normalized"`
	Special    bool   `json:"special"` // timestamps are not
}

// A vocabulary is the content of a checkpoint's tokenizer files.
type vocabulary struct {
	text   map[string]Token // in the byte-level alphabet
	merges [][2]string      // likewise, earliest first
	added  []added
}

// newVocabulary turns a tokenizer with a rank table into lists of merges, the form of
// Hugging Face. Its text tokens come first and are ordered by rank.
func newVocabulary(tok *tokenizer.Tokenizer) *vocabulary {
	v := &vocabulary{text: map[string]Token{}}
	ranks := map[string]int{}
	for id := range Token(tok.Size()) {
		if !tok.IsText(id) && id >= tok.EOT {
			name := tok.DecodeWithTimestamps([]Token{id})
			v.added = append(v.added, added{ID: id, Content: name, Special: !tok.IsTimestamp(id)})
			continue
		}
		b := string(tok.Bytes(id))
		v.text[byteLevel(b)] = id
		ranks[b] = int(id)
	}
	for _, b := range byRank(ranks) {
		if left, right, ok := lastMerge(b, ranks); ok {
			v.merges = append(v.merges, [2]string{byteLevel(left), byteLevel(right)})
		}
	}
	return v
}

func byRank(ranks map[string]int) []string {
	all := make([]string, 0, len(ranks))
	for b := range ranks {
		all = append(all, b)
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Compare(ranks[a], ranks[b]) })
	return all
}

// lastMerge returns the two tokens whose merge is token b: the rest of its bytes after
// all pairs of lower rank are merged, lowest first. A token of one byte has none, nor has
// one that merging never reaches.
func lastMerge(b string, ranks map[string]int) (left, right string, ok bool) {
	if len(b) < 2 {
		return "", "", false
	}
	parts := make([]string, len(b))
	for i := range parts {
		parts[i] = b[i : i+1]
	}
	for len(parts) > 2 {
		at, best := -1, ranks[b]
		for i := range len(parts) - 1 {
			if r, ok := ranks[parts[i]+parts[i+1]]; ok && r < best {
				at, best = i, r
			}
		}
		if at < 0 {
			return "", "", false
		}
		parts[at] += parts[at+1]
		parts = slices.Delete(parts, at+1, at+2)
	}
	return parts[0], parts[1], true
}

// byteLevel spells bytes in GPT-2's alphabet: printable Latin-1 stands for itself, the
// other bytes for U+0100 and up, in order.
//
// Source: openai/gpt-2@a74da5d src/encoder.py, bytes_to_unicode.
func byteLevel(b string) string {
	var out strings.Builder
	for i := range len(b) {
		out.WriteRune(alphabet[b[i]])
	}
	return out.String()
}

var alphabet = func() (a [256]rune) {
	next := rune(0x100)
	for b := range a {
		switch {
		case b >= '!' && b <= '~', b >= 0xa1 && b <= 0xac, b >= 0xae:
			a[b] = rune(b)
		default:
			a[b] = next
			next++
		}
	}
	return a
}()

// files returns tokenizer.json and its older form, which converters of other engines
// read.
func (v *vocabulary) files() (map[string][]byte, error) {
	byteLevel := func(prefixSpace bool) map[string]any {
		return map[string]any{"type": "ByteLevel", "add_prefix_space": prefixSpace,
			"trim_offsets": true, "use_regex": true}
	}
	whole := map[string]any{
		"version": "1.0", "truncation": nil, "padding": nil, "normalizer": nil, "post_processor": nil,
		"added_tokens": v.added, "pre_tokenizer": byteLevel(false), "decoder": byteLevel(true),
		"model": map[string]any{
			"type": "BPE", "dropout": nil, "unk_token": nil, "continuing_subword_prefix": nil,
			"end_of_word_suffix": nil, "fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
			"vocab": v.text, "merges": v.merges,
		},
	}
	var merges bytes.Buffer
	merges.WriteString("#version: 0.2\n")
	for _, m := range v.merges {
		merges.WriteString(m[0] + " " + m[1] + "\n")
	}
	more := map[string]Token{}
	for _, a := range v.added {
		more[a.Content] = a.ID
	}
	files := map[string][]byte{"merges.txt": merges.Bytes()}
	for name, x := range map[string]any{"tokenizer.json": whole, "vocab.json": v.text, "added_tokens.json": more} {
		b, err := jsonOf(x)
		if err != nil {
			return nil, err
		}
		files[name] = b
	}
	return files, nil
}

// jsonOf leaves <, > and & as they are, as in <|en|>.
func jsonOf(x any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	err := e.Encode(x)
	return b.Bytes(), err
}

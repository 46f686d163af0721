package transcribe

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"verity/assistant"
	"verity/tokenizer"
	"verity/transcript"
)

// TestNoSpecialInText has a model choose every special token amid its text. No text of the
// transcript may spell one, in any form that it is written in; the tokens stay.
func TestNoSpecialInText(t *testing.T) {
	tok := multilingual(t)
	var specials []tokenizer.Token // all but end-of-text, which ends a window, and timestamps
	for id := range tokenizer.Token(tok.Size()) {
		if !tok.IsText(id) && !tok.IsTimestamp(id) && id != tok.EOT {
			specials = append(specials, id)
		}
	}
	const window = 3000
	for name, o := range map[string]Options{
		"segments":     {},
		"words":        {WordTimestamps: true, HallucinationSilence: 1},
		"text only":    {WithoutTimestamps: true},
		"multilingual": {Language: "en,de", Multilingual: true},
		"chunks":       {Chunked: true, WordTimestamps: true, chunkSeconds: 60},
	} {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			todo := slices.Clone(specials)
			var mu sync.Mutex // chunks decode at the same time
			s := scripted{tok: tok, decodeAt: func(_, size int, _ decodeOptions) decodedWindow {
				mu.Lock()
				defer mu.Unlock()
				stamp := func(n int) tokenizer.Token { return tok.TimestampBegin + tokenizer.Token(n) }
				tokens := []tokenizer.Token{stamp(0)}
				for range 4 + rng.IntN(8) {
					tokens = append(tokens, tok.Encode([]string{" one", " two.", "three", ","}[rng.IntN(4)])...)
					if n := min(rng.IntN(12), len(todo)); n > 0 {
						tokens, todo = append(tokens, todo[:n]...), todo[n:]
					}
				}
				tokens = append(tokens, stamp(size/framesPerStep), tok.EOT)
				return decodedWindow{Result: assistant.Result{Choices: choices(tokens, -0.5)}}
			}}
			o.Temperatures = []float64{0}
			if o.Language == "" {
				o.Language = "en"
			}
			got := read(t, s, 20*window, window, o)
			if len(todo) > 0 && !o.Chunked {
				t.Fatalf("%d special tokens were not chosen", len(todo))
			}
			checkNoSpecial(t, tok, got)
		})
	}
}

func checkNoSpecial(t *testing.T, tok *tokenizer.Tokenizer, got *transcript.Transcript) {
	t.Helper()
	var all []tokenizer.Token
	texts, special := []string{got.Text}, false
	for _, s := range got.Segments {
		all = append(all, s.Tokens...)
		special = special || slices.ContainsFunc(s.Tokens, func(id tokenizer.Token) bool { return !tok.IsText(id) })
		texts = append(texts, s.Text)
		for _, w := range s.Words {
			texts = append(texts, w.Word)
		}
	}
	for _, f := range transcript.Formats() {
		var b bytes.Buffer
		if err := transcript.Write(&b, f, got); err != nil {
			t.Fatal(f, err)
		}
		texts = append(texts, b.String())
	}
	joined := strings.Join(texts, "\n")
	for id := range tokenizer.Token(tok.Size()) {
		name := tok.DecodeWithTimestamps([]tokenizer.Token{id})
		if at := strings.Index(joined, name); !tok.IsText(id) && name != "" && at >= 0 {
			t.Fatalf("%s (%d) is in the text: %.100q", name, id, joined[at:])
		}
	}
	if want := tok.Decode(all); got.Text != want {
		t.Errorf("text %q, want %q", got.Text, want)
	}
	if len(all) > 0 && !special {
		t.Error("the tokens of segments have lost all that are special")
	}
}

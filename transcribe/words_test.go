package transcribe

import (
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"verity/internal/testing/testmodel"
	"verity/transcript"
)

//go:embed testdata/golden/words.json
var wordsJSON []byte

// TestWordsGolden compares with openai-whisper's own loop with word times, which both
// sides make up by the same rule: durations, punctuation, segment times, seeks and what
// is skipped as a hallucination, bit for bit.
func TestWordsGolden(t *testing.T) {
	testmodel.Serial(t)
	var file struct {
		Cases []struct {
			loopCase
			Words int
		}
	}
	if err := json.Unmarshal(wordsJSON, &file); err != nil {
		t.Fatal(err)
	}
	words := 0
	for _, c := range file.Cases {
		t.Run(fmt.Sprint(c.Seed), func(t *testing.T) {
			tr := c.run(t)
			got := canonical(t, c.tokenizer(t), tr) + canonicalWords(tr)
			if sum := fmt.Sprintf("%x", sha256.Sum256([]byte(got))); sum != c.SHA256 {
				t.Errorf("%v, %d frames, window %d: differs from upstream's %d segments, %d words\n%s",
					c.Options, c.Frames, c.Window, c.Segments, c.Words, cmp.Diff(c.Want, got))
			}
		})
		words += c.Words
	}
	if len(file.Cases) < 100 || words < 1000 {
		t.Errorf("%d cases of %d words, too few to mean anything", len(file.Cases), words)
	}
}

// canonicalWords spells words as the script does, floats as their bits.
func canonicalWords(t *transcript.Transcript) string {
	var b strings.Builder
	for _, s := range t.Segments {
		var words []string
		for _, w := range s.Words {
			words = append(words, fmt.Sprintf("%x %016x %016x %016x", w.Word, math.Float64bits(w.Start), math.Float64bits(w.End), math.Float64bits(w.Probability)))
		}
		fmt.Fprintf(&b, "%d: %s\n", s.ID, strings.Join(words, ", "))
	}
	return b.String()
}

// TestRound2 compares with Python's round(x, 2), which goes by the exact value.
func TestRound2(t *testing.T) {
	for x, want := range map[float64]float64{2.675: 2.67, 1.005: 1, 0.125: 0.12, 0.375: 0.38, 12.345: 12.35, 7.5: 7.5} {
		if got := round2(x); got != want {
			t.Errorf("round2(%v) = %v, want %v", x, got, want)
		}
	}
}

package transcribe

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"

	"verity/tokenizer"
)

//go:embed testdata/golden/merge.jsonl
var mergeJSON []byte

// A mergeCase is what windows say, and what transformers makes of it.
type mergeCase struct {
	Windows [][2]json.RawMessage
	Chunks  [][3]json.RawMessage
	Text    []tokenizer.Token
}

// TestMergeGolden compares with transformers' own merging of overlapping windows, which
// tools/reference/merge_goldens.py ran over the same tokens: text and times, equal.
func TestMergeGolden(t *testing.T) {
	tok, err := tokenizer.Embedded(51864)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(bytes.NewReader(mergeJSON))
	lines.Buffer(nil, 1<<20)
	timed, plain, merged := 0, 0, 0
	for n := 0; lines.Scan(); n++ {
		var c mergeCase
		parse(t, lines.Bytes(), &c)
		if len(c.Windows) == 0 {
			continue // the head
		}
		if c.Text != nil {
			plain++
			var got []tokenizer.Token
			for _, d := range c.join(t, newUntimed(tok, 0)) {
				got = append(got, tokensOf(d)...)
			}
			if !slices.Equal(got, c.Text) {
				t.Errorf("line %d: got %v\nwant %v", n+1, got, c.Text)
			}
			continue
		}
		timed++
		got, want := spellAll(c.join(t, newMerger(tok, 0))), c.want(t)
		if got != want {
			t.Errorf("line %d: got\n%swant\n%s", n+1, got, want)
		}
		merged += len(c.Chunks)
	}
	if timed < 100 || plain < 30 || merged < 1000 {
		t.Errorf("%d timed and %d plain cases with %d chunks are too few to mean anything", timed, plain, merged)
	}
}

func (c mergeCase) join(t *testing.T, j joiner) (done []stretch) {
	for _, w := range c.Windows {
		var s []float64
		var tokens []tokenizer.Token
		parse(t, w[0], &s)
		parse(t, w[1], &tokens)
		done = append(done, j.add(hearAll(tokens), stride{s[0], s[1], s[2]})...)
	}
	return append(done, j.flush()...)
}

func (c mergeCase) want(t *testing.T) string {
	done := make([]stretch, len(c.Chunks))
	for i, chunk := range c.Chunks {
		var tokens []tokenizer.Token
		parse(t, chunk[2], &tokens)
		done[i] = stretch{hearAll(tokens), timeOr(t, chunk[0]), timeOr(t, chunk[1])}
	}
	return spellAll(done)
}

// timeOr reads a time; null is NaN.
func timeOr(t *testing.T, raw json.RawMessage) float64 {
	v := math.NaN()
	p := &v
	parse(t, raw, &p)
	if p == nil {
		return math.NaN()
	}
	return v
}

func parse(t *testing.T, raw []byte, to any) {
	t.Helper()
	if err := json.Unmarshal(raw, to); err != nil {
		t.Fatal(err)
	}
}

func hearAll(tokens []tokenizer.Token) []heard {
	list := make([]heard, len(tokens))
	for i, tok := range tokens {
		list[i].token = tok
	}
	return list
}

func tokensOf(d stretch) (tokens []tokenizer.Token) {
	for _, h := range d.tokens {
		tokens = append(tokens, h.token)
	}
	return tokens
}

func spellAll(done []stretch) string {
	var b bytes.Buffer
	for _, d := range done {
		fmt.Fprintln(&b, d.start, d.end, tokensOf(d))
	}
	return b.String()
}

// TestMergePair by hand: what is kept of two texts.
func TestMergePair(t *testing.T) {
	for _, tt := range []struct {
		why               string
		left, right       []tokenizer.Token
		wantKept, wantOwn []tokenizer.Token
	}{
		{"nothing in common", []tokenizer.Token{1, 2, 3}, []tokenizer.Token{4, 5}, []tokenizer.Token{1, 2, 3}, []tokenizer.Token{4, 5}},
		{"one token in common is no overlap", []tokenizer.Token{1, 2, 3}, []tokenizer.Token{3, 5}, []tokenizer.Token{1, 2, 3}, []tokenizer.Token{3, 5}},
		{"two are: each text keeps its half", []tokenizer.Token{1, 2, 3}, []tokenizer.Token{2, 3, 4}, []tokenizer.Token{1, 2}, []tokenizer.Token{3, 4}},
		{"an error in the right half of the left text", []tokenizer.Token{1, 2, 3, 9}, []tokenizer.Token{2, 3, 4, 5}, []tokenizer.Token{1, 2}, []tokenizer.Token{3, 4, 5}},
		{"one inside the other", []tokenizer.Token{1, 2, 3, 4, 5}, []tokenizer.Token{2, 3}, []tokenizer.Token{1, 2}, []tokenizer.Token{3}},
		{"empty", nil, []tokenizer.Token{4, 5}, nil, []tokenizer.Token{4, 5}},
	} {
		kept, own := mergePair(hearAll(tt.left), hearAll(tt.right))
		if got, own := tokensOf(stretch{tokens: kept}), tokensOf(stretch{tokens: own}); !slices.Equal(got, tt.wantKept) || !slices.Equal(own, tt.wantOwn) {
			t.Errorf("%s: %v and %v, want %v and %v", tt.why, got, own, tt.wantKept, tt.wantOwn)
		}
	}
}

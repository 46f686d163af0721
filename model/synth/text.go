package synth

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"verity/tokenizer"
)

// Token is a token of the vocabulary.
type Token = tokenizer.Token

// lastSecond is when the last segment ends. The timestamps of an assistant that errs are
// up to 0.4 s later.
const lastSecond = 29

// A script holds, for the row at each position, the target's choice and the assistant's
// draft.
type script struct {
	text   []Token // of a window, without end-of-text
	target []Token // [TextPositions]
	drafts []Token // [TextPositions]
	first  int     // position of the first choice in the first window
}

// newScript plants n tokens of text in that many positions.
//
// The rows before the first choice have the language and the task. Then the text is repeated, with
// an end-of-text between. The prompt of the second window is the text of the first, so the first
// row of the second window chooses the first token of the text again.
func newScript(tok *tokenizer.Tokenizer, positions int, o Options) (*script, error) {
	rng := rand.New(rand.NewPCG(o.TextSeed, 1))
	w, err := newWords(tok)
	if err != nil {
		return nil, err
	}
	s := &script{text: w.text(rng, o.Tokens)}
	if text := strings.TrimSpace(o.Text); text != "" {
		s.text = slices.Concat([]Token{w.stamp(0, 1)}, tok.Encode(" "+text), []Token{w.stamp(1, 1)})
		if len(s.text) > mostTokens {
			return nil, fmt.Errorf("text: got %d tokens, want at most %d: use the text of one window of 30 s", len(s.text), mostTokens)
		}
	}
	if tok.Multilingual() {
		s.target = []Token{tok.Languages()[0].Token, tok.Transcribe}
	}
	s.first = len(s.target)
	period := append(slices.Clone(s.text), tok.EOT)
	for len(s.target) < positions {
		s.target = append(s.target, period[(len(s.target)-s.first)%len(period)])
	}
	order, other := rand.New(rand.NewPCG(o.TextSeed, 2)), rand.New(rand.NewPCG(o.TextSeed, 3))
	s.drafts = slices.Clone(s.target)
	var agrees []bool
	for p := s.first; p < positions; p++ {
		at := (p - s.first) % len(period)
		if at == 0 {
			agrees = draw(order, len(period), o.Alpha)
		}
		if !agrees[at] {
			s.drafts[p] = w.instead(other, period, at)
		}
	}
	return s, nil
}

// draw chooses the positions of n where an assistant agrees: a share alpha of them,
// rounded to whole positions, at random. Independent draws would give alpha only on
// average: with 101 positions they are off by more than 0.03 about half of the time. A
// position that errs at one alpha errs at every lower one.
func draw(rng *rand.Rand, n int, alpha float64) []bool {
	agrees := make([]bool, n)
	for rank, at := range rng.Perm(n) {
		agrees[at] = rank < int(math.Round(alpha*float64(n)))
	}
	return agrees
}

// agreement returns the share of the positions of the first window, end-of-text included,
// where both choose the same.
func (s *script) agreement() float64 {
	same := 0
	for p := s.first; p <= s.first+len(s.text); p++ {
		if s.target[p] == s.drafts[p] {
			same++
		}
	}
	return float64(same) / float64(len(s.text)+1)
}

// words are the tokens that texts are made of: whole words that no rule suppresses. Those in first
// begin a sentence.
type words struct {
	tok          *tokenizer.Tokenizer
	first, other []Token
	stop         Token // "."
}

func newWords(tok *tokenizer.Tokenizer) (*words, error) {
	w := &words{tok: tok, stop: tokenizer.None}
	for id := range Token(20000) { // frequent words come first
		switch b := tok.Bytes(id); {
		case string(b) == ".":
			w.stop = id
		case len(b) < 4 || b[0] != ' ' || !lower(b[2:]):
		case b[1] >= 'A' && b[1] <= 'Z':
			w.first = append(w.first, id)
		case lower(b[1:2]):
			w.other = append(w.other, id)
		}
	}
	if len(w.first) < 100 || len(w.other) < 100 || w.stop == tokenizer.None {
		return nil, fmt.Errorf("the vocabulary has too few words: %d and %d", len(w.first), len(w.other))
	}
	return w, nil
}

func lower(b []byte) bool {
	return !slices.ContainsFunc(b, func(c byte) bool { return c < 'a' || c > 'z' })
}

// text returns n tokens: sentences of about 25 between the timestamps of their
// start and end.
func (w *words) text(rng *rand.Rand, n int) []Token {
	sentences := max(1, (n+12)/25)
	text := make([]Token, 0, n)
	for i := range sentences {
		end := n * (i + 1) / sentences
		text = append(text, w.stamp(i, sentences))
		for first := true; len(text) < end-2; first = false {
			pool := w.other
			if first {
				pool = w.first
			}
			text = append(text, pool[rng.IntN(len(pool))])
		}
		text = append(text, w.stop, w.stamp(i+1, sentences))
	}
	return text
}

// stamp returns the timestamp at which sentence i of n begins.
func (w *words) stamp(i, n int) Token {
	return w.tok.TimestampBegin + Token(lastSecond*50*i/n)
}

// instead returns the draft of an assistant that errs at position i of a window: another token
// that the rules allow there, so that the target rejects it and not the rules.
func (w *words) instead(rng *rand.Rand, window []Token, i int) Token {
	t := window[i]
	if t == w.tok.EOT {
		t = window[i-1] // half a pair of timestamps: its other half
	}
	if w.tok.IsTimestamp(t) {
		return t + 1 + Token(rng.IntN(20))
	}
	for {
		if other := w.other[rng.IntN(len(w.other))]; other != t {
			return other
		}
	}
}

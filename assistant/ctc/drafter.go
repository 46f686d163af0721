package ctc

import (
	"context"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"verity/assistant"
	"verity/decoder"
	"verity/tokenizer"
)

// Token is a token of the model's vocabulary.
type Token = assistant.Token

// A drafter is the Proposer of all attempts at a window.
type drafter struct {
	a      *Assistant
	window assistant.Window
	frames *Frames // nil until the first draft
	cost   assistant.Cost
	policy assistant.Policy

	words      *Words // nil if the language has none: then nothing is drafted
	timestamps bool
	aligner    aligner
	search     *search
	found      []foundLetter

	early     []Token // committed before the head ran
	committed committed
	plan      plan
}

// committed is what the text ends with.
type committed struct {
	tokens        int       // how many
	partial       []byte    // of a character whose last bytes are in the next token
	state         wordState // of the text
	inWord        []Token   // since the last space
	timestampRun  int       // timestamps since the last text
	lastTimestamp Token     // the last of them
}

// A plan is what remains of the last draft.
type plan struct {
	tokens   []Token
	logProbs []float32 // of tokens
	ended    bool      // the draft reached the end of the audio
	text     []byte    // of the draft
	bounds   []int     // where each letter of the draft begins in text
}

// Begin starts over.
func (d *drafter) Begin(o decoder.SessionOptions, p assistant.Policy) {
	t := d.a.tokenizer
	d.policy = p
	if c, ok := p.(assistant.DraftCutter); ok {
		c.Begin(d.frames != nil)
	}
	d.words = nil
	if l := languageOf(t, o); l != "" && !slices.Contains(o.Prompt, t.Translate) {
		d.words = d.a.wordsOf(l)
	}
	d.timestamps = t.TimestampBegin != tokenizer.None && !slices.Contains(o.Prompt, t.NoTimestamps)
	d.cost = assistant.Cost{}
	d.search.alphabet, d.search.words = d.a.alphabet, d.words
	d.early, d.plan.tokens = d.early[:0], d.plan.tokens[:0]
	d.committed = committed{partial: d.committed.partial[:0], inWord: d.committed.inWord[:0]}
	if d.frames != nil {
		d.aligner.reset(d.frames)
	}
	for i, k := range o.Prompt[min(o.SOT, len(o.Prompt)):] { // a prefix is text of the window
		if t.IsText(k) || t.IsTimestamp(k) {
			d.Commit(o.Prompt[o.SOT+i:][:1])
		}
	}
}

// languageOf returns the language of a session, or "" if its prompt names none.
func languageOf(t *tokenizer.Tokenizer, o decoder.SessionOptions) string {
	if !t.Multilingual() {
		return "en"
	}
	for _, l := range t.Languages() {
		if slices.Contains(o.Prompt[min(o.SOT, len(o.Prompt)):], l.Token) {
			return l.Code
		}
	}
	return ""
}

// Close returns the memory of the search.
func (d *drafter) Close() {
	d.a.searches.Put(d.search)
	d.search = nil
}

// Cost returns the time of the head in this attempt.
func (d *drafter) Cost() assistant.Cost { return d.cost }

// Commit aligns the committed tokens with the frames.
func (d *drafter) Commit(kept []Token) {
	switch {
	case d.words == nil:
	case d.frames == nil:
		d.early = append(d.early, kept...)
	default:
		for _, k := range kept {
			d.commit(k)
		}
	}
}

func (d *drafter) commit(k Token) {
	t := d.a.tokenizer
	d.committed.tokens++
	if len(d.plan.tokens) > 0 && d.plan.tokens[0] == k {
		d.plan.tokens, d.plan.logProbs = d.plan.tokens[1:], d.plan.logProbs[1:]
	} else {
		d.plan.tokens, d.plan.logProbs = d.plan.tokens[:0], d.plan.logProbs[:0]
	}
	switch {
	case t.IsTimestamp(k):
		d.committed.timestampRun, d.committed.lastTimestamp = d.committed.timestampRun+1, k
		return
	case !t.IsText(k):
		return
	}
	d.committed.timestampRun = 0
	b := t.Bytes(k)
	if len(b) > 0 && b[0] == ' ' {
		d.committed.inWord = d.committed.inWord[:0]
	}
	d.committed.inWord = append(d.committed.inWord, k)
	d.committed.partial = append(d.committed.partial, b...)
	for len(d.committed.partial) > 0 && utf8.FullRune(d.committed.partial) {
		r, n := utf8.DecodeRune(d.committed.partial)
		d.committed.partial = d.committed.partial[n:]
		d.add(r)
	}
}

// add appends a character to the aligned text. Those that the head cannot write are passed over.
func (d *drafter) add(r rune) {
	c, known := d.a.alphabet.index[r]
	if !known || r == ' ' && d.aligner.last == 0 {
		return
	}
	d.committed.state, _, _ = d.search.next(d.committed.state, int32(c))
	d.aligner.add(c)
}

// Propose drafts what comes next.
func (d *drafter) Propose(ctx context.Context, dst []Token, limit int) ([]Token, error) {
	if d.words == nil || limit <= 0 {
		return dst, nil
	}
	if d.frames == nil {
		if err := d.open(ctx); err != nil {
			return dst, err
		}
	}
	if len(d.committed.partial) > 0 { // in the middle of a character
		return dst, nil
	}
	const enough = 5 // tokens that are left of a draft that was right so far
	if len(d.plan.tokens) < min(limit, enough) && !(d.plan.ended && len(d.plan.tokens) > 0) {
		d.draft(limit)
	}
	n := min(limit, len(d.plan.tokens))
	if p, ok := d.policy.(assistant.DraftCutter); ok {
		n = p.Cut(d.plan.logProbs[:n])
	} else if d.policy != nil {
		for i, lp := range d.plan.logProbs[:n] {
			if !d.policy.More(i+1, lp) {
				n = i + 1
				break
			}
		}
	}
	return append(dst, d.plan.tokens[:n]...), nil
}

// open runs the head on the window.
func (d *drafter) open(ctx context.Context) (err error) {
	if d.frames, d.cost, err = d.a.runHead(ctx, d.window); err != nil {
		return err
	}
	d.aligner.reset(d.frames)
	for _, k := range d.early {
		d.commit(k)
	}
	return nil
}

// draft makes a plan of some tokens.
func (d *drafter) draft(limit int) {
	const lettersPerToken, most = 4, 8 // a search for more tokens costs more than their rare use saves
	t := d.a.tokenizer
	d.plan.tokens, d.plan.logProbs = d.plan.tokens[:0], d.plan.logProbs[:0]
	const likely = -0.01
	if d.timestamps && d.committed.tokens == 0 {
		d.append(t.TimestampBegin, likely)
	}
	d.search.word = d.search.word[:0]
	for _, k := range d.committed.inWord {
		d.search.word = append(d.search.word, t.Bytes(k)...)
	}
	d.search.spelled, d.search.ended = d.spelled, d.aligner.last != 0 && d.committed.timestampRun > 0
	letters := lettersPerToken*min(limit, most) + settleFrames
	d.found, d.plan.ended = d.search.continuation(d.found[:0], &d.aligner, d.committed.state, letters)
	if len(d.found) == 0 && d.plan.ended {
		return
	}
	if d.timestamps && d.committed.timestampRun == 1 && d.committed.tokens > 1 {
		// The end of a segment is the start of the next.
		d.append(d.committed.lastTimestamp, likely)
	}
	for i := len(d.found) - 1; i > 0 && !d.plan.ended; i-- { // a part of a word would have other tokens than the word
		if d.a.alphabet.runes[d.found[i].symbol] == ' ' {
			d.found = d.found[:i]
			break
		}
	}
	d.spell()
}

// spelled reports whether a word begins with the committed tokens.
func (d *drafter) spelled(word []byte) bool {
	tokens := d.a.tokenizer.Encode(string(word))
	return len(tokens) >= len(d.committed.inWord) && slices.Equal(tokens[:len(d.committed.inWord)], d.committed.inWord)
}

func (d *drafter) append(k Token, logProb float32) {
	d.plan.tokens, d.plan.logProbs = append(d.plan.tokens, k), append(d.plan.logProbs, logProb)
}

// spell appends the tokens of the letters found. Where they continue a word, its tokens are those of
// the whole word, if the committed ones begin like that.
func (d *drafter) spell() {
	t := d.a.tokenizer
	d.plan.text, d.plan.bounds = d.plan.text[:0], d.plan.bounds[:0]
	starts, space := d.aligner.last == 0, len(d.found) > 0 && d.a.alphabet.runes[d.found[0].symbol] == ' '
	continues := !starts && len(d.committed.inWord) > 0 && d.committed.timestampRun == 0 && !space
	before := 0
	if continues {
		d.plan.text, before = append(d.plan.text, d.search.word...), len(d.search.word)
	}
	if starts && len(d.found) > 0 && !space {
		d.plan.text = append(d.plan.text, ' ')
	}
	for _, l := range d.found {
		d.plan.bounds = append(d.plan.bounds, len(d.plan.text))
		d.plan.text = utf8.AppendRune(d.plan.text, d.a.alphabet.runes[l.symbol])
	}
	tokens := t.Encode(string(d.plan.text))
	at := 0
	if continues {
		if len(tokens) > len(d.committed.inWord) && slices.Equal(tokens[:len(d.committed.inWord)], d.committed.inWord) {
			tokens, at = tokens[len(d.committed.inWord):], before
		} else {
			tokens, at = t.Encode(string(d.plan.text[before:])), before
		}
	}
	letter := 0
	for _, k := range tokens {
		m := tokenMeasures{weakest: 1, continues: !strings.HasPrefix(string(t.Bytes(k)), " ")}
		if letter > 0 && letter <= len(d.found) {
			m.after = d.a.alphabet.runes[d.found[letter-1].symbol]
		}
		at += len(t.Bytes(k))
		for letter < len(d.plan.bounds) && d.plan.bounds[letter] < at {
			m.weakest = min(m.weakest, math.Exp(float64(d.found[letter].logProb)))
			letter++
		}
		d.append(k, m.logProb())
	}
}

// tokenMeasures tell how far to trust a drafted token.
type tokenMeasures struct {
	weakest   float64 // probability of its least probable letter
	after     rune    // the character before it
	continues bool    // it continues a word
}

// logProb returns the log-probability that the token is right, given that all before it are. The
// coefficients are those of a logistic regression on recordings outside training.
func (m tokenMeasures) logProb() float32 {
	odds := 0.6 + 1.1*m.weakest
	switch m.after {
	case '.', '?', '!': // a timestamp is likelier
		odds -= 3.1
	case ',', ';', ':':
		odds -= 0.5
	}
	if m.continues {
		odds -= 0.7
	}
	return float32(-math.Log1p(math.Exp(-odds)))
}

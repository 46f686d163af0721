package decoder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"verity/internal/kernel"
	"verity/tokenizer"
)

// ErrForbidden is the cause of the error when the rules leave nothing to choose.
var ErrForbidden = errors.New("every token is forbidden; suppress fewer")

func forbidden(position int) error {
	return fmt.Errorf("decoder: position %d: %w", position, ErrForbidden)
}

// A Choice is the decoder's own pick at one position.
type Choice struct {
	// Token is tokenizer.None if the rules forbid every token after a draft: drafts reach
	// positions that plain decoding does not. Only committing it is an error.
	Token tokenizer.Token

	// LogProb is the natural logarithm of the token's probability after the
	// rules, at temperature 1 whatever the sampling.
	LogProb float32
}

// SessionOptions configure the decoding of a window.
type SessionOptions struct {
	// Prompt is the tokens before the first choice: previous text if any, then
	// start-of-transcript, language, task.
	Prompt []tokenizer.Token

	// SOT is the index in Prompt of start-of-transcript. The probability of the NoSpeech
	// token after it is NoSpeechProb. A negative NoSpeech means that there is none.
	SOT      int
	NoSpeech tokenizer.Token

	Rules    []Rule
	Sampling Sampling

	// SampleLen is the maximum number of choices; 0 means half the text positions.
	SampleLen int

	// Runner runs the rows. Nil means the decoder itself.
	Runner Runner
}

// A Runner runs the rows of sessions. A *Decoder runs them at once, a schedule.Member
// together with those of other members.
type Runner interface {
	// StepInto runs rows and returns their logits, [rows with logits][Vocab]. They are valid until the
	// caller's next call. They lie in buffer, which grows as needed, or in memory of the
	// runner, which saves a copy.
	StepInto(ctx context.Context, rows []Row, buffer *[]float32) ([]float32, error)
}

// A Session decodes one window once: it verifies drafts and holds the kept tokens. It
// implements assistant.Verifier. Not safe for concurrent use.
type Session struct {
	// NoSpeechProb is the probability that the window holds no speech. It is known after
	// the first Choose.
	NoSpeechProb float32

	RulesTime time.Duration // spent in rules and choices so far

	d          *Decoder
	o          SessionOptions
	chooser    *chooser
	stream     *Stream
	tokens     []tokenizer.Token // prompt and committed
	draft      []tokenizer.Token // of the round under way
	rows       []Row
	buffer     []float32 // for logits
	lastLogits []float32 // of the last Choose, in buffer or in memory of the runner
	choices    []Choice
	logProbs   logProbJob
	positions  int // of the last Choose
}

// NewSession starts decoding over c. Close releases its memory.
func (d *Decoder) NewSession(c *Cross, o SessionOptions) (*Session, error) {
	if len(o.Prompt) == 0 || len(o.Prompt) >= d.dims.TextPositions {
		return nil, fmt.Errorf("decoder: prompt: got %d tokens, want 1 to %d", len(o.Prompt), d.dims.TextPositions-1)
	}
	if o.NoSpeech >= 0 && (o.SOT < 0 || o.SOT >= len(o.Prompt)) {
		return nil, fmt.Errorf("decoder: index of start-of-transcript: got %d, want one inside the prompt of %d tokens",
			o.SOT, len(o.Prompt))
	}
	if o.Runner == nil {
		o.Runner = d
	}
	// Room for every position and a draft after the last, so that no round allocates.
	tokens := make([]tokenizer.Token, 0, 2*d.dims.TextPositions)
	return &Session{
		d: d, o: o, chooser: o.Sampling.chooser(), stream: d.NewStream(c),
		tokens: append(tokens, o.Prompt...),
	}, nil
}

// Close returns the session's memory; it must not be used after. A second call does
// nothing.
func (s *Session) Close() {
	s.stream.Close()
	if s.buffer != nil {
		s.d.logits.Put(s.buffer, 2)
	}
	s.buffer, s.lastLogits = nil, nil
}

// Traffic returns the bytes that the session's steps read, and their time. Sessions that
// share a step share its traffic.
func (s *Session) Traffic() Traffic { return s.stream.traffic }

// Limit returns the maximum number of choices: at most one more than fit after the prompt, since the last one need not
// run through the network.
//
// Source: openai/whisper@c0d2f62 whisper/decoding.py, DecodingTask._main_loop.
func (s *Session) Limit() int {
	n := s.d.dims.TextPositions
	return min(cmp.Or(s.o.SampleLen, n/2), n-len(s.o.Prompt)+1)
}

// Choose returns the decoder's own choice after each prefix of draft: len(draft)+1 of
// them, the first following the committed tokens. Each is the choice of plain decoding at
// that position. At temperature 0 the first that differs from the draft is the last, since
// nobody needs more. The slice is valid until the next call.
func (s *Session) Choose(ctx context.Context, draft []tokenizer.Token) ([]Choice, error) {
	s.buildRows(draft)
	if s.buffer == nil {
		s.buffer = s.d.logits.Get(func() []float32 { return []float32{} })
	}
	var err error
	if s.lastLogits, err = s.o.Runner.StepInto(ctx, s.rows, &s.buffer); err != nil {
		return nil, err
	}
	began := time.Now()
	defer func() { s.RulesTime += time.Since(began) }()
	s.choices, s.positions, s.logProbs.rows = s.choices[:0], len(draft)+1, s.logProbs.rows[:0]
	_, err = s.eachPosition(s.lastLogits, func(n int, row []float32) (more bool, err error) {
		t := s.chooser.choose(row, len(s.tokens)+n)
		switch {
		case row[t] > negInf:
			s.choices = append(s.choices, Choice{Token: t})
		case n > 0: // see Choice.Token
			s.choices = append(s.choices, Choice{Token: tokenizer.None, LogProb: negInf})
		default:
			return false, forbidden(len(s.tokens))
		}
		s.logProbs.rows = append(s.logProbs.rows, row)
		return s.o.Sampling.Temperature > 0 || n < len(draft) && t == draft[n], nil
	})
	s.logProbs.choices = s.choices
	s.d.pool.Run(len(s.choices), &s.logProbs)
	return s.choices, err
}

// End returns end-of-text if nothing else may follow the committed tokens, because the sound has ended. Choose would make
// the same choice, but runs a row through the network for it.
func (s *Session) End() (c Choice, ended bool) {
	for _, rule := range s.o.Rules {
		if r, ok := rule.(EndOfSound); ok && r.reached(s.tokens[len(s.o.Prompt):]) {
			return Choice{Token: r.EOT}, true
		}
	}
	return Choice{}, false
}

// A logProbJob computes the log-probabilities of choices from the logits of each: a [parallel.Task].
type logProbJob struct {
	choices []Choice
	rows    [][]float32
}

// Part computes that of choice i.
func (j *logProbJob) Part(i int) {
	if c := &j.choices[i]; c.Token != tokenizer.None {
		c.LogProb = j.rows[i][c.Token] - kernel.LogSumExp(j.rows[i])
	}
}

// buildRows sets the rows that must run through the network to choose after draft: the
// committed tokens that have not run yet, then the draft.
func (s *Session) buildRows(draft []tokenizer.Token) {
	s.draft = append(s.draft[:0], draft...)
	s.rows = s.rows[:0]
	sot := -1
	if s.o.NoSpeech >= 0 && s.stream.Len() <= s.o.SOT {
		sot = s.o.SOT
	}
	last := len(s.tokens) - 1
	for p := s.stream.Len(); p <= last; p++ {
		s.rows = append(s.rows, Row{s.stream, p, s.tokens[p], p == last || p == sot})
	}
	for i, t := range draft {
		s.rows = append(s.rows, Row{s.stream, last + 1 + i, t, true})
	}
}

// eachPosition calls f for each position at which a token is chosen, with its logits after
// the rules, until it returns false or an error; n is the number of draft tokens before it.
// The logits of the session's rows come first in logits; it returns the rest.
func (s *Session) eachPosition(
	logits []float32, f func(n int, row []float32) (more bool, err error),
) (rest []float32, err error) {
	vocab, first := s.d.dims.Vocab, len(s.tokens)-1
	for _, r := range s.rows {
		if !r.WantLogits {
			continue
		}
		row := logits[:vocab]
		logits = logits[vocab:]
		if s.o.NoSpeech >= 0 && r.Position == s.o.SOT {
			s.NoSpeechProb = kernel.Exp(row[s.o.NoSpeech] - kernel.LogSumExp(row))
		}
		n := r.Position - first
		if n < 0 {
			continue
		}
		// Append the draft for now, so that the rules see it.
		seen := append(s.tokens, s.draft[:n]...)
		for _, rule := range s.o.Rules {
			rule.Apply(row, seen, len(s.o.Prompt))
		}
		if more, err := f(n, row); !more || err != nil {
			return logits, err
		}
	}
	return logits, nil
}

// AppendProbs appends to dst the probability with which each token of the vocabulary would be
// chosen at position i of the last Choose at a temperature; zeros if the rules forbid every one.
func (s *Session) AppendProbs(dst []float32, i int, temperature float32) []float32 {
	return s.chooser.probs(dst, s.logitsAt(i), temperature)
}

// LogProb returns the log-probability of t at position i of the last Choose.
func (s *Session) LogProb(i int, t tokenizer.Token) float32 {
	row := s.logitsAt(i)
	return row[t] - kernel.LogSumExp(row)
}

// logitsAt returns the logits at position i of the last Choose, after the rules.
func (s *Session) logitsAt(i int) []float32 {
	vocab, row := s.d.dims.Vocab, len(s.lastLogits)/s.d.dims.Vocab-s.positions+i
	return s.lastLogits[row*vocab : (row+1)*vocab]
}

// Commit keeps tokens: a prefix of the last draft, or that and one choice. It drops all
// other tokens of the round from the cache. The choice has not run through the network
// yet; the next round runs it first.
func (s *Session) Commit(kept []tokenizer.Token) error {
	same := 0
	for same < len(kept) && same < len(s.draft) && kept[same] == s.draft[same] {
		same++
	}
	if len(kept) > same+1 {
		return fmt.Errorf("decoder: commit of %d tokens: only %d were drafted, want at most one more", len(kept), same)
	}
	if n := len(kept); n > 0 && kept[n-1] == tokenizer.None {
		return forbidden(len(s.tokens) + n - 1)
	}
	s.stream.Cut(len(s.tokens) + same)
	s.tokens = append(s.tokens, kept...)
	s.draft = s.draft[:0]
	return nil
}

// Rewrite replaces the session's tokens, prompt included, and keeps the common prefix of the
// cache. A session that drafts needs it when the target's choices replace its tokens.
func (s *Session) Rewrite(tokens []tokenizer.Token) {
	same := 0
	for same < min(len(tokens), len(s.tokens)) && tokens[same] == s.tokens[same] {
		same++
	}
	s.stream.Cut(same)
	s.tokens, s.draft = append(s.tokens[:same], tokens[same:]...), s.draft[:0]
}

// fork returns a session that holds the same tokens.
func (s *Session) fork() *Session {
	return &Session{
		d: s.d, o: s.o, chooser: s.chooser, stream: s.stream.fork(), tokens: slices.Clone(s.tokens),
		NoSpeechProb: s.NoSpeechProb,
	}
}

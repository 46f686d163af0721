package decoder

import (
	"context"
	"errors"
	"fmt"
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
	// Token is tokenizer.None where the rules forbid every token after a draft. Only its
	// commit is an error: a draft may lead to where decoding never comes.
	Token tokenizer.Token

	// LogProb is the natural logarithm of the token's probability after the
	// rules, at temperature 1 whatever the sampling.
	LogProb float32
}

// SessionOptions says what to decode in a window and how.
type SessionOptions struct {
	// Prompt is what the decoder has seen before its first choice: previous
	// text if any, then start-of-transcript, language, task.
	Prompt []tokenizer.Token

	// SOT is the index in Prompt of start-of-transcript. The probability of the
	// NoSpeech token after it is NoSpeechProb; a negative token means there is
	// none.
	SOT      int
	NoSpeech tokenizer.Token

	Rules    []Rule
	Sampling Sampling

	// Search is for Decoder.Search; a Session has one sequence.
	Search SearchOptions

	// Stepper runs the rows. Nil means the decoder, at once.
	Stepper Stepper
}

// A Session decodes one window once: it verifies drafts and holds the kept tokens. It
// implements assistant.Verifier. Not safe for concurrent use.
type Session struct {
	d        *Decoder
	o        SessionOptions
	pick     *chooser
	stream   *Stream
	tokens   []tokenizer.Token // prompt and committed
	draft    []tokenizer.Token // of the round under way
	rows     []Row
	logits   []float32 // of its own
	read     []float32 // of the last Choose, its own or lent by a batch
	choices  []Choice
	noSpeech float32
	judging  time.Duration
}

// NewSession starts decoding over c. Close gives its memory back.
func (d *Decoder) NewSession(c *Cross, o SessionOptions) (*Session, error) {
	if len(o.Prompt) == 0 || len(o.Prompt) >= d.dims.TextPositions {
		return nil, fmt.Errorf("decoder: prompt: got %d tokens, want 1 to %d", len(o.Prompt), d.dims.TextPositions-1)
	}
	if o.NoSpeech >= 0 && (o.SOT < 0 || o.SOT >= len(o.Prompt)) {
		return nil, fmt.Errorf("decoder: index of start-of-transcript: got %d, want one inside the prompt of %d tokens",
			o.SOT, len(o.Prompt))
	}
	if o.Stepper == nil {
		o.Stepper = d
	}
	// Room for every position and a draft after the last, so that no round allocates.
	tokens := make([]tokenizer.Token, 0, 2*d.dims.TextPositions)
	return &Session{
		d: d, o: o, pick: o.Sampling.chooser(), stream: d.NewStream(c),
		tokens: append(tokens, o.Prompt...),
	}, nil
}

// Close returns the session's memory; it must not be used after. A second call does
// nothing.
func (s *Session) Close() { s.stream.Close() }

// NoSpeechProb returns the probability that the window holds no speech. It is
// known after the first Choose.
func (s *Session) NoSpeechProb() float32 { return s.noSpeech }

// Traffic returns what the steps of the session's rows read, and their time. A step that
// several sessions share is divided among them.
func (s *Session) Traffic() Traffic { return s.stream.traffic }

// Judging returns the time spent in rules and choices so far.
func (s *Session) Judging() time.Duration { return s.judging }

// Limit returns the maximum number of choices: sampleLen, or half the text positions if
// that is 0, and at most one more than fit after the prompt, since the last one need not
// run through the network.
//
// Source: openai/whisper@c0d2f62 whisper/decoding.py, DecodingTask._main_loop.
func (s *Session) Limit(sampleLen int) int {
	n := s.d.dims.TextPositions
	if sampleLen == 0 {
		sampleLen = n / 2
	}
	return min(sampleLen, n-len(s.o.Prompt)+1)
}

// Choose returns the decoder's own choice after each prefix of draft: len(draft)+1 of
// them, the first following the committed tokens. Each is the choice of plain decoding at
// that position. The slice is valid until the next call.
func (s *Session) Choose(ctx context.Context, draft []tokenizer.Token) ([]Choice, error) {
	s.prepare(draft)
	var err error
	if s.read, err = s.o.Stepper.Lend(ctx, s.rows, &s.logits); err != nil {
		return nil, err
	}
	return s.judge(s.read)
}

// prepare sets the rows that must run through the network to choose after draft: the
// committed tokens that have not run yet, then the draft.
func (s *Session) prepare(draft []tokenizer.Token) {
	s.draft = append(s.draft[:0], draft...)
	s.rows = s.rows[:0]
	sot := -1
	if s.o.NoSpeech >= 0 && s.stream.Len() <= s.o.SOT {
		sot = s.o.SOT
	}
	last := len(s.tokens) - 1
	for p := s.stream.Len(); p <= last; p++ {
		s.rows = append(s.rows, Row{s.stream, p, s.tokens[p], p != last && p != sot})
	}
	for i, t := range draft {
		s.rows = append(s.rows, Row{s.stream, last + 1 + i, t, false})
	}
}

// judge turns the logits of the rows into choices. It changes logits.
func (s *Session) judge(logits []float32) ([]Choice, error) {
	began := time.Now()
	defer func() { s.judging += time.Since(began) }()
	vocab := s.d.dims.Vocab
	first := len(s.tokens) - 1 // position of the row whose choice comes first
	s.choices = s.choices[:0]
	for _, r := range s.rows {
		if r.Silent {
			continue
		}
		row := logits[:vocab]
		logits = logits[vocab:]
		if s.o.NoSpeech >= 0 && r.Position == s.o.SOT {
			s.noSpeech = kernel.Exp(row[s.o.NoSpeech] - kernel.LogSumExp(row))
		}
		if r.Position < first {
			continue
		}
		c, err := s.choice(row, r.Position-first)
		if err != nil {
			return nil, err
		}
		s.choices = append(s.choices, c)
	}
	return s.choices, nil
}

// choice applies the rules after n tokens of the draft and picks.
func (s *Session) choice(row []float32, n int) (Choice, error) {
	base := len(s.o.Prompt)
	// The draft follows the committed tokens only for the rules to see.
	seen := append(s.tokens, s.draft[:n]...)
	for _, rule := range s.o.Rules {
		rule.Apply(row, seen, base)
	}
	t := s.pick.choose(row, len(seen))
	if row[t] == negInf {
		if n > 0 { // a draft may lead where plain decoding never comes
			return Choice{Token: tokenizer.None, LogProb: negInf}, nil
		}
		return Choice{}, forbidden(len(seen))
	}
	return Choice{Token: t, LogProb: row[t] - kernel.LogSumExp(row)}, nil
}

// Commit keeps tokens: a prefix of the last draft, or that and one choice more. It drops
// all other tokens of the round from the cache. The choice has not run through the
// network yet; the next round runs it first.
func (s *Session) Commit(_ context.Context, kept []tokenizer.Token) error {
	same := 0
	for same < len(kept) && same < len(s.draft) && kept[same] == s.draft[same] {
		same++
	}
	if len(kept) > same+1 {
		return fmt.Errorf("decoder: commit of %d tokens, of which only %d were drafted", len(kept), same)
	}
	if n := len(kept); n > 0 && kept[n-1] == tokenizer.None {
		return forbidden(len(s.tokens) + n - 1)
	}
	s.stream.Cut(len(s.tokens) + same)
	s.tokens = append(s.tokens, kept...)
	s.draft = s.draft[:0]
	return nil
}

// Len returns the number of tokens in the session, prompt included.
func (s *Session) Len() int { return len(s.tokens) }

// Rewrite makes the session hold its first n tokens and then tail, whatever was committed
// after them. It is for a drafting session, whose tokens are replaced by the target's
// choices. It keeps the common prefix of the cache and the new tokens.
func (s *Session) Rewrite(n int, tail []tokenizer.Token) {
	same := 0
	for same < len(tail) && n+same < len(s.tokens) && tail[same] == s.tokens[n+same] {
		same++
	}
	s.stream.Cut(n + same)
	s.tokens = append(s.tokens[:n+same], tail[same:]...)
	s.draft = s.draft[:0]
}

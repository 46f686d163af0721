package report

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"verity/transcript"
	"verity/wer"
	"verity/wer/normalize"
)

// sums are the results of records that can be added up.
type sums struct {
	normalizer string
	scorer     wer.Scorer
	corpus     wer.Corpus
	score      Score
	worst      []Utterance
	made       map[[2]string]int // confusions: reference word and what was recognised instead
}

func newSums(normalizer string) (s sums, err error) {
	normalizer = cmp.Or(normalizer, "auto")
	if _, err := normalize.ByName(normalizer); err != nil && normalizer != "auto" {
		return s, fmt.Errorf("normalizer %q: unknown: want auto, %s", normalizer, strings.Join(normalize.Names(), ", "))
	}
	return sums{normalizer: normalizer, made: map[[2]string]int{}}, nil
}

func (s *sums) sum(m marked) {
	r := m.Record
	if r.Error != "" {
		s.fail(r.ID, r.Error)
		return
	}
	s.score.Utterances++
	s.score.AudioSeconds += r.Duration
	s.score.Seconds.Add(r.Seconds)
	s.score.Elapsed += cmp.Or(r.Wall, r.Seconds.Total)
	s.score.Work.Add(r.Work)
	s.score.Drafting.Add(r.Drafting)
	if !r.NoReference {
		s.corpus.Add(m.score)
		s.note(m)
	}
}

func (s *sums) fail(id, why string) {
	s.score.Failed++
	if len(s.score.Failures) < maxFailures {
		s.score.Failures = append(s.score.Failures, Failure{id, why})
	}
}

// note counts the errors of an utterance and keeps it if it is among the worst.
func (s *sums) note(m marked) {
	c := m.score.Words
	if c.Errors() == 0 {
		return
	}
	for _, w := range m.diff {
		if w.Op != wer.Hit.String() {
			s.made[[2]string{w.Reference, w.Hypothesis}]++
		}
	}
	s.keep(Utterance{
		ID: m.ID, Errors: c.Errors(), Words: c.Ref(), WER: c.Rate(), Diff: m.diff,
		sound: Record{ID: m.ID, Audio: m.Audio, Offset: m.Offset, Duration: m.Duration},
	})
}

// keep keeps an utterance if it is among the worst.
func (s *sums) keep(u Utterance) {
	at, _ := slices.BinarySearchFunc(s.worst, u, worse)
	if at < mostWorst {
		s.worst = slices.Insert(s.worst, at, u)
		s.worst = s.worst[:min(len(s.worst), mostWorst)]
	}
}

// mostWorst is how many of the worst utterances a score has.
const mostWorst = 20

// worse orders utterances by their number of errors, then by rate, then by id.
func worse(a, b Utterance) int {
	return cmp.Or(cmp.Compare(b.Errors, a.Errors), cmp.Compare(b.WER, a.WER), strings.Compare(a.ID, b.ID))
}

// Rate returns the word error rate so far.
func (s *sums) Rate() float64 { return s.corpus.Words.Rate() }

// RTFx returns seconds of audio per second of work so far.
func (s *sums) RTFx() float64 { return transcript.Ratio(s.score.AudioSeconds, s.score.Elapsed) }

// total returns the score of all that was added.
func (s *sums) total(name string) *Score {
	r, w := s.score, s.corpus.Words
	r.Name, r.Scored = name, s.corpus.Len()
	r.ReferenceWords, r.Hits, r.Substitutions, r.Deletions, r.Insertions = w.Ref(), w.Hits, w.Subs, w.Dels, w.Ins
	r.WER, r.CER, r.MER, r.WIL, r.InsertionRate = w.Rate(), s.corpus.Chars.Rate(), w.MER(), w.WIL(), w.InsertionRate()
	if r.Scored >= fewUtterances {
		i := s.corpus.Interval(wer.Bootstrap{})
		r.WERInterval = &Interval{i.Low, i.High, level}
	}
	r.TokensPerSecond = transcript.Ratio(float64(r.Work.Tokens), r.Seconds.Decode)
	r.Exact, r.Repeats, r.RTFx = s.corpus.Exact, s.corpus.Repeats, s.RTFx()
	r.Normalizer = s.normalizer + ", " + normalize.Version
	r.Worst, r.Confusions = s.worst, s.confusions(shownConfusions)
	r.bins = s.corpus.Bins
	if r.Failures == nil {
		r.Failures = []Failure{}
	}
	return &r
}

// confusions returns the most frequent ones.
func (s *sums) confusions(most int) []Confusion {
	all := make([]Confusion, 0, len(s.made))
	for k, n := range s.made {
		all = append(all, Confusion{k[0], k[1], n})
	}
	slices.SortFunc(all, func(a, b Confusion) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Reference, b.Reference),
			strings.Compare(a.Hypothesis, b.Hypothesis))
	})
	return slices.Clone(all[:min(len(all), most)])
}

// shownConfusions is how many confusions a score lists.
const shownConfusions = 30

// A Tally is the score of some records of a run in a form that adds up: tallies of
// parts, made anywhere and merged in any order, give the score of the whole. It keeps
// no names, so it does not notice a record that is added twice. Its JSON is for
// merging, not for people.
type Tally struct{ sums }

// NewTally returns an empty tally. The error reports an unknown normaliser.
func NewTally(normalizer string) (*Tally, error) {
	s, err := newSums(normalizer)
	if err != nil {
		return nil, err
	}
	return &Tally{s}, nil
}

// Add scores a record. If ctx ends while a long text is scored, the error is its cause
// and nothing is added.
func (t *Tally) Add(ctx context.Context, r *Record) error {
	m, err := mark(ctx, &t.scorer, r, t.normalizer)
	if err != nil {
		return err
	}
	if t.Empty() {
		t.score.Run = r.Run
	}
	t.sum(m)
	return nil
}

// Empty reports whether t holds no records.
func (t *Tally) Empty() bool { return t.score.Utterances+t.score.Failed == 0 }

// Merge adds all of u. It fails if u is of another run.
func (t *Tally) Merge(u *Tally) error {
	switch {
	case u.Empty():
		return nil
	case t.Empty():
		t.score.Run = u.score.Run
	default:
		if thing, got, want := u.score.Run.Differs(t.score.Run); thing != "" {
			return &MixedError{Thing: thing, Values: [2]string{want, got}}
		}
	}
	a, b := &t.score, u.score
	a.Utterances += b.Utterances
	a.Failed += b.Failed
	a.AudioSeconds += b.AudioSeconds
	a.Seconds.Add(b.Seconds)
	a.Elapsed += b.Elapsed
	a.Work.Add(b.Work)
	a.Drafting.Add(b.Drafting)
	a.Failures = append(a.Failures, b.Failures...)
	slices.SortFunc(a.Failures, func(x, y Failure) int {
		return cmp.Or(strings.Compare(x.ID, y.ID),
			strings.Compare(x.Error, y.Error))
	})
	a.Failures = a.Failures[:min(len(a.Failures), maxFailures)]
	t.corpus.Merge(&u.corpus)
	for _, w := range u.worst {
		t.keep(w)
	}
	for k, n := range u.made {
		t.made[k] += n
	}
	return nil
}

// Score returns the score so far.
func (t *Tally) Score(name string) *Score { return t.total(name) }

// tallyJSON is the JSON of a Tally.
type tallyJSON struct {
	Normalizer string      `json:"normalizer"`
	Corpus     *wer.Corpus `json:"corpus"`
	Score      *Score      `json:"score"`
	Worst      []Utterance `json:"worst"`
	Confusions []Confusion `json:"confusions"`
}

// MarshalJSON writes all of t.
func (t *Tally) MarshalJSON() ([]byte, error) {
	return json.Marshal(tallyJSON{t.normalizer, &t.corpus, &t.score, t.worst, t.confusions(len(t.made))})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (t *Tally) UnmarshalJSON(b []byte) error {
	var read tallyJSON
	if err := json.Unmarshal(b, &read); err != nil {
		return err
	}
	if read.Corpus == nil || read.Score == nil {
		return fmt.Errorf("tally: no corpus or no score in %d bytes", len(b))
	}
	s, err := newSums(read.Normalizer)
	if err != nil {
		return err
	}
	s.corpus, s.score, s.worst = *read.Corpus, *read.Score, read.Worst
	for _, c := range read.Confusions {
		s.made[[2]string{c.Reference, c.Hypothesis}] += c.Count
	}
	t.sums = s
	return nil
}

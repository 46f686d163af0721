package report

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"verity/wer"
	"verity/wer/normalize"
)

// Options say how to score. The zero value is right.
type Options struct {
	// Normalizer is english, basic or none, or auto: english for records whose
	// language is English or not known, basic for the others. Empty means auto.
	Normalizer string

	// Bootstrap finds the interval of the word error rate.
	Bootstrap wer.Bootstrap

	// Worst is how many of the worst utterances to keep. 0 means 20.
	Worst int
}

// A Score is what is said of one set. Its JSON is that of verity.report/1.
type Score struct {
	Name           string   `json:"name"`
	Utterances     int      `json:"utterances"` // with a hypothesis
	Failed         int      `json:"failed"`     // without
	ReferenceWords int      `json:"reference_words"`
	Hits           int      `json:"hits"`
	Substitutions  int      `json:"substitutions"`
	Deletions      int      `json:"deletions"`
	Insertions     int      `json:"insertions"`
	WER            float64  `json:"wer"`
	WERInterval    Interval `json:"wer_interval"`
	CER            float64  `json:"cer"`
	MER            float64  `json:"mer"`
	WIL            float64  `json:"wil"`
	Exact          int      `json:"exact"`            // utterances without a word error
	Repeats        int      `json:"repeated_5_grams"` // signal of hallucination
	AudioSeconds   float64  `json:"audio_seconds"`
	Elapsed        float64  `json:"elapsed_seconds"` // of work; less than Seconds.Total where utterances were under way at once
	RTFx           float64  `json:"rtfx"`            // AudioSeconds over Elapsed
	Scored         int      `json:"scored"`          // utterances with a reference
	Normalizer     string   `json:"normalizer"`
	Seconds        Seconds  `json:"seconds"`
	Work           Work     `json:"work"`
	Drafting       Drafting `json:"drafting"`
	Run            Run      `json:"run"` // of the first record

	Failures   []Failure   `json:"failures"` // at most [maxFailures]
	Worst      []Utterance `json:"worst,omitempty"`
	Confusions []Confusion `json:"confusions,omitempty"`

	rates []float64 // of utterances, for the plot
}

// An Interval is a range with its confidence.
type Interval struct {
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Level float64 `json:"level"`
}

// A Failure is an utterance without a hypothesis, or a line that is no record.
type Failure struct {
	ID    string `json:"id"`
	Error string `json:"error"`
}

// An Utterance is one that was scored.
type Utterance struct {
	ID     string  `json:"id"`
	Errors int     `json:"errors"`
	Words  int     `json:"reference_words"`
	WER    float64 `json:"wer"`
	Diff   []Word  `json:"diff"`
}

// A Confusion is an error and how often it was made. Reference is empty for an
// insertion, Hypothesis for a deletion.
type Confusion struct {
	Reference  string `json:"reference,omitempty"`
	Hypothesis string `json:"hypothesis,omitempty"`
	Count      int    `json:"count"`
}

// maxFailures is how many failures a score names; all are counted.
const maxFailures = 100

// A Set takes records in and gives their score. It must not be used by two
// goroutines at once.
type Set struct {
	name   string
	opt    Options
	scorer wer.Scorer
	corpus wer.Corpus
	score  Score
	ids    map[string]bool
	worst  []Utterance
	made   map[Confusion]int // Count is 0 in the keys
	rates  []float64
	differ differ

	seen   int       // utterances that sample was shown
	stride int       // it keeps one of so many
	some   []*Record // what it kept, for the replay
}

// NewSet returns an empty set. The error says that the normaliser is unknown.
func NewSet(name string, o Options) (*Set, error) {
	if o.Worst == 0 {
		o.Worst = 20
	}
	if o.Normalizer == "" {
		o.Normalizer = "auto"
	}
	if o.Normalizer != "auto" {
		if _, err := normalize.ByName(o.Normalizer); err != nil {
			return nil, fmt.Errorf("normalizer %q: unknown: want auto, %s", o.Normalizer, strings.Join(normalize.Names(), ", "))
		}
	}
	return &Set{name: name, opt: o, ids: map[string]bool{}, made: map[Confusion]int{}}, nil
}

// normalizer returns how to normalise texts of a language.
func (s *Set) normalizer(language string) func(string) string {
	name := s.opt.Normalizer
	if name == "auto" {
		name = "english"
		if language != "" && language != "en" {
			name = "basic"
		}
	}
	fn, _ := normalize.ByName(name) // NewSet has checked it
	return fn
}

// AddAll reads all records of f. Lines that are no records are counted as
// failures. visit, if not nil, gets every record that has not failed.
func (s *Set) AddAll(f Files, visit func(*Record, wer.Counts)) error {
	for r, err := range f.Records() {
		var line *LineError
		switch {
		case errors.As(err, &line):
			s.fail(fmt.Sprintf("%s:%d", line.File, line.Line), line.Err.Error())
			continue
		case err != nil:
			return err
		}
		counts, err := s.Add(r)
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		if visit != nil && r.Error == "" {
			visit(r, counts)
		}
	}
	return nil
}

// Add scores one record and returns its words. It is an error if the set has one
// of that id already.
func (s *Set) Add(r *Record) (wer.Counts, error) {
	if s.ids[r.ID] {
		return wer.Counts{}, fmt.Errorf("utterance %s is there twice: a set is one run, or the shards of one", r.ID)
	}
	if len(s.ids) == 0 {
		s.score.Run = r.Run
	}
	s.ids[r.ID] = true
	if r.Error != "" {
		s.fail(r.ID, r.Error)
		return wer.Counts{}, nil
	}
	s.score.Utterances++
	s.score.AudioSeconds += r.Duration
	s.score.Seconds.add(r.Seconds)
	s.score.Elapsed += cmp.Or(r.Wall, r.Seconds.Total)
	s.score.Work.add(r.Work)
	s.score.Drafting.add(r.Drafting)
	s.sample(r)
	if r.NoReference {
		return wer.Counts{}, nil
	}
	s.scorer.Normalize = s.normalizer(r.Language)
	score := s.scorer.Score(r.Reference, r.Hypothesis)
	s.corpus.Add(score)
	s.rates = append(s.rates, score.Words.Rate())
	s.note(r, score.Words)
	return score.Words, nil
}

// sample keeps utterances from all over the set, at even distances, at most
// [replayed] of them. Two sets of the same utterances keep the same ones.
func (s *Set) sample(r *Record) {
	s.stride = max(s.stride, 1)
	if s.seen%s.stride == 0 {
		if len(s.some) == replayed {
			for i := range replayed / 2 {
				s.some[i] = s.some[2*i]
			}
			clear(s.some[replayed/2:])
			s.some = s.some[:replayed/2]
			s.stride *= 2
		}
		if s.seen%s.stride == 0 {
			s.some = append(s.some, r)
		}
	}
	s.seen++
}

func (s *Set) fail(id, why string) {
	s.score.Failed++
	if len(s.score.Failures) < maxFailures {
		s.score.Failures = append(s.score.Failures, Failure{id, why})
	}
}

// note counts the errors of r and keeps it if it is among the worst so far.
func (s *Set) note(r *Record, c wer.Counts) {
	if c.Errors() == 0 {
		return
	}
	fn := s.normalizer(r.Language)
	u := Utterance{r.ID, c.Errors(), c.Ref(), c.Rate(), s.differ.words(fn(r.Reference), fn(r.Hypothesis))}
	for _, w := range u.Diff {
		if w.Op != wer.Hit.String() {
			s.made[Confusion{w.Reference, w.Hypothesis, 0}]++
		}
	}
	at, _ := slices.BinarySearchFunc(s.worst, u, worse)
	if at < s.opt.Worst {
		s.worst = slices.Insert(s.worst, at, u)
		s.worst = s.worst[:min(len(s.worst), s.opt.Worst)]
	}
}

// worse orders utterances by their number of errors, then by rate, then by id.
func worse(a, b Utterance) int {
	return cmp.Or(cmp.Compare(b.Errors, a.Errors), cmp.Compare(b.WER, a.WER), strings.Compare(a.ID, b.ID))
}

// Rate returns the word error rate so far.
func (s *Set) Rate() float64 { return s.corpus.Words.Rate() }

// RTFx returns seconds of audio per second of work so far.
func (s *Set) RTFx() float64 { return ratio(s.score.AudioSeconds, s.score.Elapsed) }

// Score returns what there is to say.
func (s *Set) Score() *Score {
	r, w := s.score, s.corpus.Words
	r.Name, r.Scored = s.name, s.corpus.Len()
	r.ReferenceWords, r.Hits, r.Substitutions, r.Deletions, r.Insertions = w.Ref(), w.Hits, w.Subs, w.Dels, w.Ins
	r.WER, r.CER, r.MER, r.WIL = w.Rate(), s.corpus.Chars.Rate(), w.MER(), w.WIL()
	i := s.corpus.Interval(s.opt.Bootstrap)
	r.WERInterval = Interval{i.Low, i.High, cmp.Or(s.opt.Bootstrap.Level, 0.95)}
	r.Exact, r.Repeats, r.RTFx = s.corpus.Exact, s.corpus.Repeats, s.RTFx()
	r.Normalizer = s.opt.Normalizer + ", " + normalize.Version
	r.Worst, r.Confusions = s.worst, s.confusions()
	r.rates = s.rates
	if r.Failures == nil {
		r.Failures = []Failure{}
	}
	return &r
}

// maxConfusions is how many confusions a score names.
const maxConfusions = 30

// confusions returns the errors made most often.
func (s *Set) confusions() []Confusion {
	all := make([]Confusion, 0, len(s.made))
	for c, n := range s.made {
		c.Count = n
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b Confusion) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Reference, b.Reference), strings.Compare(a.Hypothesis, b.Hypothesis))
	})
	return all[:min(len(all), maxConfusions)]
}

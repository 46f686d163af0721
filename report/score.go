package report

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"verity/transcript"
	"verity/wer"
	"verity/wer/normalize"
)

// A Score is the result of one set. Its JSON is verity.report/2.
type Score struct {
	Name       string `json:"name"`
	Utterances int    `json:"utterances"` // with a hypothesis
	Failed     int    `json:"failed"`     // without a hypothesis

	ReferenceWords int       `json:"reference_words"`
	Hits           int       `json:"hits"`
	Substitutions  int       `json:"substitutions"`
	Deletions      int       `json:"deletions"`
	Insertions     int       `json:"insertions"`
	InsertionRate  float64   `json:"insertion_rate"` // of reference words; a sign of hallucination
	WER            float64   `json:"wer"`
	WERInterval    *Interval `json:"wer_interval"` // null for fewer than ten utterances
	CER            float64   `json:"cer"`
	MER            float64   `json:"mer"`
	WIL            float64   `json:"wil"`
	Exact          int       `json:"exact"`            // utterances without a word error
	Repeats        int       `json:"repeated_5_grams"` // a sign of hallucination

	AudioSeconds    float64 `json:"audio_seconds"`
	Elapsed         float64 `json:"elapsed_seconds"` // of work; less than the sum of all seconds if several run at once
	RTFx            float64 `json:"rtfx"`            // seconds of audio over elapsed seconds
	TokensPerSecond float64 `json:"tokens_per_second"`

	Scored     int    `json:"scored"` // utterances with a reference
	Normalizer string `json:"normalizer"`

	Seconds  transcript.Seconds `json:"seconds"`
	Work     transcript.Work    `json:"work"`
	Drafting transcript.Drafts  `json:"drafting"`

	// Of an arm of a comparison:

	Memory        int64   `json:"memory_bytes,omitempty"`    // that loading and running took; absent if not measured
	BytesPerToken float64 `json:"bytes_per_token,omitempty"` // read by the passes of model and assistant
	GBPS          float64 `json:"gbps,omitempty"`            // at which these passes read

	Run    transcript.Maker `json:"run"`              // common to all records; machine and threads are the first record's
	Shards *Shards          `json:"shards,omitempty"` // absent for a whole run, or if the file names do not tell

	Failures   []Failure   `json:"failures"` // at most a hundred
	Worst      []Utterance `json:"worst,omitempty"`
	Confusions []Confusion `json:"confusions,omitempty"`

	bins wer.Bins // of utterances, for the plot
}

// fewUtterances is the number of utterances below which there is no interval of error
// rates: to resample fewer says nothing about others.
const fewUtterances = 10

// level is that of all intervals.
const level = 0.95

// An Interval is a confidence interval.
type Interval struct {
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Level float64 `json:"level"`
}

// Overlaps reports whether utterances of a run were transcribed at the same time: the
// time of each then includes that of its neighbours.
func (s *Score) Overlaps() bool { return s.Elapsed < 0.99*s.Seconds.Total }

// A Failure is an utterance without a hypothesis, or a line that is not a record.
type Failure struct {
	ID    string `json:"id"`
	Error string `json:"error"`
}

// An Utterance is one scored utterance.
type Utterance struct {
	ID     string  `json:"id"`
	Errors int     `json:"errors"`
	Words  int     `json:"reference_words"`
	WER    float64 `json:"wer"`
	Diff   []Word  `json:"diff"`

	Sound string `json:"-"` // its address for the page, once that is written; empty if none plays

	sound Record // where it is; not of a merged tally
}

// A Word is one position of an alignment of two texts.
type Word struct {
	Op         string `json:"op"` // hit, sub, del or ins
	Reference  string `json:"reference,omitempty"`
	Hypothesis string `json:"hypothesis,omitempty"`
}

// A Confusion is an error and its count. Reference is empty for an insertion,
// Hypothesis for a deletion.
type Confusion struct {
	Reference  string `json:"reference,omitempty"`
	Hypothesis string `json:"hypothesis,omitempty"`
	Count      int    `json:"count"`
}

// maxFailures is how many failures a score names; all are counted.
const maxFailures = 100

// A Set collects the records of one run, which may be an arm of a comparison, and scores
// them. It is not safe for concurrent use.
//
// It keeps some fifty bytes for each utterance, whatever the length of its text and name;
// the worst ones, a few for the replay, and how often each error was made.
type Set struct {
	sums
	name string

	ids   map[key]int32 // in order of arrival, from 0
	parts []part        // one for each file
	first string        // id of the first record

	seen   int       // utterances passed to sample
	stride int       // sample keeps every stride-th utterance
	some   []*Record // the utterances kept for the replay
}

// A key is the hash of an identifier.
type key [16]byte

func keyOf(id string) key {
	h := sha256.Sum256([]byte(id))
	return key(h[:16])
}

// A part is a file of a set.
type part struct {
	path string
	from int // index of its first record
	rows int // lines, including those that are not records
}

// NewSet returns an empty set whose texts are normalised by english, basic, none or auto:
// english for records in English or of unknown language, and basic for the others. Empty
// means auto. The error reports an unknown one.
func NewSet(name, normalizer string) (*Set, error) {
	t, err := newSums(normalizer)
	if err != nil {
		return nil, err
	}
	return &Set{name: name, sums: t, ids: map[key]int32{}}, nil
}

// normalizer returns the normaliser of a name for a language.
func normalizer(name, language string) normalize.Func {
	if name == "auto" {
		name = "english"
		if language != "" && language != "en" {
			name = "basic"
		}
	}
	fn, _ := normalize.ByName(name) // newSums has checked the name
	return fn
}

// AddAll adds all records of f. Lines that are not records count as failures. A record
// of another run than the first one's is a *MixedError. visit, if not nil, gets every
// record, including failed ones. When ctx ends, its cause is the error.
func (s *Set) AddAll(ctx context.Context, f Files, visit func(*Record, wer.Counts)) error {
	shards, err := shardsOf(f.Paths)
	if err != nil {
		return err
	}
	s.score.Shards = shards
	for _, path := range f.Paths {
		s.parts = append(s.parts, part{path: path, from: len(s.ids)})
		if err := s.addFile(ctx, path, visit); err != nil {
			return err
		}
	}
	return nil
}

// maxBad is how many invalid lines may come before the first record of a file.
const maxBad = 20

func (s *Set) addFile(ctx context.Context, path string, visit func(*Record, wer.Counts)) error {
	rows := &s.parts[len(s.parts)-1].rows
	records, bad := 0, 0
	var first *LineError
	for m, err := range markAll(ctx, path, s.normalizer) {
		var line *LineError
		switch {
		case errors.As(err, &line):
			*rows++
			s.fail(fmt.Sprintf("%s:%d", line.File, line.Line), line.Err.Error())
			if bad++; first == nil {
				first = line
			}
			if records == 0 && bad > maxBad {
				return noRecords(path, first)
			}
			continue
		case err != nil:
			return err
		}
		*rows++
		records++
		if err := s.take(m); err != nil {
			return err
		}
		if visit != nil {
			visit(m.Record, m.score.Words)
		}
	}
	if records == 0 && bad > 0 && !(bad == 1 && errors.Is(first, ErrTorn)) {
		return noRecords(path, first)
	}
	return nil
}

// noRecords reports a file that does not hold records.
func noRecords(path string, first *LineError) error {
	return fmt.Errorf("%s: it holds no records: line %d: %w", path, first.Line, first.Err)
}

// Add scores one record and returns its word counts. It fails if the set already has
// the id, if the record is of another run than the first, or if ctx ends while a long
// text is scored.
func (s *Set) Add(ctx context.Context, r *Record) (wer.Counts, error) {
	m, err := mark(ctx, &s.scorer, r, s.normalizer)
	if err != nil {
		return wer.Counts{}, err
	}
	return m.score.Words, s.take(m)
}

// A MixedError reports records of different runs in one set.
type MixedError struct {
	Files [2]string // of the first record and this one; empty if not from files
	IDs   [2]string // of the two utterances

	Thing  string // model, options, …
	Values [2]string
}

func (e *MixedError) Error() string {
	name := func(i int) string {
		if e.Files[i] == "" {
			return "utterance " + e.IDs[i]
		}
		return fmt.Sprintf("%s (utterance %s)", e.Files[i], e.IDs[i])
	}
	return fmt.Sprintf("records of different runs: %s and %s: %s: %q and %q; a set is one run, or the shards of one",
		name(0), name(1), e.Thing, e.Values[0], e.Values[1])
}

func (s *Set) take(m marked) error {
	r := m.Record
	if len(s.ids) == 0 {
		s.score.Run, s.first = r.Run, r.ID
	} else if thing, got, want := r.Run.Differs(s.score.Run); thing != "" {
		return &MixedError{[2]string{s.file(0), s.file(len(s.ids))}, [2]string{s.first, r.ID}, thing,
			[2]string{want, got}}
	}
	k := keyOf(r.ID)
	if at, ok := s.ids[k]; ok {
		return fmt.Errorf("utterance %s is there twice%s: a set is one run, or the shards of one",
			r.ID, s.where(int(at)))
	}
	s.ids[k] = int32(len(s.ids))
	s.sum(m)
	if r.Error == "" {
		s.sample(r)
	}
	return nil
}

// file returns the file of the record at an index; empty if it came from none.
func (s *Set) file(at int) string {
	name := ""
	for _, p := range s.parts {
		if p.from <= at {
			name = p.path
		}
	}
	return name
}

// where says, for an error, that a record is in its file and in the last one.
func (s *Set) where(at int) string {
	if len(s.parts) == 0 {
		return ""
	}
	return fmt.Sprintf(", in %s and in %s", s.file(at), s.parts[len(s.parts)-1].path)
}

// sample keeps evenly spaced utterances of the set, at most [replayed]. Two sets of the
// same utterances keep the same ones.
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

// Score returns the score so far.
func (s *Set) Score() *Score {
	r := s.total(s.name)
	r.Shards = s.shards()
	return r
}

package report

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"verity/transcript"
	"verity/wer"
	"verity/wer/normalize"
)

// A Set collects the records of one run, which may be a variant of a comparison, and scores
// them. It is not safe for concurrent use.
//
// It stores some fifty bytes for each utterance, the worst utterances, a few records for the
// replay, and a count of each error.
type Set struct {
	name, normalizer string

	score          Score // without what follows from the rest
	scorer         wer.Scorer
	corpus         wer.Corpus
	fields         map[string]bool        // names of those of all records
	by             string                 // the field that groups utterances; empty for no groups
	keepUtterances bool                   // the score has every utterance
	groups         map[string]*wer.Corpus // by its value
	confusions     map[[2]string]int      // reference word and what was recognised instead
	replayed       []keyedRecord          // at most [mostReplayed]

	ids   map[key]int32 // in order of arrival, from 0
	parts []part        // one for each file
	first string        // id of the first record

	foreign bool // another program wrote the records
}

// A key is the hash of an identifier.
type key [16]byte

func keyOf(id string) key {
	h := sha256.Sum256([]byte(id))
	return key(h[:16])
}

// A keyedRecord is a record for the replay. A set keeps those with the least keys: a sample of
// its utterances, and the same sample in two sets of the same utterances.
type keyedRecord struct {
	key
	*Record
}

// A part is a file of a set.
type part struct {
	path string
	from int // index of its first record
	rows int // lines, including those that are not records
}

// NewSet returns an empty set whose texts are normalised by english, basic, none or auto:
// english for records in English or in an unknown language, and basic for the others. Empty
// means auto. Any other name is an error.
func NewSet(name, normalizer string) (*Set, error) {
	normalizer = cmp.Or(normalizer, "auto")
	if _, err := normalize.ByName(normalizer); err != nil && normalizer != "auto" {
		return nil, fmt.Errorf("normalizer %q: unknown: want auto, %s", normalizer, strings.Join(normalize.Names(), ", "))
	}
	return &Set{name: name, normalizer: normalizer, fields: map[string]bool{}, groups: map[string]*wer.Corpus{}, confusions: map[[2]string]int{}, ids: map[key]int32{}}, nil
}

// normalizer returns the named normaliser, for a language if that is auto.
func normalizer(name, language string) normalize.Func {
	if name == "auto" {
		name = "english"
		if language != "" && language != "en" {
			name = "basic"
		}
	}
	fn, _ := normalize.ByName(name) // NewSet has checked the name
	return fn
}

// AddAll adds all records of f. Lines that are not records count as failures. A record
// of another run than the first one's is an error. visit, if not nil, gets every
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
	for m, err := range scoreAll(ctx, path, s.normalizer) {
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
		if err := s.include(m); err != nil {
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
	return fmt.Errorf("%s: it holds no records, want records.jsonl or its directory, which eval and compare write; line %d: %w",
		path, first.Line, first.Err)
}

// Add scores one record and returns its word counts. It fails if the set already has
// the id, if the record is of another run than the first, or if ctx ends while a long
// text is scored.
func (s *Set) Add(ctx context.Context, r *Record) (wer.Counts, error) {
	m, err := scoreOf(ctx, &s.scorer, r, s.normalizer)
	if err != nil {
		return wer.Counts{}, err
	}
	return m.score.Words, s.include(m)
}

func (s *Set) include(m recordScore) error {
	r := m.Record
	if len(s.ids) == 0 {
		s.score.Run, s.first, s.foreign = r.Run, r.ID, r.Foreign
	} else if thing, got, want := r.Run.FirstDifference(s.score.Run); thing != "" {
		return fmt.Errorf("records of different runs: %s and %s: %s: %q and %q; a set is one run, or the shards of one",
			s.describe(0, s.first), s.describe(len(s.ids), r.ID), thing, want, got)
	}
	k := keyOf(r.ID)
	if at, ok := s.ids[k]; ok {
		return fmt.Errorf("an utterance occurs twice: %s and %s; a set is one run, or the shards of one",
			s.describe(int(at), r.ID), s.describe(len(s.ids), r.ID))
	}
	s.ids[k] = int32(len(s.ids))
	s.sum(m, k)
	return nil
}

func (s *Set) sum(m recordScore, k key) {
	r := m.Record
	if r.Error != "" {
		s.fail(r.ID, r.Error)
		return
	}
	s.score.Utterances++
	for field := range r.Fields {
		s.fields[field] = true
	}
	if r.Language != "" {
		s.fields["language"] = true
	}
	s.score.AudioSeconds += r.Duration
	s.score.Seconds.Add(r.Seconds)
	s.score.Elapsed += cmp.Or(r.Wall, r.Seconds.Total)
	s.score.Work.Add(r.Work)
	s.score.Drafting.Add(r.Drafting)
	s.replayed = insertBest(s.replayed, keyedRecord{k, r}, mostReplayed,
		func(a, b keyedRecord) int { return bytes.Compare(a.key[:], b.key[:]) })
	if m.speakers != nil {
		if s.score.Speakers == nil {
			s.score.Speakers = &SpeakerScore{}
		}
		s.score.Speakers.add(m.speakers)
	}
	if !r.NoReference {
		s.corpus.Add(m.score)
		if s.by != "" {
			value := s.valueOf(r)
			if s.groups[value] == nil {
				s.groups[value] = &wer.Corpus{}
			}
			s.groups[value].Add(m.score)
		}
		if s.keepUtterances {
			s.score.Each = append(s.score.Each, m.errors())
		}
		s.countErrors(m)
	}
}

// valueOf returns the group of a record: its field of the dataset, or else the language of its text. Records without the
// field are one group.
func (s *Set) valueOf(r *Record) string {
	if s.by == "language" {
		return cmp.Or(r.Fields[s.by], r.Language)
	}
	return r.Fields[s.by]
}

func (s *Set) fail(id, why string) {
	s.score.Failed++
	if len(s.score.Failures) < maxFailures {
		s.score.Failures = append(s.score.Failures, Failure{id, why})
	}
}

// countErrors counts the errors of an utterance, and lists it if it is among the worst.
func (s *Set) countErrors(m recordScore) {
	c := m.score.Words
	if c.Errors() == 0 {
		return
	}
	for _, w := range m.diff {
		if w.Op != wer.Hit.String() {
			s.confusions[[2]string{w.Reference, w.Hypothesis}]++
		}
	}
	s.score.Worst = insertBest(s.score.Worst, Utterance{
		UtteranceErrors: m.errors(), Diff: m.diff,
		sound: Record{ID: m.ID, Audio: m.Audio, Offset: m.Offset, Duration: m.Duration},
	}, mostWorst, worse)
}

// insertBest inserts x into a sorted list of at most most items, if it belongs there.
func insertBest[T any](list []T, x T, most int, order func(a, b T) int) []T {
	at, _ := slices.BinarySearchFunc(list, x, order)
	if at == most {
		return list
	}
	list = slices.Insert(list, at, x)
	return list[:min(len(list), most)]
}

// describe names a record by its file and its id, for errors.
func (s *Set) describe(at int, id string) string {
	name := "utterance " + id
	for i := len(s.parts) - 1; i >= 0; i-- {
		if s.parts[i].from <= at {
			return fmt.Sprintf("%s (%s)", s.parts[i].path, name)
		}
	}
	return name
}

// Rate returns the word error rate so far.
func (s *Set) Rate() float64 { return s.corpus.Words.Rate() }

// RTFx returns seconds of audio per second of work so far.
func (s *Set) RTFx() float64 { return transcript.Ratio(s.score.AudioSeconds, s.score.Elapsed) }

// Score returns the score so far.
func (s *Set) Score() *Score {
	r, w := s.score, s.corpus.Words
	r.Name, r.Shards, r.Scored = s.name, s.shards(), s.corpus.Len()
	r.ReferenceWords, r.Hits, r.Substitutions, r.Deletions, r.Insertions = w.Ref(), w.Hits, w.Subs, w.Dels, w.Ins
	r.WER, r.CER, r.MER, r.WIL, r.InsertionRate = w.Rate(), s.corpus.Chars.Rate(), w.MER(), w.WIL(), w.InsertionRate()
	r.WERInterval = intervalOf(&s.corpus)
	for _, value := range slices.Sorted(maps.Keys(s.groups)) {
		g := s.groups[value]
		r.Groups = append(r.Groups, Group{value, g.Len(), g.Words.Ref(), g.Words.Rate(), intervalOf(g)})
	}
	r.TokensPerSecond = transcript.Ratio(float64(r.Work.Tokens), r.Seconds.Decode)
	r.Exact, r.Repeats, r.RTFx = s.corpus.Exact, s.corpus.Repeats, s.RTFx()
	r.Normalizer = s.normalizer + ", " + normalize.Version
	r.Worst, r.Confusions = slices.Clone(r.Worst), s.frequent()
	if r.Speakers != nil {
		copied := *r.Speakers
		r.Speakers = &copied
	}
	if r.Failures == nil {
		r.Failures = []Failure{}
	}
	return &r
}

func intervalOf(c *wer.Corpus) *Interval {
	if c.Len() < fewUtterances {
		return nil
	}
	i := c.Interval()
	return &Interval{i.Low, i.High, level}
}

// frequent returns the most frequent confusions.
func (s *Set) frequent() []Confusion {
	all := make([]Confusion, 0, len(s.confusions))
	for k, n := range s.confusions {
		all = append(all, Confusion{k[0], k[1], n})
	}
	slices.SortFunc(all, func(a, b Confusion) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Reference, b.Reference),
			strings.Compare(a.Hypothesis, b.Hypothesis))
	})
	return slices.Clone(all[:min(len(all), shownConfusions)])
}

// How many confusions, and how many of the worst utterances, a score lists.
const shownConfusions, mostWorst = 30, 20

// worse orders utterances by their number of errors, then by rate, then by id.
func worse(a, b Utterance) int {
	return cmp.Or(cmp.Compare(b.Errors, a.Errors), cmp.Compare(b.WER, a.WER), strings.Compare(a.ID, b.ID))
}

package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"

	"verity/internal/input"
	"verity/parallel"
	"verity/tokenizer"
	"verity/transcript"
	"verity/wer"
	"verity/wer/normalize"
)

// A Set collects the records of one run, which may be a variant of a comparison, and scores
// them. It is not safe for concurrent use.
//
// It keeps the records in memory, without what only a page shows: some 2 kB for each utterance.
type Set struct {
	name, normalizer string

	score      Score // without what follows from the rest
	scorer     wer.Scorer
	corpus     wer.Corpus
	fields     map[string]bool      // names of those of all records
	by         string               // the fields that group utterances, separated by commas; empty for no groups
	groups     map[string]*groupSum // by their values
	confusions map[[2]string]int    // reference word and what was recognised instead

	keepUtterances bool // the score has every utterance

	utterances []utterance    // in order of arrival
	index      map[string]int // in utterances, by id
	rows       []int          // of each file: lines, including those that are not records

	read    transcript.Traffic // by all passes
	foreign bool               // another program wrote the records
}

// A groupSum sums up the utterances of a group.
type groupSum struct {
	wer.Corpus
	drafts transcript.Drafts
}

// An utterance is a record with its score and its differences, which take time to compute.
type utterance struct {
	*Record
	file     string // empty if it comes from Add
	group    string
	score    wer.Score
	diff     []Word        // nil if there are no errors
	speakers *SpeakerScore // nil if the dataset has none
}

func (u utterance) errors() UtteranceErrors {
	c := u.score.Words
	return UtteranceErrors{u.ID, c.Errors(), c.Ref(), c.Rate()}
}

// NewSet returns an empty set whose texts are normalised by english, basic, none or auto:
// english for records in English or in an unknown language, and basic for the others. Empty
// means auto. Any other name is an error.
func NewSet(name, normalizer string) (*Set, error) {
	normalizer = cmp.Or(normalizer, "auto")
	if _, err := normalize.ByName(normalizer); err != nil && normalizer != "auto" {
		return nil, fmt.Errorf("normalizer %q: unknown: want auto, %s", normalizer, strings.Join(normalize.Names(), ", "))
	}
	return &Set{name: name, normalizer: normalizer, fields: map[string]bool{}, groups: map[string]*groupSum{},
		confusions: map[[2]string]int{}, index: map[string]int{}}, nil
}

// normalizer returns the named normaliser, for a language if that is auto.
func normalizer(name, language string) normalize.Func {
	if name == "auto" {
		name = "basic"
		if english := (tokenizer.Language{Code: "en", Name: "English"}); language == "" || english.Is(language) {
			name = "english"
		}
	}
	fn, _ := normalize.ByName(name) // NewSet has checked the name
	return fn
}

// AddAll adds all records of f. Lines that are not records count as failures. A record
// of another run than the first one's is an error. When ctx ends, its cause is the error.
func (s *Set) AddAll(ctx context.Context, f Files) error {
	shards, err := shardsOf(f.Paths)
	if err != nil {
		return err
	}
	s.score.Shards = shards
	for _, path := range f.Paths {
		if err := s.addFile(ctx, path); err != nil {
			return err
		}
	}
	return nil
}

func (s *Set) addFile(ctx context.Context, path string) error {
	f, err := input.Open(ctx, path)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	defer f.Close() // opened for reading: nothing to lose
	records, bad, err := Read(path, f)
	if err != nil {
		return err
	}
	if len(records) == 0 && len(bad) > 0 && !(len(bad) == 1 && errors.Is(bad[0], ErrTorn)) {
		const want = "it holds no records, want records.jsonl or its directory, which eval and compare write"
		if errors.Is(bad[0], errNoObject) {
			return fmt.Errorf("%s: %s", path, want)
		}
		return fmt.Errorf("%s: %s; line %d: %w", path, want, bad[0].Line, bad[0].Err)
	}
	s.rows = append(s.rows, len(records)+len(bad))
	type result struct {
		utterance
		err error
	}
	scorers := make([]wer.Scorer, runtime.GOMAXPROCS(0))
	for u := range parallel.Ordered(len(scorers), 8*len(scorers), slices.Values(records), func(w int, r *Record) result {
		u, err := s.scoreOf(ctx, &scorers[w], r)
		return result{u, err}
	}) {
		if u.err == nil {
			u.file = path
			u.err = s.include(u.utterance)
		}
		if u.err != nil {
			return u.err
		}
	}
	for _, line := range bad {
		s.fail(fmt.Sprintf("%s:%d", line.File, line.Line), line.Err.Error())
	}
	return nil
}

// group returns the values of the fields that group utterances. The detected language and the length serve as fields.
func (s *Set) group(r *Record) string {
	var values []string
	for field := range strings.SplitSeq(s.by, ",") {
		value := r.Fields[field]
		switch {
		case value != "":
		case field == "language":
			value = r.Language
		case field == "seconds":
			value = lengthOf(r.Duration)
		}
		values = append(values, value)
	}
	return strings.Join(values, ", ")
}

// lengthOf names the range of a length, so that names have the order of lengths.
func lengthOf(seconds float64) string {
	bounds := []float64{0, 5, 10, 20, 30}
	for i, end := range bounds[1:] {
		if seconds < end {
			return fmt.Sprintf("%02.0f to %02.0f s", bounds[i], end)
		}
	}
	return "30 s and more"
}

// scoreOf normalises the texts of r and counts the errors; a record that failed or has no
// reference has none. The error is ctx's cause: long texts take a while.
func (s *Set) scoreOf(ctx context.Context, w *wer.Scorer, r *Record) (utterance, error) {
	u, normal := utterance{Record: r, group: s.group(r)}, normalizer(s.normalizer, r.statedLanguage())
	if r.Error != "" {
		return u, nil
	}
	var err error
	if u.speakers, err = speakersOf(ctx, w, r, normal); err != nil || r.NoReference {
		return u, err
	}
	ref, hyp := normal(r.Reference), normal(r.Hypothesis)
	if u.score, err = w.Score(ctx, ref, hyp); err == nil && !u.score.Exact {
		err = w.Words(ctx, ref, hyp, func(op wer.Op, r, h string) {
			u.diff = append(u.diff, Word{op.String(), r, h})
		})
	}
	return u, err
}

// Add scores one record. It fails if the set already has the id, if the record is of another
// run than the first, or if ctx ends while a long text is scored.
func (s *Set) Add(ctx context.Context, r *Record) error {
	u, err := s.scoreOf(ctx, &s.scorer, r)
	if err != nil {
		return err
	}
	return s.include(u)
}

func (s *Set) include(u utterance) error {
	r := u.Record
	if len(s.utterances) == 0 {
		s.score.Run, s.foreign = r.Run, r.Foreign
	} else if thing, got, want := r.Run.FirstDifference(s.score.Run); thing != "" {
		return fmt.Errorf("records of different runs: %s and %s: %s: %q and %q; a set is one run, or the shards of one",
			s.utterances[0].place(), u.place(), thing, want, got)
	}
	if at, ok := s.index[r.ID]; ok {
		return fmt.Errorf("an utterance occurs twice: %s and %s; a set is one run, or the shards of one",
			s.utterances[at].place(), u.place())
	}
	s.index[r.ID] = len(s.utterances)
	s.addRecord(u)
	u.diff, u.speakers, u.Record = nil, nil, s.kept(r)
	s.utterances = append(s.utterances, u)
	return nil
}

// kept returns what is kept of a record: what is compared.
func (s *Set) kept(r *Record) *Record {
	k := *r
	k.Run, k.Fields, k.Turns, k.ReferenceTurns, k.Speech = s.score.Run, nil, nil, nil, nil // Run shares its memory
	k.Segments = slices.Clone(r.Segments)
	for i := range k.Segments {
		g := &k.Segments[i]
		g.Words, g.Runs, g.Tokens = nil, nil, slices.Clone(g.Tokens) // without what the slice has room for
	}
	k.Drafting = transcript.Drafts{}
	return &k
}

// addRecord adds a record to the sums of the set.
func (s *Set) addRecord(u utterance) {
	r := u.Record
	if r.Error != "" {
		s.fail(r.ID, r.Error)
		return
	}
	s.score.Utterances++
	if r.Duration > 0 {
		s.fields["seconds"] = true
	}
	for field := range r.Fields {
		s.fields[field] = true
	}
	if r.Language != "" {
		s.fields["language"] = true
	}
	s.addWork(r)
	if u.speakers != nil {
		if s.score.Speakers == nil {
			s.score.Speakers = &SpeakerScore{}
		}
		s.score.Speakers.add(u.speakers)
	}
	group := &groupSum{} // of no group
	if s.by != "" {
		if s.groups[u.group] == nil {
			s.groups[u.group] = group
		}
		group = s.groups[u.group]
	}
	group.drafts.Add(r.Drafting)
	if r.NoReference {
		return
	}
	s.corpus.Add(u.score)
	group.Add(u.score)
	if s.keepUtterances {
		s.score.Each = append(s.score.Each, u.errors())
	}
	s.countErrors(u)
}

// addWork adds times and counts of work.
func (s *Set) addWork(r *Record) {
	s.score.AudioSeconds += r.Duration
	s.score.Seconds.Add(r.Seconds)
	s.score.Elapsed += cmp.Or(r.Wall, r.Seconds.Total)
	s.score.Work.Add(r.Work)
	s.score.Drafting.Add(r.Drafting)
	s.read.Add(r.Passes)
	s.read.Add(r.DraftPasses)
	if r.Resources != nil {
		s.score.Resources = *r.Resources
	}
}

func (s *Set) fail(id, why string) {
	s.score.Failed++
	if len(s.score.Failures) < maxFailures {
		s.score.Failures = append(s.score.Failures, Failure{id, why})
	}
}

// countErrors counts the errors of an utterance, and lists it if it is among the worst.
func (s *Set) countErrors(u utterance) {
	if u.score.Words.Errors() == 0 {
		return
	}
	for _, w := range u.diff {
		if w.Op != wer.Hit.String() {
			s.confusions[[2]string{w.Reference, w.Hypothesis}]++
		}
	}
	x := Utterance{u.errors(), u.diff}
	at, _ := slices.BinarySearchFunc(s.score.Worst, x, worse)
	if at < mostWorst {
		s.score.Worst = slices.Insert(s.score.Worst, at, x)[:min(len(s.score.Worst)+1, mostWorst)]
	}
}

// place names a record by its file and its id, for errors.
func (u utterance) place() string {
	if u.file == "" {
		return "utterance " + u.ID
	}
	return fmt.Sprintf("%s (utterance %s)", u.file, u.ID)
}

// Rate returns the word error rate so far.
func (s *Set) Rate() float64 { return s.corpus.Words.Rate() }

// RTFx returns seconds of audio per second of work so far.
func (s *Set) RTFx() float64 { return transcript.Ratio(s.score.AudioSeconds, s.score.Elapsed) }

// Score returns the score of all records. Its lists are those of the set.
func (s *Set) Score() *Score {
	r, w := s.score, s.corpus.Words
	r.Group, r.Shards = groupOf(s.name, &s.corpus, r.Drafting), s.shards()
	rate := func(x float64) Rate { return rateOf(&s.corpus, x) }
	r.Hits, r.MER, r.WIL, r.InsertionRate = w.Hits, rate(w.MER()), rate(w.WIL()), rate(w.InsertionRate())
	for _, value := range slices.Sorted(maps.Keys(s.groups)) {
		r.Groups = append(r.Groups, groupOf(value, &s.groups[value].Corpus, s.groups[value].drafts))
	}
	r.TokensPerSecond = transcript.Ratio(float64(r.Work.Tokens), r.Seconds.Decode)
	r.GBPS, r.BytesPerToken = s.read.Rate()/1e9, transcript.Ratio(float64(s.read.Bytes), float64(r.Work.Tokens))
	if !r.Overlaps() {
		r.FirstToken = r.Seconds.FirstToken(r.Work)
	}
	if d := r.Drafting; r.DraftOperations != nil && d.Drafted > 0 {
		rows := float64(d.Rounds+d.Drafted) + float64(d.Drafted)*(*r.DraftOperations) +
			float64(d.Prepared)*r.PositionOperations + float64(d.Written)*r.WriteOperations
		operations := transcript.Ratio(rows, float64(d.Tokens))
		r.Operations = &operations
	}
	r.Exact, r.Repeats, r.RTFx = s.corpus.Exact, s.corpus.Repeats, s.RTFx()
	r.Normalizer = s.normalizer + ", " + normalize.Version
	r.Confusions = s.frequent()
	if r.Failures == nil {
		r.Failures = []Failure{}
	}
	return &r
}

func groupOf(name string, c *wer.Corpus, d transcript.Drafts) Group {
	w := c.Words
	g := Group{name, c.Len(), w.Ref(), rateOf(c, w.Rate()), nil, rateOf(c, c.Chars.Rate()), w.Subs, w.Dels, w.Ins, nil}
	if alpha := d.Agreement(); d.Accepted+d.Refused > 0 {
		g.Alpha = &alpha
	}
	if c.Len() >= fewUtterances {
		i := c.Interval()
		g.WERInterval = &Interval{i.Low, i.High, level}
	}
	return g
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

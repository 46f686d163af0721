package report

import (
	"math"
	"strings"

	"verity/internal/show"
	"verity/transcript"
	"verity/wer"
)

// A Score is the result of one set. Its JSON is verity.report/2.
type Score struct {
	Group
	Utterances int `json:"utterances"` // with a hypothesis
	Failed     int `json:"failed"`     // without a hypothesis

	Hits          int  `json:"hits"`                    // words that are right
	InsertionRate Rate `json:"insertion_rate,omitzero"` // of reference words; a sign of hallucination; absent without references, as all rates
	MER           Rate `json:"mer,omitzero"`            // match error rate
	WIL           Rate `json:"wil,omitzero"`            // word information lost
	Exact         int  `json:"exact"`                   // utterances without a word error
	Repeats       int  `json:"repeated_5_grams"`        // a sign of hallucination

	Groups []Group `json:"groups,omitempty"` // with report --by

	Speakers *SpeakerScore `json:"speakers,omitempty"` // absent if speakers were not identified, or none are known

	AudioSeconds    float64 `json:"audio_seconds"`     // length of the audio
	Elapsed         float64 `json:"elapsed_seconds"`   // of work; less than the sum of all seconds if several run at once
	RTFx            float64 `json:"rtfx"`              // seconds of audio over elapsed seconds
	TokensPerSecond float64 `json:"tokens_per_second"` // tokens per second of decoding

	Normalizer string `json:"normalizer"` // what texts were normalised by

	Seconds  transcript.Seconds `json:"seconds"`  // time by stage
	Work     transcript.Work    `json:"work"`     // counts of windows and tokens
	Drafting transcript.Drafts  `json:"drafting"` // counts of rounds and drafts

	FirstToken    float64 `json:"first_token_seconds,omitempty"` // from the start of a window to its first token, on average
	BytesPerToken float64 `json:"bytes_per_token,omitempty"`     // read by the passes of model and assistant
	GBPS          float64 `json:"gbps,omitempty"`                // at which these passes read

	Resources
	Operations *float64 `json:"operations_per_token,omitempty"` // over those of plain decoding; absent if unknown

	Run    transcript.Provenance `json:"run"`              // of all records; machine and threads of the first
	Shards *Shards               `json:"shards,omitempty"` // absent for a whole run, or if file names do not state it

	Failures   []Failure         `json:"failures"`             // at most a hundred
	Each       []UtteranceErrors `json:"each,omitempty"`       // every scored utterance; with report
	Worst      []Utterance       `json:"worst,omitempty"`      // utterances with most errors
	Confusions []Confusion       `json:"confusions,omitempty"` // commonest errors
}

// A Group is the errors in some utterances: all of a run, or those with one value of a field of the dataset.
type Group struct {
	Name           string `json:"name"`            // of the run, or value of the field; empty for the utterances without it
	Scored         int    `json:"scored"`          // utterances with a reference
	ReferenceWords int    `json:"reference_words"` // words of the references, normalised
	WER            Rate   `json:"wer,omitzero"`    // word error rate

	WERInterval *Interval `json:"wer_interval"` // null for fewer than ten utterances

	CER           Rate `json:"cer,omitzero"`  // character error rate
	Substitutions int  `json:"substitutions"` // words replaced
	Deletions     int  `json:"deletions"`     // words left out
	Insertions    int  `json:"insertions"`    // words added

	Alpha *float64 `json:"alpha_agreement,omitempty"` // accepted over judged draft tokens; absent if none were judged
}

// A Rate is a share of errors. It is NaN, and absent from JSON, if no utterance has a reference.
type Rate float64

// IsZero reports whether the rate is unknown.
func (r Rate) IsZero() bool { return math.IsNaN(float64(r)) }

// rateOf returns a rate of the errors in c.
func rateOf(c *wer.Corpus, rate float64) Rate {
	if c.Len() == 0 {
		rate = math.NaN()
	}
	return Rate(rate)
}

// fewUtterances is the number of utterances below which there is no interval of error
// rates: to resample fewer says nothing about others.
const fewUtterances = 10

// level is that of all intervals.
const level = 0.95

// An Interval is a confidence interval.
type Interval struct {
	Low   float64 `json:"low"`   // lower end
	High  float64 `json:"high"`  // upper end
	Level float64 `json:"level"` // level of confidence
}

// Overlaps reports whether utterances of a run were transcribed at the same time: the
// time of each then includes that of its neighbours.
func (s *Score) Overlaps() bool { return s.Elapsed < 0.99*s.Seconds.Total }

// A Failure is an utterance without a hypothesis, or a line that is not a record.
type Failure struct {
	ID    string `json:"id"`    // of the utterance
	Error string `json:"error"` // what went wrong
}

// String returns the id and the error, without the id in it, on one line.
func (f Failure) String() string {
	return show.Name(f.ID) + ": " + show.Line(strings.TrimPrefix(f.Error, f.ID+": "))
}

// UtteranceErrors are the errors in an utterance.
type UtteranceErrors struct {
	ID     string  `json:"id"`              // of the utterance
	Errors int     `json:"errors"`          // word errors
	Words  int     `json:"reference_words"` // words of the references, normalised
	WER    float64 `json:"wer"`             // word error rate
}

// An Utterance is one scored utterance.
type Utterance struct {
	UtteranceErrors
	Diff []Word `json:"diff"` // alignment, word by word
}

// A Word is one position of an alignment of two texts.
type Word struct {
	Op         string `json:"op"`                   // hit, sub, del or ins
	Reference  string `json:"reference,omitempty"`  // what was said
	Hypothesis string `json:"hypothesis,omitempty"` // what was recognised
}

// A Confusion is an error and its count. Reference is empty for an insertion,
// Hypothesis for a deletion.
type Confusion struct {
	Reference  string `json:"reference,omitempty"`  // what was said
	Hypothesis string `json:"hypothesis,omitempty"` // what was recognised
	Count      int    `json:"count"`                // how often
}

// maxFailures is how many failures a score names; all are counted.
const maxFailures = 100

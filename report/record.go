package report

import (
	"maps"
	"slices"
)

// RecordSchema is the schema field of every record.
const RecordSchema = "verity.record/1"

// A Record is one utterance of one run. It is a line of records.jsonl.
type Record struct {
	Schema string  `json:"schema"`
	ID     string  `json:"id"`                       // unique in its run
	Audio  string  `json:"audio,omitempty"`          // where the sound came from
	Offset float64 `json:"offset_seconds,omitempty"` // where in it the utterance begins
	Error  string  `json:"error,omitempty"`          // why there is no hypothesis; empty if there is one

	Reference   string  `json:"reference"` // raw
	NoReference bool    `json:"no_reference,omitempty"`
	Hypothesis  string  `json:"hypothesis"` // raw
	Language    string  `json:"language,omitempty"`
	Duration    float64 `json:"audio_seconds"`

	Segments []Segment `json:"segments"`
	Seconds  Seconds   `json:"seconds"`
	Wall     float64   `json:"wall_seconds,omitempty"` // since the record before; only where several were under way at once
	Work     Work      `json:"work"`
	Drafting Drafting  `json:"drafting"`
	Proof    *Proof    `json:"proof,omitempty"` // nil in records from before there was one
	Run      Run       `json:"run"`
}

// A Proof is a hash of all tokens that the decoder chose, in every attempt at every
// window, and one of their log-probabilities, with no-speech probabilities and
// temperatures.
type Proof struct {
	Tokens   string `json:"tokens"`
	LogProbs string `json:"logprobs"`
}

// A Segment is a piece of a transcript. The JSON names are openai/whisper's.
type Segment struct {
	Start            float64 `json:"start"`
	End              float64 `json:"end"`
	Text             string  `json:"text"`
	Tokens           []int32 `json:"tokens"`
	Temperature      float64 `json:"temperature"`
	AvgLogProb       float64 `json:"avg_logprob"`
	CompressionRatio float64 `json:"compression_ratio"`
	NoSpeechProb     float64 `json:"no_speech_prob"`

	// Pieces are the text again, cut where it was an assistant that foresaw it;
	// nil if the run did not say.
	Pieces []Piece `json:"pieces,omitempty"`
}

// A Piece is text of consecutive tokens that an assistant all foresaw, or none.
type Piece struct {
	Text     string `json:"text"`
	Accepted bool   `json:"accepted"`
}

// Seconds is wall time by stage.
type Seconds struct {
	Mel     float64 `json:"mel"`
	Encode  float64 `json:"encode"`
	CrossKV float64 `json:"cross_kv"`
	Decode  float64 `json:"decode"`
	Draft   float64 `json:"draft"`  // of Decode, spent proposing
	Verify  float64 `json:"verify"` // of Decode, spent choosing
	Rules   float64 `json:"rules"`  // of Verify, in rules and choices
	Total   float64 `json:"total"`
}

func (s *Seconds) add(o Seconds) {
	s.Mel += o.Mel
	s.Encode += o.Encode
	s.CrossKV += o.CrossKV
	s.Decode += o.Decode
	s.Draft += o.Draft
	s.Verify += o.Verify
	s.Rules += o.Rules
	s.Total += o.Total
}

// Work says how much was decoded.
type Work struct {
	Windows  int `json:"windows"`
	Silent   int `json:"silent"`   // of these, without speech
	Attempts int `json:"attempts"` // decodings of windows
	Tokens   int `json:"tokens"`   // chosen in all attempts, end-of-text included
}

func (w *Work) add(o Work) {
	w.Windows += o.Windows
	w.Silent += o.Silent
	w.Attempts += o.Attempts
	w.Tokens += o.Tokens
}

// Drafting says what an assistant did. It is zero in plain decoding, but for
// rounds that drafted nothing.
type Drafting struct {
	Rounds    int   `json:"rounds"`
	Drafted   int   `json:"drafted"`
	Accepted  int   `json:"accepted"`
	Kept      int   `json:"kept"`    // tokens that rounds yielded, end-of-text included
	Refused   int   `json:"refused"` // rounds in which a token was
	Histogram []int `json:"histogram,omitempty"`

	// Overlap is the sum of Σ min(p, q) over so many Weighed places, p and q being
	// the odds of model and assistant; none unless that was asked for.
	Weighed int     `json:"weighed,omitempty"`
	Overlap float64 `json:"overlap,omitempty"`
}

func (d *Drafting) add(o Drafting) {
	d.Rounds += o.Rounds
	d.Drafted += o.Drafted
	d.Accepted += o.Accepted
	d.Kept += o.Kept
	d.Refused += o.Refused
	d.Weighed += o.Weighed
	d.Overlap += o.Overlap
	for len(d.Histogram) < len(o.Histogram) {
		d.Histogram = append(d.Histogram, 0)
	}
	for i, n := range o.Histogram {
		d.Histogram[i] += n
	}
}

// Rate returns the share of drafted tokens that were accepted; 0 without any.
func (d Drafting) Rate() float64 { return ratio(float64(d.Accepted), float64(d.Drafted)) }

// Agreement returns the share of the judged tokens that were accepted: those up to
// the first that was refused. It is the α of theory. 0 without any.
func (d Drafting) Agreement() float64 {
	return ratio(float64(d.Accepted), float64(d.Accepted+d.Refused))
}

// MeanOverlap returns the mean of Σ min(p, q); 0 if that was not weighed.
func (d Drafting) MeanOverlap() float64 { return ratio(d.Overlap, float64(d.Weighed)) }

// MeanKept returns the tokens a round yields; 0 without any round.
func (d Drafting) MeanKept() float64 { return ratio(float64(d.Kept), float64(d.Rounds)) }

// ratio is a/b, 0 where nothing was measured.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// A Run says what made a record. Apart from Machine and Threads, which only change
// times, everything the text depends on is in it.
type Run struct {
	Code      string            `json:"code"`                // version of verity
	Model     string            `json:"model"`               // as named by the user
	ModelID   string            `json:"model_id,omitempty"`  // fingerprint of its weights
	Planted   bool              `json:"planted,omitempty"`   // the model says a planted text, whatever it hears
	Assistant string            `json:"assistant,omitempty"` // empty in plain decoding
	Dataset   string            `json:"dataset,omitempty"`
	Options   map[string]string `json:"options,omitempty"` // flags with their values
	Machine   string            `json:"machine,omitempty"`
	Threads   int               `json:"threads,omitempty"`
}

// Differs returns the first thing that text depends on, or what was drafted, in
// which r is not want, and both spellings of it; nothing if there is none. Records
// of such runs do not belong together.
func (r Run) Differs(want Run) (thing, got, wanted string) {
	for _, x := range []struct{ thing, got, want string }{
		{"code", r.Code, want.Code},
		{"model", r.Model, want.Model},
		{"model id", r.ModelID, want.ModelID},
		{"assistant", r.Assistant, want.Assistant},
		{"dataset", r.Dataset, want.Dataset},
	} {
		if x.got != x.want {
			return x.thing, x.got, x.want
		}
	}
	if maps.Equal(r.Options, want.Options) {
		return "", "", ""
	}
	for _, name := range slices.Sorted(maps.Keys(r.Options)) {
		if v, ok := want.Options[name]; !ok || v != r.Options[name] {
			return "options", spell(r.Options, name), spell(want.Options, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want.Options)) {
		if _, ok := r.Options[name]; !ok {
			return "options", "", spell(want.Options, name)
		}
	}
	return "", "", ""
}

// spell writes an option as a flag; nothing if it is not there.
func spell(options map[string]string, name string) string {
	v, ok := options[name]
	if !ok {
		return ""
	}
	return "--" + name + "=" + v
}

// Tokens returns the tokens of all segments.
func (r *Record) Tokens() []int32 {
	var all []int32
	for _, s := range r.Segments {
		all = append(all, s.Tokens...)
	}
	return all
}

package report

import (
	"maps"
	"slices"

	"verity/transcript"
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
	Truncated   bool    `json:"audio_truncated,omitempty"` // the file ended before its header says

	Segments []Segment          `json:"segments"`
	Seconds  transcript.Seconds `json:"seconds"`
	Wall     float64            `json:"wall_seconds,omitempty"` // since the record before; only if several run at once
	Work     transcript.Work    `json:"work"`
	Drafting transcript.Drafts  `json:"drafting"`
	Proof    *transcript.Proof  `json:"proof,omitempty"` // nil in records from before there was one
	Run      Run                `json:"run"`
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

	// Pieces are the text again, cut where a round ends or the accepted drafts of one
	// do; nil if nothing was drafted.
	Pieces []Piece `json:"pieces,omitempty"`
}

// A Piece is text of consecutive tokens of one round that are all accepted drafts, or
// all not. The pieces of a segment make its text.
type Piece struct {
	Text     string `json:"text"`
	Accepted bool   `json:"accepted"`

	// Round is the pass of the model that chose the tokens, from 1 in the record. 0 in
	// records from before rounds were kept: their pieces are words without spaces.
	Round int `json:"round,omitempty"`

	// Refused is the drafted text that the model refused for this piece.
	Refused string `json:"refused,omitempty"`
}

// A Run says what made a record. Apart from Machine and Threads, which only change
// times, everything the text depends on is in it.
type Run struct {
	Code      string `json:"code"`                // version of verity
	Model     string `json:"model"`               // as named by the user
	ModelID   string `json:"model_id,omitempty"`  // fingerprint of its weights
	Planted   bool   `json:"planted,omitempty"`   // the model says a planted text, whatever it hears
	Assistant string `json:"assistant,omitempty"` // empty in plain decoding
	Dataset   string `json:"dataset,omitempty"`

	Precision          string `json:"precision,omitempty"`           // what the weights were held in: what auto came to
	AssistantPrecision string `json:"assistant_precision,omitempty"` // the same of the assistant

	Options map[string]string `json:"options,omitempty"` // flags with their values
	Machine string            `json:"machine,omitempty"`
	Threads int               `json:"threads,omitempty"`
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

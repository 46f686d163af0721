package report

import (
	"maps"
	"slices"

	"verity/transcript"
)

// RecordSchema is the schema field of every record.
const RecordSchema = "verity.record/1"

// A Record is one utterance of one run: one line of records.jsonl.
type Record struct {
	Schema string  `json:"schema"`
	ID     string  `json:"id"`                       // unique in its run
	Audio  string  `json:"audio,omitempty"`          // where the sound comes from
	Offset float64 `json:"offset_seconds,omitempty"` // where the utterance begins in it
	Error  string  `json:"error,omitempty"`          // why there is no hypothesis; empty if there is one

	Reference   string  `json:"reference"` // not normalised
	NoReference bool    `json:"no_reference,omitempty"`
	Hypothesis  string  `json:"hypothesis"` // not normalised
	Language    string  `json:"language,omitempty"`
	Duration    float64 `json:"audio_seconds"`
	Truncated   bool    `json:"audio_truncated,omitempty"` // the file ends before its header says

	Damaged []transcript.Gap `json:"audio_damaged,omitempty"` // where sound is damaged or lost

	Segments []Segment          `json:"segments"`
	Seconds  transcript.Seconds `json:"seconds"`
	Wall     float64            `json:"wall_seconds,omitempty"` // since the previous record; only if several run at once
	Work     transcript.Work    `json:"work"`
	Drafting transcript.Drafts  `json:"drafting"`
	Proof    *transcript.Proof  `json:"proof,omitempty"` // absent in records older than proofs
	Run      Run                `json:"run"`
}

// A Segment is one segment of a transcript. The JSON names are openai/whisper's.
type Segment struct {
	Start            float64 `json:"start"`
	End              float64 `json:"end"`
	Text             string  `json:"text"`
	Tokens           []int32 `json:"tokens"`
	Temperature      float64 `json:"temperature"`
	AvgLogProb       float64 `json:"avg_logprob"`
	CompressionRatio float64 `json:"compression_ratio"`
	NoSpeechProb     float64 `json:"no_speech_prob"`

	// The text again, split where a round or its accepted drafts end; absent if nothing
	// was drafted.
	Pieces []Piece `json:"pieces,omitempty"`
}

// A Piece is the text of consecutive tokens of one round that are either all accepted
// drafts or none. The pieces of a segment, concatenated, are its text.
type Piece struct {
	Text     string `json:"text"`
	Accepted bool   `json:"accepted"`

	// The pass of the model that chose the tokens, from 1 in the record; absent in
	// records older than rounds: their pieces are words without spaces.
	Round int `json:"round,omitempty"`

	// The drafted text that the model refused at this piece.
	Refused string `json:"refused,omitempty"`
}

// A Run says what made a record: everything the text depends on. Machine and Threads
// change only the times.
type Run struct {
	Code      string `json:"code"`                // version of Verity
	Model     string `json:"model"`               // as the user named it
	ModelID   string `json:"model_id,omitempty"`  // fingerprint of the weights
	Planted   bool   `json:"planted,omitempty"`   // the text is planted, whatever the audio
	Assistant string `json:"assistant,omitempty"` // empty in plain decoding
	Dataset   string `json:"dataset,omitempty"`

	Precision          string `json:"precision,omitempty"`           // of the weights; what auto resolved to
	AssistantPrecision string `json:"assistant_precision,omitempty"` // the same for the assistant

	Options map[string]string `json:"options,omitempty"` // flags and their values
	Machine string            `json:"machine,omitempty"`
	Threads int               `json:"threads,omitempty"`
}

// Differs returns the first thing in which r differs from want and that affects the
// text or the drafts, with both values; nothing if there is none. Records of such runs
// must not be mixed.
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

// spell formats an option as a flag; empty if it is not set.
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

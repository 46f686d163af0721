package report

import (
	"maps"
	"strings"

	"verity/transcript"
)

// RecordSchema is the schema field of every record.
const RecordSchema = "verity.record/2"

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

	Segments []transcript.Segment `json:"segments"`
	Seconds  transcript.Seconds   `json:"seconds"`
	Wall     float64              `json:"wall_seconds,omitempty"` // since the previous record; only if several run at once
	Work     transcript.Work      `json:"work"`
	Drafting transcript.Drafts    `json:"drafting"`
	Proof    *transcript.Proof    `json:"proof,omitempty"` // absent if the utterance failed
	Run      transcript.Maker     `json:"run"`
}

// MustAgree reports whether two runs must have the same text: the same weights, dataset
// and options, apart from those of assistants.
func MustAgree(a, b transcript.Maker) bool {
	text := func(m transcript.Maker) map[string]string {
		o := maps.Clone(m.Options)
		maps.DeleteFunc(o, func(name, _ string) bool {
			return name == "assistant-precision" || strings.HasPrefix(name, "draft-")
		})
		return o
	}
	return a.ModelID == b.ModelID && a.Precision == b.Precision && a.Dataset == b.Dataset && maps.Equal(text(a), text(b))
}

// Tokens returns the tokens of all segments.
func (r *Record) Tokens() []int32 {
	var all []int32
	for _, s := range r.Segments {
		for _, t := range s.Tokens {
			all = append(all, int32(t))
		}
	}
	return all
}

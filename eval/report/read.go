package report

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"verity/internal/input"
	"verity/transcript"
)

// ErrTorn is the cause of a [LineError] for a last line without a line end: the run was
// killed, or has not finished.
var ErrTorn = errors.New("the last line is incomplete: the run was killed, or is still writing; run the same command again to go on")

// errNoObject is the cause of a [LineError] for a line that begins as no record does.
var errNoObject = errors.New("malformed record: is no JSON object")

// errLong is the cause of a [LineError] for a line too long to be a record.
var errLong = fmt.Errorf("the line has more than %d bytes: it is no record", maxLine)

// A LineError reports a line that is not a record.
type LineError struct {
	File   string
	Line   int // line number, from 1
	Length int // bytes of the line, without its end
	Err    error
}

func (e *LineError) Error() string { return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err) }

func (e *LineError) Unwrap() error { return e.Err }

// Line returns r as a line of JSON, with its line end.
func (r *Record) Line() ([]byte, error) {
	r.Schema = RecordSchema
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(r)
	return b.Bytes(), err
}

// Files are the record files of one set: a whole run, or its shards by name.
type Files struct {
	Name  string
	Paths []string
}

// maxLine is the length limit of a record: several hours of speech.
const maxLine = 32 << 20

// VariantsFile lists the record files of a comparison of several variants, without .jsonl, in
// the order of the variants. It is in the same directory. The file has the earlier name of variants.
const VariantsFile = "arms.json"

// Find returns the files that a command line argument means: the file itself; for a
// directory, every records*.jsonl as one set, or else the variants that a comparison wrote
// there, one set each.
func Find(arg string) ([]Files, error) {
	st, err := os.Stat(arg)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: there is no such directory or file; want a directory that eval or compare has written", arg)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", arg, input.Cause(err))
	}
	if !st.IsDir() {
		return []Files{{arg, []string{arg}}}, nil
	}
	entries, err := os.ReadDir(arg)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", arg, input.Cause(err))
	}
	var paths []string
	for _, e := range entries { // sorted
		if ok, _ := filepath.Match("records*.jsonl", e.Name()); ok {
			paths = append(paths, filepath.Join(arg, e.Name()))
		}
	}
	if len(paths) > 0 {
		return []Files{{arg, paths}}, nil
	}
	return findVariants(arg)
}

func findVariants(dir string) (variants []Files, err error) {
	list := filepath.Join(dir, VariantsFile)
	b, err := input.Read(context.Background(), list, 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: no records*.jsonl or "+VariantsFile+" in it; eval and compare write them", dir)
	}
	var names []string
	if err == nil {
		err = input.JSON(b, json.Unmarshal(b, &names))
	}
	for _, name := range names {
		if name != filepath.Base(name) {
			err = fmt.Errorf("name of a variant: got %q, want the name of a file in the same directory", name)
		}
		variants = append(variants, Files{name, []string{filepath.Join(dir, name+".jsonl")}})
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", list, err)
	}
	return variants, nil
}

// RecordSchema is the schema field of every record.
const RecordSchema = "verity.record/2"

// A Record is one utterance of one run: one line of records.jsonl.
type Record struct {
	Schema string  `json:"schema"`                   // name and version of this format
	ID     string  `json:"id"`                       // unique in its run
	Row    int     `json:"row,omitempty"`            // of the dataset, from 1
	Audio  string  `json:"audio,omitempty"`          // where the sound comes from
	Offset float64 `json:"offset_seconds,omitempty"` // where the utterance begins in it
	Error  string  `json:"error,omitempty"`          // why there is no hypothesis; empty if there is one

	Reference   string  `json:"reference"`                 // not normalised
	NoReference bool    `json:"no_reference,omitempty"`    // the row has no text
	Hypothesis  string  `json:"hypothesis"`                // not normalised
	Language    string  `json:"language,omitempty"`        // code of the language
	Duration    float64 `json:"audio_seconds"`             // length of the audio
	Truncated   bool    `json:"audio_truncated,omitempty"` // the file ends before its header says

	Damaged []transcript.Gap `json:"audio_damaged,omitempty"` // where sound is damaged or lost

	Fields map[string]string `json:"fields,omitempty"` // other fields of the row with short texts, such as lang or speaker

	// If speakers were identified:

	Turns          []transcript.Turn `json:"turns,omitempty"`            // who speaks when
	ReferenceTurns []transcript.Turn `json:"reference_turns,omitzero"`   // who speaks when, by the dataset; nil if it does not say
	Speech         []Speech          `json:"reference_speech,omitempty"` // who says what, by the dataset, in order

	Segments     []transcript.Segment     `json:"segments"`               // pieces of text with times
	Seconds      transcript.Seconds       `json:"seconds"`                // time by stage
	Passes       transcript.Traffic       `json:"passes"`                 // of the model
	DraftPasses  transcript.Traffic       `json:"draft_passes"`           // of the assistant's decoder, if it has one
	Resources    *Resources               `json:"resources,omitempty"`    // what the variant needs besides time
	Wall         float64                  `json:"wall_seconds,omitempty"` // since the previous record, if several run at once
	Work         transcript.Work          `json:"work"`                   // counts of windows and tokens
	Drafting     transcript.Drafts        `json:"drafting"`               // counts of rounds and drafts
	ChoiceHashes *transcript.ChoiceHashes `json:"proof,omitempty"`        // absent if the utterance failed
	Run          transcript.Provenance    `json:"run"`                    // what made the record

	// Withdrawn means that the dataset no longer has the broken row that an earlier record reports.
	Withdrawn bool `json:"withdrawn,omitempty"`

	Foreign bool `json:"-"` // another program wrote it
}

// statedLanguage returns the language that the dataset states, else the detected one. Results are scored by it, however
// a model hears them.
func (r *Record) statedLanguage() string {
	return cmp.Or(r.Fields["lang"], r.Fields["language"], r.Fields["locale"], r.Fields["lang_id"], r.Language)
}

// Resources are what a variant needs besides time, measured once.
type Resources struct {
	Memory int64 `json:"memory_bytes,omitempty"` // that loading and running took; absent if not measured

	// The operations of drafting a token over those of the model's decoder for one; null if unknown.
	DraftOperations *float64 `json:"draft_operations"`

	PositionOperations float64 `json:"position_operations,omitempty"` // over the same: of preparing for a position, with an encoder, keys and values, or by reading letters
	WriteOperations    float64 `json:"write_operations,omitempty"`    // over the same: of a token, if the assistant transcribes first

	// The times of passes of 1, 2, 3 … rows over those of one, measured before the run; 0 where it was not.
	Steps []float64 `json:"steps_by_rows,omitempty"`
}

// Speech is what one speaker says, in order.
type Speech struct {
	Speaker string `json:"speaker"` // name
	Text    string `json:"text"`    // not normalised
}

// MustAgree reports whether two runs must have the same text: the same weights, dataset
// and options, apart from those of assistants.
func MustAgree(a, b transcript.Provenance) bool { return len(differences(a, b)) == 0 }

// differences names what may change the text, with both values.
func differences(a, b transcript.Provenance) (list []string) {
	add := func(name, x, y string) {
		if x != y {
			list = append(list, fmt.Sprintf("%s %s and %s", name, cmp.Or(x, "(default)"), cmp.Or(y, "(default)")))
		}
	}
	if a.ModelID != b.ModelID {
		list = append(list, fmt.Sprintf("model %s and %s", a.Model, b.Model))
	}
	if (a.Precision == "") != (b.Precision == "") {
		return list // one is of another program
	}
	if (a.Options["sampler"] == "rejection" || b.Options["sampler"] == "rejection") && a.Assistant+b.Assistant != "" {
		list = append(list, "--sampler rejection keeps the distribution of texts, not the text")
	}
	add("precision", a.Precision, b.Precision)
	add("dataset", a.Dataset, b.Dataset)
	names := slices.Concat(slices.Collect(maps.Keys(a.Options)), slices.Collect(maps.Keys(b.Options)))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		stated := name == "precision" && a.Precision != b.Precision
		if !stated && name != "assistant-precision" && !strings.HasPrefix(name, "draft-") {
			add(name, a.Options[name], b.Options[name])
		}
	}
	return list
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

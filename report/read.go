package report

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"verity/internal/input"
	"verity/transcript"
)

// ErrTorn is the cause of a [LineError] for a last line without a line end: the run was
// killed or is still going on.
var ErrTorn = errors.New("torn last line")

// ErrLong is the cause of a [LineError] for a line too long to be a record.
var ErrLong = fmt.Errorf("the line has more than %d bytes: it is no record", maxLine)

// A LineError reports a line that is not a record.
type LineError struct {
	File string
	Line int // line number, from 1
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err) }

func (e *LineError) Unwrap() error { return e.Err }

// Read yields the records of r; name is for errors. A line that is not a record yields
// a *LineError and does not end the sequence; a read error does.
func Read(name string, r io.Reader) iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		p := new(parser)
		for l := range lines(r) {
			if rec, err := p.record(name, l); !yield(rec, err) {
				return
			}
		}
	}
}

// parse parses one line.
func (p *parser) parse(text []byte) (*Record, error) {
	r := new(Record)
	read := struct {
		*Record
		Run json.RawMessage `json:"run"` // hides that of Record
	}{Record: r}
	if err := json.Unmarshal(text, &read); err != nil {
		return nil, fmt.Errorf("malformed record: %w", err)
	}
	if r.Schema != RecordSchema {
		return nil, fmt.Errorf("unsupported record: schema: got %q, want %q", r.Schema, RecordSchema)
	}
	if r.ID == "" {
		return nil, errors.New("malformed record: it has no id")
	}
	if read.Run != nil && !bytes.Equal(read.Run, p.raw) {
		var run transcript.Maker
		if err := json.Unmarshal(read.Run, &run); err != nil {
			return nil, fmt.Errorf("malformed record: %w", err)
		}
		p.raw, p.run = read.Run, run
	}
	if read.Run != nil {
		r.Run = p.run // shares the map: nobody changes it
	}
	return r, nil
}

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

func open(ctx context.Context, path string) (*input.File, error) {
	f, err := input.Open(ctx, path)
	if err != nil {
		return nil, wordy(path, err)
	}
	return f, nil
}

// wordy describes a file error without the name of a system call.
func wordy(path string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return fmt.Errorf("%s: %w", path, err)
}

// ArmsFile lists the record files of a comparison of several arms, without .jsonl, in
// the order of the arms. It is in the same directory.
const ArmsFile = "arms.json"

// Find returns the files that a command line argument means: the file itself; for a
// directory, every records*.jsonl as one set, or else the arms that a comparison wrote
// there, one set each.
func Find(arg string) ([]Files, error) {
	st, err := os.Stat(arg)
	if err != nil {
		return nil, wordy(arg, err)
	}
	if !st.IsDir() {
		return []Files{{arg, []string{arg}}}, nil
	}
	entries, err := os.ReadDir(arg)
	if err != nil {
		return nil, wordy(arg, err)
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
	var arms []Files
	names, err := armNames(arg)
	if err != nil {
		return nil, err
	}
	for _, arm := range names {
		p := filepath.Join(arg, arm+".jsonl")
		if _, err := os.Stat(p); err == nil {
			arms = append(arms, Files{arm, []string{p}})
		}
	}
	if len(arms) == 0 {
		return nil, fmt.Errorf("%s: no records*.jsonl, baseline.jsonl, assisted.jsonl or "+ArmsFile+" in it", arg)
	}
	return arms, nil
}

// armNames returns the names of the arms that may have records in a directory.
func armNames(dir string) ([]string, error) {
	b, err := input.Read(context.Background(), filepath.Join(dir, ArmsFile), 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return []string{"baseline", "assisted"}, nil
	}
	if err != nil {
		return nil, err
	}
	var names []string
	if err := json.Unmarshal(b, &names); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, ArmsFile), err)
	}
	for _, name := range names {
		if name != filepath.Base(name) {
			return nil, fmt.Errorf("%s: name of an arm: got %q, want that of a file beside it",
				filepath.Join(dir, ArmsFile), name)
		}
	}
	return names, nil
}

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

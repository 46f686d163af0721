package report

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"runtime"
	"slices"
	"unicode/utf8"

	"verity/datasets"
	"verity/internal/input"
	"verity/parallel"
)

// A line is one line of a file, not parsed yet.
type line struct {
	n      int // line number, from 1
	length int
	text   []byte // without surrounding white space
	err    error  // why it cannot be parsed
}

// lines yields the lines of r that are not empty. A last line without a line end comes with ErrTorn, a line that is too
// long with errLong. A read error is the last.
func lines(r io.Reader) iter.Seq[line] {
	return func(yield func(line) bool) {
		b := bufio.NewReaderSize(r, 1<<16)
		for n, over := 1, false; !over; n++ {
			text, length, err := input.Line(b, nil, maxLine)
			text = bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\ufeff")))
			over = err != nil
			switch {
			case length > maxLine:
				err = errLong
			case err == io.EOF:
				err = ErrTorn
			}
			if torn := err == ErrTorn; torn && length == 0 || (err == nil || torn) && len(text) == 0 {
				continue
			}
			if !yield(line{n, length, text, err}) {
				return
			}
		}
	}
}

// Read returns the records of r, sorted by row of the dataset, and what is wrong with the lines that are none; name is for
// errors. Of several records of an utterance the last counts: a run that tries a failed utterance again only appends.
func Read(name string, r io.Reader) (records []*Record, bad []*LineError, err error) {
	type parsed struct {
		*Record
		err error
	}
	latest := map[string]int{} // by id, index of an utterance's record
	workers := runtime.GOMAXPROCS(0)
	for p := range parallel.Ordered(workers, 64*workers, lines(r), func(_ int, l line) parsed {
		r, err := l.parse(name)
		return parsed{r, err}
	}) {
		if line, ok := errors.AsType[*LineError](p.err); ok {
			if bad = append(bad, line); len(records) == 0 && len(bad) > maxBad {
				break // these are no records
			}
			continue
		}
		if err = p.err; err != nil {
			break
		}
		if at, ok := latest[p.ID]; ok && !p.Foreign { // another program does not retry
			records[at] = nil
		}
		latest[p.ID] = len(records)
		records = append(records, p.Record)
	}
	records = slices.DeleteFunc(records, func(r *Record) bool { return r == nil || r.Withdrawn })
	slices.SortStableFunc(records, func(x, y *Record) int { return cmp.Compare(x.Row, y.Row) })
	return records, bad, err
}

// maxBad is how many invalid lines may come before the first record of a file.
const maxBad = 20

// parse returns the record of a line. A *LineError concerns this line alone.
func (l line) parse(name string) (*Record, error) {
	err := l.err
	if err != nil && !errors.Is(err, ErrTorn) && !errors.Is(err, errLong) {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	r := new(Record)
	if head := (struct{ Schema string }{}); err == ErrTorn && l.n == 1 && l.text[0] != '{' {
		err = nil // not the beginning of one
	} else if err == ErrTorn && json.Valid(l.text) {
		if json.Unmarshal(l.text, &head); head.Schema == "" { // other programs may end a file without a line end
			err = nil
		}
	}
	switch {
	case err != nil:
	case l.text[0] == '[':
		err = errors.New("malformed record: is a JSON array, want a JSON object on each line: jq -c '.[]' arr.json > arr.jsonl")
	case l.text[0] != '{':
		err = errNoObject
	case !utf8.Valid(l.text):
		err = errors.New("malformed record: the text is not UTF-8: save it as UTF-8")
	default:
		if err = json.Unmarshal(l.text, r); errors.As(err, new(*json.UnmarshalTypeError)) {
			err = input.JSON(l.text, err)
		}
		if err != nil {
			err = fmt.Errorf("malformed record: %w", err)
		}
	}
	if err == nil && r.Schema == "" { // of another program
		err = r.readForeign(name, l.text)
	}
	switch {
	case err != nil:
	case r.Schema != RecordSchema:
		err = fmt.Errorf("unsupported record: schema: got %q, want %q", r.Schema, RecordSchema)
	case r.ID == "":
		err = errors.New("malformed record: it has no id")
	}
	if err != nil {
		return nil, &LineError{name, l.n, l.length, err}
	}
	return r, nil
}

// readForeign completes a record that another program wrote: with id, reference and hypothesis, and other fields that
// group it.
func (r *Record) readForeign(name string, text []byte) error {
	var all map[string]any
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	own := []string{"id", "reference", "hypothesis"}
	r.Fields = datasets.ShortTexts(all, own...)
	for _, field := range own {
		if _, ok := all[field].(string); !ok {
			return fmt.Errorf("there is no text %q: want id, reference and hypothesis, or a record of eval", field)
		}
	}
	r.Schema, r.Run.Model, r.Run.ModelID, r.Foreign = RecordSchema, name, name, true
	return nil
}

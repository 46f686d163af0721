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
	"math"
	"reflect"
	"slices"
	"unicode/utf8"

	"verity/datasets"
	"verity/internal/input"
)

// A line is one line of a file, not parsed yet.
type line struct {
	n       int   // line number, from 1
	from    int64 // offset in the file
	length  int
	row     int    // of the dataset; a line that is no record comes last
	ignored bool   // because a later record of the utterance counts, or the record withdraws one
	text    []byte // without surrounding white space; lines loads it
	err     error  // why it cannot be parsed
}

// lines yields the lines of r in the order of the index. A last line without a line end
// comes with ErrTorn, a line that is too long with errLong. A read error is the last.
func lines(r io.ReaderAt) iter.Seq[line] {
	return func(yield func(line) bool) {
		for _, l := range index(r) {
			if l.err == nil || l.err == ErrTorn {
				text := make([]byte, l.length)
				if _, err := io.ReadFull(io.NewSectionReader(r, l.from, int64(l.length)), text); err != nil {
					l.err = err
				}
				l.text = bytes.TrimSpace(withoutMark(text))
			}
			if !yield(l) {
				return
			}
		}
	}
}

// withoutMark returns a line without the byte order mark that some programs write first.
func withoutMark(text []byte) []byte { return bytes.TrimPrefix(text, []byte("\ufeff")) }

// index lists the lines of r that count, sorted by row of the dataset. Runs only append to
// their files: one that tries a failed utterance again adds a second record of it, and the
// last record counts.
func index(r io.ReaderAt) []line {
	section := io.NewSectionReader(r, 0, math.MaxInt64)
	b := bufio.NewReaderSize(section, 1<<16)
	var all []line
	var text []byte
	latest := map[key]int{} // index in all of an utterance's record
	for l, over := (line{n: 1}), false; !over; l.n++ {
		text, l.length, l.err = input.Line(b, text[:0], maxLine)
		switch {
		case l.err == io.EOF && l.length == 0:
			l.length, over = 0, true
		case l.err == io.EOF:
			l.err, over = ErrTorn, true
		case l.err != nil:
			over = true
		case l.length > maxLine:
			l.err = errLong
		}
		if l.err != io.EOF && (l.err != nil || len(bytes.TrimSpace(withoutMark(text))) > 0) {
			var head struct {
				Schema    string
				ID        string
				Row       int
				Withdrawn bool
			}
			l.row, l.ignored = math.MaxInt, false
			if l.err == nil && json.Unmarshal(withoutMark(text), &head) == nil && head.ID != "" {
				l.row, l.ignored = head.Row, head.Withdrawn
				k := keyOf(head.ID)
				if at, ok := latest[k]; ok && head.Schema != "" { // another program does not retry
					all[at].ignored = true
				}
				latest[k] = len(all)
			}
			all = append(all, l)
			over = over || len(latest) == 0 && len(all) > maxBad // these are no records
		}
		at, _ := section.Seek(0, io.SeekCurrent) // cannot fail
		l.from = at - int64(b.Buffered())
	}
	all = slices.DeleteFunc(all, func(l line) bool { return l.ignored })
	slices.SortStableFunc(all, func(x, y line) int { return cmp.Compare(x.row, y.row) })
	return all
}

// parse returns the record of a line. A *LineError concerns this line alone.
func (l line) parse(name string) (*Record, error) {
	err := l.err
	if err != nil && !errors.Is(err, ErrTorn) && !errors.Is(err, errLong) {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	r := new(Record)
	wrong := (*json.UnmarshalTypeError)(nil)
	if head := (struct{ Schema string }{}); err == ErrTorn && json.Valid(l.text) {
		if json.Unmarshal(l.text, &head); head.Schema == "" { // other programs may end a file without a line end
			err = nil
		}
	}
	switch {
	case err != nil:
	case !utf8.Valid(l.text):
		err = errors.New("malformed record: the text is not UTF-8: save it as UTF-8")
	case l.text[0] == '[':
		err = errors.New("malformed record: is a JSON array, want a JSON object on each line")
	default:
		if err = json.Unmarshal(l.text, r); errors.As(err, &wrong) {
			err = fmt.Errorf("malformed record: %s is of the wrong type, a JSON %s", cmp.Or(wrong.Field, "the line"), wrong.Value)
		} else if err != nil {
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
	default:
		err = r.checkTimes()
	}
	if err != nil {
		return nil, &LineError{name, l.n, l.from, err}
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

// checkTimes returns an error for a time that no run takes. Within these bounds, sums and quotients of times are finite.
func (r *Record) checkTimes() error {
	times := []float64{r.Duration, r.Wall}
	for seconds, i := reflect.ValueOf(r.Seconds), 0; i < seconds.NumField(); i++ {
		times = append(times, seconds.Field(i).Float())
	}
	for _, t := range times {
		if t != 0 && !(t >= 1e-30 && t <= 1e9) {
			return fmt.Errorf("malformed record: got a time of %g s, want 0, or 1e-30 to 1e+09", t)
		}
	}
	return nil
}

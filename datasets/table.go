package datasets

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"verity/audio"
	"verity/internal/show"
)

// A table is a file with a row on each line.
type table struct {
	split     splitter
	columns   string // empty if the first line names them
	sounds    string // where the sound of a row may be: see [table.sound]
	lang      string // of all rows; empty if not known
	allSounds bool   // each sound of the folder must have a row
	joined    []join
}

// A join is a file beside a table that has more about its rows. Its first column says about which; a row without that column
// is found by id.
type join struct {
	file    string
	split   splitter
	columns string
	must    bool // a row that it lacks is broken
}

// A splitter splits a line of a table into its fields; nil if the line is no row.
type splitter func(line string) ([]string, error)

// tabs and bars split lines in which nothing is quoted.
func tabs(line string) ([]string, error) { return strings.Split(line, "\t"), nil }
func bars(line string) ([]string, error) { return strings.Split(line, "|"), nil }

// commas and semicolons split a line of RFC 4180; a field must end on its line. Spreadsheets write semicolons where the comma
// is in numbers.
func commas(line string) ([]string, error)     { return quoted(line, ',') }
func semicolons(line string) ([]string, error) { return quoted(line, ';') }

func quoted(line string, comma rune) ([]string, error) {
	r := csv.NewReader(strings.NewReader(line))
	r.Comma = comma
	values, err := r.Read()
	if errors.Is(err, csv.ErrQuote) || errors.Is(err, csv.ErrBareQuote) {
		return nil, errors.New(`a quote is not closed, or stands amid a text; put the text in quotes, and write "" for a quote in it`)
	}
	return values, err
}

var spaces = regexp.MustCompile(`\s+`)

// words returns a splitter into n words, of which the last has the rest of the line.
func words(n int) splitter {
	return func(line string) ([]string, error) {
		return append(spaces.Split(strings.TrimSpace(line), n), make([]string, n)...)[:n], nil
	}
}

// Parts of the text of an STM file: a label before it, and alternatives, of which the first is taken.
var (
	label        = regexp.MustCompile(`^<[^>]*>\s*`)
	alternatives = regexp.MustCompile(`\{\s*([^/{}]*?)\s*/[^{}]*\}`)
)

// stm splits a line of NIST's segment time marks: sound, channel, speaker, start, end and text.
func stm(line string) ([]string, error) {
	f, _ := words(6)(line)
	f[5] = alternatives.ReplaceAllString(label.ReplaceAllString(f[5], ""), "$1")
	switch {
	case strings.HasPrefix(line, ";;"), strings.EqualFold(f[5], "ignore_time_segment_in_scoring"):
		return nil, nil
	case f[4] == "":
		return nil, fmt.Errorf("%s, want file channel speaker start end text", show.Some(len(strings.Fields(line)), "field"))
	case f[1] != "1" && f[1] != "A":
		return nil, fmt.Errorf("channel %s: want 1 or A, since the channels of a file are mixed; give each a file of its own", f[1])
	}
	return f, nil
}

// readTables reads a file with the first of the tables that fits its first line.
func (d *Dataset) readTables(ctx context.Context, tables []table, file string, rows sink) error {
	var t *table
	var columns []string
	var joined []map[string][]string
	var bad error // why the table cannot be read
	heard := map[string]bool{}
	source := func(name string) (Source, error) {
		heard[name] = true
		return t.sound(file, name)
	}
	err := eachLine(ctx, file, func(n int, line []byte, err error) bool {
		if t == nil {
			t = fitting(tables, file, string(line))
			if columns = strings.Fields(t.columns); t.columns == "" {
				if bad = err; bad == nil {
					columns, bad = d.header(t, string(line))
				}
				return bad == nil
			}
			if joined, bad = t.join(ctx, file); bad != nil {
				return false
			}
		}
		var values []string
		if err == nil {
			values, err = t.split(string(line))
		}
		if err != nil {
			return d.emit(file, n, nil, err, source, rows)
		}
		if values == nil {
			return true
		}
		f, err := t.row(columns, values, joined)
		return d.emit(file, n, f, err, source, rows)
	})
	switch {
	case bad != nil:
		return bad
	case err == nil && tables[0].allSounds:
		return reportLeft(filepath.Dir(file), heard, rows)
	}
	return err
}

// fitting returns the first table that has as many columns as the line, with a sound where it should be, or whose names of
// columns the line can be; else the last.
func fitting(tables []table, file, line string) *table {
	last := len(tables) - 1
	for i := range tables[:last] {
		t := &tables[i]
		columns := strings.Fields(t.columns)
		switch values, err := t.split(line); {
		case err != nil:
		case len(columns) == 0 && len(values) > 1:
			return t
		case len(columns) > 0 && len(values) == len(columns):
			name := values[slices.Index(columns, "path")]
			if _, err := t.sound(file, name); err == nil || audio.HasEnding(name) {
				return t
			}
		}
	}
	return &tables[last]
}

// maxColumns is the most columns of a table.
const maxColumns = 2000

// header returns the names of the columns that the first line of a table states.
func (d *Dataset) header(t *table, line string) ([]string, error) {
	columns, err := t.split(line)
	f := make(fields)
	for _, c := range columns {
		f[c] = c
	}
	switch {
	case err != nil:
	case len(columns) > maxColumns:
		err = fmt.Errorf("%d columns, want at most %d; keep those of sound and text", len(columns), maxColumns)
	case len(f) < len(columns):
		err = errors.New("a column is named twice")
	}
	if err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	err = cmp.Or(f.checkColumns("sound", d.options.Audio, audioNames), f.checkColumns("text", d.options.Text, textNames))
	if e, ok := err.(*ColumnsError); ok {
		e.Has = columns // in their order
		if slices.ContainsFunc(columns, audio.HasEnding) {
			err = kindError(fmt.Sprintf("its first line names no columns: want a line such as audio,text before %.100q", line))
		}
	}
	return columns, err
}

// join reads the files that a table is joined with: of each, the rows without their first column, by that.
func (t *table) join(ctx context.Context, file string) (joined []map[string][]string, err error) {
	for _, j := range t.joined {
		rows := map[string][]string{}
		e := eachLine(ctx, filepath.Join(filepath.Dir(file), j.file), func(n int, line []byte, broken error) bool {
			values, _ := j.split(string(line))
			rows[values[0]] = values[1:]
			return true
		})
		if e != nil && (j.must || !errors.Is(e, fs.ErrNotExist)) {
			err = cmp.Or(err, fmt.Errorf("%s: %w", j.file, e))
		}
		joined = append(joined, rows)
	}
	return joined, err
}

// row returns the fields of a row, with those of the files that the table is joined with.
func (t *table) row(columns, values []string, joined []map[string][]string) (fields, error) {
	if len(values) != len(columns) {
		hint := ""
		switch {
		case len(values) > len(columns) && t.columns == "":
			hint = "; in a CSV file, put a text that has the separator in it in quotes"
		case len(values) == 1 && strings.ContainsAny(values[0], ",;|\t"):
			hint = "; a TSV file separates its fields by tabs, a CSV file by commas or semicolons"
		}
		return nil, fmt.Errorf("%s, want %d%s", show.Some(len(values), "field"), len(columns), hint)
	}
	f := fields{}
	if t.lang != "" {
		f["lang"] = t.lang
	}
	for i, c := range columns {
		f[c] = values[i]
	}
	for i, j := range t.joined {
		names := strings.Fields(j.columns)
		if f[names[0]] == nil {
			f[names[0]] = f["id"]
		}
		more := joined[i][f[names[0]].(string)]
		switch {
		case more == nil && j.must:
			return f, fmt.Errorf("%s has no line of %s", j.file, f[names[0]])
		case more != nil && strings.HasSuffix(more[len(more)-1], "|"):
			return f, fmt.Errorf("%s has a command for %s, and none is run; for sound files: "+
				`while read -r id c; do sh -c "${c%%|}" </dev/null >$id.wav; done <%s`, j.file, f[names[0]], j.file)
		}
		for k, v := range more {
			f[names[1+k]] = v
		}
	}
	if t.columns == "" || f["start"] == nil {
		return f, nil
	}
	start, err := f.seconds("start")
	end, e := f.seconds("end")
	if err = cmp.Or(err, e); err == nil && end <= start {
		err = fmt.Errorf("end %v is not after start %v", end, start)
	}
	f["offset"], f["duration"] = f["start"], fmt.Sprint(math.Round((end-start)*1e6)/1e6)
	delete(f, "start")
	delete(f, "end")
	return f, err
}

// sound returns the sound of a name in a file at the first of the table's places that has it. In a place, NAME stands for
// the name, STEM for that of the file without ending, SPEAKER and BOOK for the first parts of a name like 12_345_6. A place
// with an ending is one of names without, and the ending may be another.
func (t *table) sound(file, name string) (found Source, err error) {
	parts := append(strings.Split(name, "_"), "")
	stem := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	for _, place := range strings.Fields(t.sounds) {
		at := strings.NewReplacer("NAME", name, "STEM", stem, "SPEAKER", parts[0], "BOOK", parts[1]).Replace(place)
		tries := []string{at}
		if ending := filepath.Ext(place); ending != "" {
			for _, e := range audio.Endings() {
				tries = append(tries, strings.TrimSuffix(at, ending)+"."+e)
			}
		}
		for _, at := range tries {
			s, e := besideManifest(file, at)
			if e == nil {
				return s, nil
			}
			err = cmp.Or(err, e)
		}
	}
	return found, err
}

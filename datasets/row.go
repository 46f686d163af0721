package datasets

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"verity/internal/input"
)

// The usual names of fields and columns. The first one that a row has is used.
var (
	audioNames = []string{"audio_filepath", "audio", "audio_path", "path", "file_name", "file", "wav"}
	textNames  = []string{"text", "sentence", "transcription", "transcript", "raw_text", "normalized_text"}
	idNames    = []string{"id", "utt_id", "utterance_id", "segment_id"}
	langNames  = []string{"lang", "language", "locale", "lang_id"}
)

// names returns the option if it is set, else the usual names.
func names(option string, usual []string) []string {
	if option != "" {
		return []string{option}
	}
	return usual
}

// fields are the fields of one row, by name: strings, json.Number or other JSON.
type fields map[string]any

// text returns the first of names that is present and not null, which is a string, or a number
// as it is spelled. A blank string counts only if no other has text.
func (f fields) text(names ...string) (s string, ok bool, err error) {
	for _, name := range names {
		switch v := f[name].(type) {
		case nil:
		case string:
			if strings.TrimSpace(v) != "" {
				return v, true, nil
			}
			if !ok {
				s, ok = v, true
			}
		case json.Number:
			return v.String(), true, nil
		default:
			return "", false, fmt.Errorf("field %s: want a string", name)
		}
	}
	return s, ok, nil
}

func (f fields) seconds(name string) (float64, error) {
	s, ok, err := f.text(name)
	if err != nil || !ok || s == "" {
		return 0, err
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || !(v >= 0) || math.IsInf(v, 1) {
		return 0, fmt.Errorf("field %s: %q is not a time in seconds", name, s)
	}
	return v, nil
}

// checkColumns returns a ColumnsError if a row has neither the field of an option nor one of the usual names; else nil.
func (f fields) checkColumns(kind, option string, usual []string) error {
	if slices.ContainsFunc(names(option, usual), func(name string) bool { _, ok := f[name]; return ok }) {
		return nil
	}
	return &ColumnsError{cmp.Or(option, kind), slices.Sorted(maps.Keys(f))}
}

// A ColumnsError reports a row, or a table, without a field of sounds or of texts.
type ColumnsError struct {
	Want string   // sound or text, or the field that Options names
	Has  []string // names of the fields
}

func (e *ColumnsError) Error() string {
	has := e.Has
	if len(has) > 12 {
		has = append(has[:12:12], "…")
	}
	return fmt.Sprintf("has no field of %s: the fields are %s", e.Want, cmp.Or(strings.Join(has, ", "), "none"))
}

var (
	errNoAudio = errors.New("names no audio file")
	errNoText  = errors.New("has no text")
)

// utterance converts a row of a manifest to an utterance, or says what is wrong with
// it; the ID may be set even then. source finds the sound of a name.
func (d *Dataset) utterance(f fields, source func(name string) (Source, error)) (u Utterance, err error) {
	o := d.options
	name, ok, err := f.text(names(o.Audio, audioNames)...)
	switch {
	case err != nil:
		return u, err
	case !ok || name == "":
		return u, cmp.Or(f.checkColumns("sound", o.Audio, audioNames), errNoAudio)
	case strings.ContainsRune(name, 0):
		return u, errors.New("audio name holds a zero byte")
	}
	if u.ID, _, err = f.text(idNames...); err != nil {
		return u, err
	}
	if u.Lang, _, err = f.text(langNames...); err != nil {
		return u, err
	}
	if err := u.readPart(f); err != nil {
		return u, err
	}
	if u.ID == "" {
		u.ID = name
		if u.Part { // other parts of the same audio are likely to follow
			u.ID = fmt.Sprintf("%s@%v+%v", name, u.Offset, u.Duration)
		}
	}
	if u.Text, ok, err = f.text(names(o.Text, textNames)...); err != nil {
		return u, err
	}
	u.Fields = ShortTexts(f, slices.Concat(names(o.Audio, audioNames), names(o.Text, textNames), idNames)...)
	u.Turns, u.TurnsErr = f.turns("segments")
	anyTurns := len(u.Turns) > 0 // perhaps all outside the part
	u.Turns = slices.DeleteFunc(u.Turns, u.outside)
	switch {
	case ok:
	case u.TurnsErr != nil:
		return u, u.TurnsErr
	case !anyTurns:
		return u, cmp.Or(f.checkColumns("text", o.Text, textNames), errNoText)
	default:
		u.Text = textOf(u.Turns)
	}
	u.Audio, err = source(name)
	return u, err
}

// longestShort is the most bytes of a short text.
const longestShort = 64

// ShortTexts returns the short texts of a row, besides fields of some names: by them its result may be grouped.
func ShortTexts(row map[string]any, besides ...string) map[string]string {
	short := map[string]string{}
	for name, v := range row {
		if s, ok := v.(string); ok && s != "" && len(s) <= longestShort && !slices.Contains(besides, name) {
			short[name] = s
		}
	}
	return short
}

// turns reads a list of objects with speaker, text or words, and times: start and end, or start_time and
// end_time as in SegLST. Without the field, or without speakers in it, there are none.
func (f fields) turns(name string) (turns []Turn, err error) {
	list, _ := f[name].([]any)
	for i, v := range list {
		object, _ := v.(map[string]any)
		row, t, ok := fields(object), Turn{}, false
		if t.Speaker, ok, err = row.text("speaker"); err == nil && (!ok || t.Speaker == "") {
			return nil, nil
		}
		if err == nil {
			t.Text, _, err = row.text("text", "words")
		}
		for _, time := range []struct {
			names [2]string
			to    *float64
		}{{[2]string{"start", "start_time"}, &t.Start}, {[2]string{"end", "end_time"}, &t.End}} {
			for _, one := range time.names {
				if err == nil && row[one] != nil {
					*time.to, err = row.seconds(one)
				}
			}
		}
		if err == nil && t.End < t.Start {
			err = fmt.Errorf("end %v is before start %v", t.End, t.Start)
		}
		if err != nil {
			return nil, fmt.Errorf("field %s: turn %d: %w", name, i+1, err)
		}
		turns = append(turns, t)
	}
	return turns, nil
}

// textOf returns the texts of turns, in their order.
func textOf(turns []Turn) string {
	texts := make([]string, len(turns))
	for i, t := range turns {
		texts[i] = strings.TrimSpace(t.Text)
	}
	return strings.Join(texts, " ")
}

// readPart reads which part of the audio the row selects: all of it without an offset, whatever
// the duration is.
func (u *Utterance) readPart(f fields) (err error) {
	stated := f["offset"] != nil && f["offset"] != ""
	if u.Duration, err = f.seconds("duration"); err != nil {
		return err
	}
	if u.Offset, err = f.seconds("offset"); err != nil {
		return err
	}
	if u.Offset > 0 && u.Duration == 0 {
		return errors.New("field offset without duration")
	}
	u.Part = stated && u.Duration > 0
	return nil
}

// outside reports whether a turn has times and these are before or after the part of the audio.
func (u *Utterance) outside(t Turn) bool {
	before := t.Start < u.Offset && t.End <= u.Offset
	return u.Part && t.End > 0 && (before || t.Start >= u.Offset+u.Duration)
}

// selected reports whether the row is of the split that the options name.
func (d *Dataset) selected(f fields) bool {
	if d.options.Split == "" {
		return true
	}
	split, _, _ := f.text("split")
	wanted := split == d.options.Split
	if d.splits != nil && (wanted || len(d.splits) < maxSplits) {
		d.splits[split] = true
	}
	return wanted
}

// A Source is where an utterance's sound is: a file, or bytes in memory.
type Source struct {
	Path  string // the file; for bytes, a name for messages, or empty
	Place Place  // for bytes from a Parquet file
	Data  []byte `json:"-"` // the bytes; nil for a file
}

// A Place is the position of a row in a Parquet file. The zero value means none.
type Place struct {
	File  string
	Group int // row group, from 0
	Row   int // in the file, from 1
}

// existing returns the source for the regular file at path, or an error.
func existing(path string) (Source, error) {
	path = input.Lookup(path)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Source{}, fmt.Errorf("sound file %s: %w", path, input.Cause(err))
	case err != nil:
		return Source{}, fmt.Errorf("sound file: %w", err)
	case !info.Mode().IsRegular():
		return Source{}, fmt.Errorf("sound file %s: %w", path, input.ErrNotRegular)
	}
	return Source{Path: path}, nil
}

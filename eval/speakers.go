package eval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"verity/datasets"
	"verity/diarize"
	"verity/eval/report"
	"verity/internal/input"
	"verity/transcript"
)

// The most that the dataset may say of one recording. The time to score it grows with the cube of the number of
// speakers, and with the number of turns times that of speakers.
const (
	maxSpeakers = 1000
	maxTurns    = 20000
)

// referTo puts into a record who speaks when and what, as the dataset has it: the turns of the row, or an RTTM file
// beside the audio with the same name. Without either, turns are nil. After an error the record is unchanged.
func referTo(ctx context.Context, r *report.Record, u datasets.Utterance) error {
	if u.TurnsErr != nil {
		return u.TurnsErr
	}
	var speech []report.Speech
	var turns []transcript.Turn
	timed := len(u.Turns) > 0
	for _, t := range u.Turns {
		speech = append(speech, report.Speech{Speaker: t.Speaker, Text: t.Text})
		turns = append(turns, transcript.Turn{Start: t.Start, End: t.End, Speaker: t.Speaker})
		timed = timed && t.End > t.Start
	}
	if err := checkSize("field segments", turns); err != nil {
		return err
	}
	if !timed {
		turns = nil
		if u.Audio.Data == nil { // else the path only names the sound
			var err error
			if turns, err = readTurns(ctx, u.Audio.Path); err != nil {
				return err
			}
		}
	}
	if u.Part && turns != nil {
		turns = within(turns, u.Offset, u.Offset+u.Duration)
	}
	if err := checkSize("RTTM", turns); err != nil {
		return err
	}
	slices.SortStableFunc(turns, func(a, b transcript.Turn) int { return cmp.Compare(a.Start, b.Start) })
	r.Speech, r.ReferenceTurns = speech, turns
	return nil
}

// checkSize checks that turns are few enough to be scored.
func checkSize(source string, turns []transcript.Turn) error {
	if len(turns) > maxTurns {
		return fmt.Errorf("%s: got %d turns, want at most %d in one recording", source, len(turns), maxTurns)
	}
	speakers := map[string]bool{}
	for _, t := range turns {
		speakers[t.Speaker] = true
	}
	if len(speakers) > maxSpeakers {
		return fmt.Errorf("%s: got %d speakers, want at most %d in one recording", source, len(speakers), maxSpeakers)
	}
	return nil
}

// readTurns reads the RTTM file beside an audio file, if there is one: the turns of the file of that name, or of the
// only file in it.
func readTurns(ctx context.Context, sound string) (turns []transcript.Turn, err error) {
	stem := strings.TrimSuffix(sound, filepath.Ext(sound))
	f, err := input.Open(ctx, stem+".rttm")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s.rttm: %w", stem, input.Cause(err))
	}
	defer f.Close()
	files, names, err := diarize.ReadRTTM(f)
	if err != nil {
		return nil, fmt.Errorf("%s.rttm: %w", stem, err)
	}
	found, ok := files[filepath.Base(stem)]
	if !ok && len(files) == 1 {
		for _, found = range files {
			ok = true
		}
	}
	if !ok && len(files) > 0 {
		return nil, fmt.Errorf("%s.rttm: got turns of %d files, want those of %s", stem, len(files), filepath.Base(stem))
	}
	turns = []transcript.Turn{} // an empty file says that nobody speaks
	for _, t := range found {
		turns = append(turns, transcript.Turn{Start: t.Start, End: t.End, Speaker: names[t.Speaker-1]})
	}
	return turns, nil
}

// within returns the parts of turns between two times, counted from the first.
func within(turns []transcript.Turn, from, to float64) []transcript.Turn {
	parts := []transcript.Turn{}
	for _, t := range turns {
		if t.Start, t.End = max(t.Start, from)-from, min(t.End, to)-from; t.End > t.Start {
			parts = append(parts, t)
		}
	}
	return parts
}

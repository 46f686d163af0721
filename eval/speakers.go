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

// referTo puts into a record who speaks when and what, as the dataset has it: the turns of the row, or an RTTM file
// beside the audio with the same name. Neither may be there.
func referTo(ctx context.Context, r *report.Record, u datasets.Utterance) error {
	timed := len(u.Turns) > 0
	for _, t := range u.Turns {
		r.Speech = append(r.Speech, report.Speech{Speaker: t.Speaker, Text: t.Text})
		timed = timed && t.End > t.Start
	}
	if timed {
		for _, t := range u.Turns {
			r.ReferenceTurns = append(r.ReferenceTurns, transcript.Turn{Start: t.Start, End: t.End, Speaker: t.Speaker})
		}
	} else if err := readTurns(ctx, r, u.Audio.Path); err != nil {
		return err
	}
	if u.Part {
		r.ReferenceTurns = within(r.ReferenceTurns, u.Offset, u.Offset+u.Duration)
	}
	slices.SortStableFunc(r.ReferenceTurns, func(a, b transcript.Turn) int { return cmp.Compare(a.Start, b.Start) })
	return nil
}

// readTurns reads the RTTM file beside an audio file, if there is one: the turns of the file of that name, or of the
// only file in it.
func readTurns(ctx context.Context, r *report.Record, sound string) error {
	stem := strings.TrimSuffix(sound, filepath.Ext(sound))
	f, err := input.Open(ctx, stem+".rttm")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s.rttm: %w", stem, input.Cause(err))
	}
	defer f.Close()
	files, names, err := diarize.ReadRTTM(f)
	if err != nil {
		return fmt.Errorf("%s.rttm: %w", stem, err)
	}
	turns, ok := files[filepath.Base(stem)]
	if !ok && len(files) == 1 {
		for _, turns = range files {
			ok = true
		}
	}
	if !ok {
		return fmt.Errorf("%s.rttm: got turns of %d files, want those of %s", stem, len(files), filepath.Base(stem))
	}
	for _, t := range turns {
		r.ReferenceTurns = append(r.ReferenceTurns, transcript.Turn{Start: t.Start, End: t.End, Speaker: names[t.Speaker-1]})
	}
	return nil
}

// within returns the parts of turns between two times, counted from the first.
func within(turns []transcript.Turn, from, to float64) (parts []transcript.Turn) {
	for _, t := range turns {
		if t.Start, t.End = max(t.Start, from)-from, min(t.End, to)-from; t.End > t.Start {
			parts = append(parts, t)
		}
	}
	return parts
}

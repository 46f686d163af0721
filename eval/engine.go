package eval

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"math"
	"strings"

	"verity/audio"
	"verity/datasets"
	"verity/eval/report"
	"verity/transcript"
)

// An Engine transcribes the clip of an utterance. It may use the rest of the utterance, such as
// its text, to be faster, but not to change the result. With more than one worker it must be safe
// for concurrent use.
type Engine func(ctx context.Context, clip *audio.Clip, u datasets.Utterance) (*transcript.Transcript, error)

// A Dataset yields utterances in a stable order, with unique identifiers. A
// *datasets.RowError is a broken row; any other error is the last.
type Dataset = iter.Seq2[datasets.Utterance, error]

// A Row is a row of a dataset: an utterance, or what is wrong with it. Either has a
// unique identifier.
type Row struct {
	datasets.Utterance
	Number int                // of the row in the dataset, from 1
	Broken *datasets.RowError // nil for an utterance
}

// Rows yields the rows of a dataset, up to limit utterances; 0 means all. An error is
// the last.
func Rows(data Dataset, limit int) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		seen, utterances, n := map[string]int{}, 0, 0
		for u, err := range data {
			n++
			it := Row{Utterance: u, Number: n}
			switch {
			case errors.As(err, &it.Broken):
				if it.ID = it.Broken.File; it.Broken.Line > 0 {
					it.ID = fmt.Sprintf("%s:%d", it.Broken.File, it.Broken.Line)
				}
			case err != nil:
				yield(Row{}, err)
				return
			case limit > 0 && utterances == limit:
				return
			default:
				utterances++
			}
			if seen[it.ID]++; seen[it.ID] > 1 {
				it.ID = fmt.Sprintf("%s#%d", it.ID, seen[it.ID])
			}
			if !yield(it, nil) {
				return
			}
		}
	}
}

// RunRow runs one row and returns its record. It uses Run, Unscored and Sound of o. Errors
// of the row are in the record; the error returned is ctx's cause.
func RunRow(ctx context.Context, e Engine, it Row, o Options) (*report.Record, error) {
	r := &report.Record{
		ID: it.ID, Row: it.Number, Audio: it.Audio.Path, Offset: it.Offset, Reference: it.Text,
		NoReference: o.Unscored || it.NoText, Duration: it.Duration, Fields: it.Fields,
		Segments: []transcript.Segment{}, Run: o.Run, Resources: o.Resources,
	}
	if it.Broken != nil {
		r.NoReference, r.Error = true, it.Broken.Err.Error()
		return r, nil
	}
	if o.Speakers {
		if err := referTo(ctx, r, it.Utterance); err != nil && ctx.Err() == nil {
			r.NoReference, r.Error = true, err.Error()
			return r, nil
		}
	}
	t, err := transcribe(ctx, e, it.Utterance, o.Sound)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		r.Error = err.Error()
		return r, nil
	}
	fill(r, t)
	if _, err := r.Line(); err != nil {
		// The record has NaN or infinity, which JSON cannot represent.
		return &report.Record{
			ID: r.ID, Row: r.Row, Audio: r.Audio, Offset: r.Offset, Reference: r.Reference, NoReference: o.Unscored,
			Segments: []transcript.Segment{}, Run: o.Run, Error: "unusable result: " + err.Error(),
		}, nil
	}
	return r, nil
}

// transcribe opens the sound of u and runs the engine.
func transcribe(ctx context.Context, e Engine, u datasets.Utterance, in audio.Input) (*transcript.Transcript, error) {
	clip, err := OpenSound(ctx, u, in)
	if err != nil {
		return nil, err
	}
	defer clip.Close()
	return e(ctx, clip, u)
}

// OpenSound opens the sound of u, or the part of it that u selects.
// It logs which of several audio tracks that is.
func OpenSound(ctx context.Context, u datasets.Utterance, in audio.Input) (*audio.Clip, error) {
	clip, err := openAll(ctx, u.Audio, in)
	if err != nil {
		return nil, err
	}
	if choice := clip.TrackChoice(); choice != "" {
		slog.Warn(choice, "audio", clip.Name())
	}
	if !u.Part {
		return clip, nil
	}
	defer clip.Close()
	return clip.Cut(u.ID, count(u.Offset), count(u.Duration))
}

// count returns the number of samples in a duration. For an absurdly large duration it
// returns more samples than any sound has, but few enough for an int.
func count(seconds float64) int { return int(min(seconds*audio.SampleRate, math.MaxInt/4)) }

func openAll(ctx context.Context, s datasets.Source, in audio.Input) (*audio.Clip, error) {
	if s.Data == nil {
		return in.Open(ctx, s.Path)
	}
	return in.OpenReader(ctx, s.Path, bytes.NewReader(s.Data))
}

// fill copies a transcript into a record.
func fill(r *report.Record, t *transcript.Transcript) {
	r.Hypothesis, r.Language, r.Duration = strings.TrimSpace(t.Text), t.Language, t.Duration
	r.Truncated, r.Damaged, r.Turns = t.Truncated, t.Damaged, t.Turns
	for _, s := range t.Segments {
		s.Origins = nil // Runs have them
		r.Segments = append(r.Segments, s)
	}
	if t.ChoiceHashes != (transcript.ChoiceHashes{}) {
		r.ChoiceHashes = &t.ChoiceHashes
	}
	r.Seconds, r.Work, r.Drafting = t.Stats.Seconds, t.Stats.Work, t.Stats.Drafts
	r.Passes, r.DraftPasses = t.Stats.Passes, t.Stats.DraftPasses
}

package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"verity/transcript"
)

// A tallied output says of every transcript what the work was, and in the end of
// all together.
type tallied struct {
	output
	w     io.Writer
	began time.Time
	files int
	total transcript.Stats
	audio float64 // s
}

func (t *tallied) finish(name string, tr *transcript.Transcript) error {
	if err := t.output.finish(name, tr); err != nil {
		return err
	}
	t.files++
	t.total.Add(tr.Stats)
	t.audio += tr.Duration
	writeStats(t.w, name, tr.Duration, tr.Stats)
	return nil
}

// sum says it of several files. Files that were read at the same time shared
// their time: that of all is the clock's.
func (t *tallied) sum() {
	if t.files > 1 {
		t.total.Seconds.Total = time.Since(t.began).Seconds()
		writeStats(t.w, fmt.Sprintf("%d files", t.files), t.audio, t.total)
	}
}

// writeStats writes a table of what the work on some seconds of audio was.
func writeStats(w io.Writer, name string, audio float64, s transcript.Stats) {
	d, took := s.Drafts, s.Seconds
	fmt.Fprintf(w, "%s: %.1f s of audio in %.2f s (RTFx %.1f)\n", name, audio, took.Total, over(audio, took.Total))
	for _, row := range [][2]string{
		{"windows", fmt.Sprintf("%d, %d without speech; decoded %d times", s.Windows, s.Silent, s.Attempts)},
		{"tokens", fmt.Sprintf("%d in %d rounds, %.2f a round, %.0f a second of decoding", s.Tokens, d.Rounds, s.TokensPerRound(), over(float64(s.Tokens), took.Decode))},
		{"drafted", fmt.Sprintf("%d, %d accepted (%.1f %%)", d.Drafted, d.Accepted, 100*d.Rate())},
		{"accepted", histogram(d)},
		{"seconds", fmt.Sprintf("mel %.3f, encode %.3f, cross K/V %.3f, decode %.3f: draft %.3f, verify %.3f",
			took.Mel, took.Encode, took.CrossKV, took.Decode, took.Draft, took.Verify)},
	} {
		fmt.Fprintf(w, "  %-9s %s\n", row[0], row[1])
	}
}

// histogram says how many rounds accepted how many tokens.
func histogram(d transcript.Drafts) string {
	if d.Drafted == 0 {
		return "nothing was drafted"
	}
	var parts []string
	for accepted, rounds := range d.Histogram {
		if rounds > 0 {
			parts = append(parts, fmt.Sprintf("%d: %d", accepted, rounds))
		}
	}
	return "tokens: rounds " + strings.Join(parts, ", ")
}

// over divides; by nothing it is nothing.
func over(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

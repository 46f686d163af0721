package text

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"verity/internal/kernel"
	"verity/internal/show"
	"verity/parallel"
	"verity/transcript"
)

// totals are the statistics of the files that are done.
type totals struct {
	began time.Time
	files int
	audio float64 // s
	stats transcript.Stats
}

// measureBandwidth returns how many bytes of memory can be read in a second, and warns if the machine is busy.
func measureBandwidth(pool *parallel.Pool, log *slog.Logger) float64 {
	const half = 50 * time.Millisecond
	a, b := kernel.ReadBandwidth(pool, half), kernel.ReadBandwidth(pool, half)
	if busy := show.Busy(max(a, b) / min(a, b)); busy != "" {
		log.Warn(busy)
	}
	return max(a, b)
}

// add writes the statistics of a transcript, and adds them to the sum.
func (t *totals) add(w io.Writer, name string, tr *transcript.Transcript) {
	t.files++
	t.stats.Add(tr.Stats)
	t.audio += tr.Duration
	writeStats(w, name, tr.Duration, tr.Stats)
}

// sum writes the statistics of several files together. Files in progress at the same time share it, so the total
// time is that of the clock.
func (t *totals) sum(w io.Writer) {
	if t.files > 1 {
		t.stats.Seconds.Total = time.Since(t.began).Seconds()
		writeStats(w, fmt.Sprintf("%d files", t.files), t.audio, t.stats)
	}
}

// writeStats writes a table of the statistics of some seconds of audio.
func writeStats(w io.Writer, name string, audio float64, s transcript.Stats) {
	d, took, broken := s.Drafts, s.Seconds, s.Broken
	if broken != "" {
		broken += " (--assistant none)"
	}
	fmt.Fprintf(w, "%s: %.1f s of audio in %.2f s (RTFx %.1f)\n",
		show.Name(name), audio, took.Total, transcript.Ratio(audio, took.Total))
	for _, row := range [][2]string{
		{"windows", fmt.Sprintf("%d, %d without speech; %s", s.Windows, s.Silent, show.Some(s.Attempts, "decoding"))},
		{"tokens", fmt.Sprintf("%d in %s, %.2f a round, %.0f a second of decoding", s.Tokens,
			show.Some(d.Rounds, "round"), transcript.Ratio(float64(s.Tokens), float64(d.Rounds)), s.TokensPerSecond())},
		{"drafted", drafted(d)},
		{"accepted", histogram(d)},
		{"seconds", fmt.Sprintf("reading and mel %.3f, encode %.3f, cross K/V %.3f, decode %.3f: draft %.3f, verify %.3f, "+
			"of which rules %.3f", took.Mel, took.Encode, took.CrossKV, took.Decode, took.Draft, took.Verify, took.Rules)},
		{"memory", reading(s)},
		{"broken", broken},
	} {
		if row[1] != "" {
			fmt.Fprintf(w, "  %-9s %s\n", row[0], row[1])
		}
	}
}

// drafted returns the counts of drafted, accepted and judged tokens, and the mean overlap of the
// distributions; nothing without a draft.
func drafted(d transcript.Drafts) string {
	if d.Drafted == 0 {
		return ""
	}
	text := fmt.Sprintf("%d, %d accepted (%.1f %%)", d.Drafted, d.Accepted, 100*d.Rate())
	if judged := d.Accepted + d.Refused; judged > 0 {
		text += fmt.Sprintf("; α = %.3f of %d judged", d.Agreement(), judged)
	}
	if d.Compared > 0 {
		text += fmt.Sprintf(", mean of Σ min(p, q) %.3f", d.MeanOverlap())
	}
	return text
}

// histogram returns the number of rounds for each number of accepted tokens; nothing without a
// draft.
func histogram(d transcript.Drafts) string {
	var parts []string
	for accepted, rounds := range d.Histogram {
		if rounds > 0 && d.Drafted > 0 {
			parts = append(parts, fmt.Sprintf("%d in %s", accepted, show.Some(rounds, "round")))
		}
	}
	return strings.Join(parts, ", ")
}

// reading returns how many bytes the passes read, and how fast.
func reading(s transcript.Stats) string {
	rate := func(t transcript.Traffic) string {
		return fmt.Sprintf("%s at %s a second", show.Bytes(t.Bytes), show.Bytes(int64(t.Rate())))
	}
	text := "passes read " + rate(s.Passes)
	switch mbu := s.MBU(); {
	case mbu > 1:
		text += ", from the caches of the processor: faster than memory"
	case mbu > 0:
		text += fmt.Sprintf(", %.0f %% of memory's bandwidth (MBU)", 100*mbu)
	}
	if s.DraftPasses.Bytes > 0 {
		text += "; drafts " + rate(s.DraftPasses)
	}
	return text
}

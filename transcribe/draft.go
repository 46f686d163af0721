package transcribe

import (
	"context"
	"time"

	"verity/assistant"
	"verity/audio"
	"verity/transcript"
)

// WithDraft returns a Transcriber like t that drafts from what somebody wrote of the clip:
// an earlier transcript of any program, subtitles, or the words that were read. Lines
// with times say what a window hears; without times the text runs on from window to
// window. The transcript does not depend on it. It costs little: every clip has its own.
func (t *Transcriber) WithDraft(lines []transcript.Cue) *Transcriber {
	n := t.withDraft(lines)
	n.warnsUseless = true
	if n.draftText != nil && t.opt.BeamSize > 1 {
		t.opt.Log.Warn("beam search does not use drafts", "beam_size", t.opt.BeamSize)
	}
	return n
}

// WithOwnDraft is WithDraft from DraftFrom of a transcript of t, of which nothing need be said.
func (t *Transcriber) WithOwnDraft(lines []transcript.Cue) *Transcriber {
	n := t.withDraft(lines)
	n.warnsUseless, n.draftTranscriber = false, nil
	return n
}

// withText returns a Transcriber like t with another text to draft from.
func (t *Transcriber) withDraft(lines []transcript.Cue) *Transcriber {
	n := *t
	n.draftCues, n.draftText = lines, assistant.NewReferenceText(t.model.Tokenizer, lines)
	return &n
}

// setWriter makes the Transcriber of the model that writes first. It need not be right, so
// it gets one temperature and one sequence.
func (t *Transcriber) setDraftTranscriber() {
	m := t.model.draftModel
	if m == nil {
		return
	}
	o := Options{Language: t.opt.Language, Task: t.opt.Task, WithoutTimestamps: t.opt.WithoutTimestamps,
		Temperatures: []float64{0}, Spans: t.opt.Spans, SkipSpeechCheck: true}
	var err error
	if t.draftTranscriber, err = New(m, o); err != nil {
		t.draftTranscriber = nil
		t.opt.Log.Warn("decoding goes on without the assistant; the text is the same", "error", err)
	}
}

// writtenFirst transcribes a clip with the writer, and then drafts from that.
func (t *Transcriber) transcribeDraftFirst(ctx context.Context, clip *audio.Clip, w Callbacks) (*transcript.Transcript, error) {
	began := time.Now()
	first, err := t.draftTranscriber.Transcribe(ctx, clip, Callbacks{})
	if err == nil {
		err = clip.Rewind()
	}
	if err != nil {
		return nil, err
	}
	took := time.Since(began).Seconds()
	tr, err := t.WithOwnDraft(t.draftTranscriber.DraftFrom(first)).Transcribe(ctx, clip, w)
	if tr != nil {
		s := &tr.Stats
		s.DraftPasses.Add(first.Stats.Passes)
		s.Seconds.Draft, s.Seconds.Decode, s.Seconds.Total = s.Seconds.Draft+took, s.Seconds.Decode+took, s.Seconds.Total+took
	}
	return tr, err
}

// Lines returns the segments of a transcript as text to draft from. The times are those of
// the timestamps, which words may have moved.
func (t *Transcriber) DraftFrom(tr *transcript.Transcript) (lines []transcript.Cue) {
	tok := t.model.Tokenizer
	for _, s := range tr.Segments {
		l := transcript.Cue{Start: s.Start, End: s.End, Text: s.Text}
		if n := len(s.Tokens); n > 1 && tok.IsTimestamp(s.Tokens[0]) && tok.IsTimestamp(s.Tokens[n-1]) {
			l.Start, l.End = seconds(s.Seek)+tok.Seconds(s.Tokens[0]), seconds(s.Seek)+tok.Seconds(s.Tokens[n-1])
		}
		lines = append(lines, l)
	}
	return lines
}

// packed returns the lines with times in speech that is packed without the rest.
func packTimes(lines []transcript.Cue, parts []audio.Part) []transcript.Cue {
	at := func(seconds float64) float64 {
		before := int64(0)
		for _, p := range parts {
			before += max(0, min(int64(seconds*audio.SampleRate), p.End)-p.Start)
		}
		return float64(before) / audio.SampleRate
	}
	list := make([]transcript.Cue, len(lines))
	for i, l := range lines {
		if list[i] = l; l.HasTimes() {
			list[i].Start, list[i].End = at(l.Start), max(at(l.End), at(l.Start)+0.01)
		}
	}
	return list
}

// help says what drafts in the window at the cursor.
func (r *transcription) draftSources() draftSources {
	const most = 100 // tokens: more than a follower looks back
	before := r.history.text()
	return draftSources{withoutAssistant: r.failures.Load() >= maxFailures, text: r.follower, window: assistant.TextWindow{
		Start: seconds(r.cursor.seek), End: seconds(r.cursor.seek + r.frames), Clip: r.src.Seconds(),
		Before:     r.t.model.Tokenizer.Decode(before[max(0, len(before)-most):]),
		Timestamps: !r.t.opt.WithoutTimestamps,
	}}
}

// follower returns what follows the text of the clip; nil without one.
func (t *Transcriber) follower() *assistant.TextProposer {
	if t.draftText == nil {
		return nil
	}
	return t.draftText.NewProposer()
}

// leastTokens is of how many tokens on it is said that a text was of no use.
const minTokensToWarn = 20

// warnUseless warns once if next to nothing of the text was said.
func (r *transcription) warnUseless() {
	const share = 50                                    // one of so many tokens, at least
	ignored := r.t.model.overlap || r.t.model.rejection // where probabilities are compared, see proposer
	if n := r.stats.Tokens; r.t.draftText != nil && !ignored && r.t.warnsUseless && r.t.opt.BeamSize < 2 && n >= minTokensToWarn && r.stats.Drafts.FromText*share < n {
		r.log.Warn("the text to draft from was of no use: next to nothing of it is said", "tokens", n,
			"drafted_from_it", r.stats.Drafts.FromText)
	}
}

package transcribe

import (
	"context"
	"fmt"
	"time"

	"verity/assistant"
	"verity/audio"
	"verity/model"
	"verity/precision"
	"verity/transcript"
)

// WithDraft returns a Transcriber like t that drafts from a text of the clip: an earlier
// transcript by any program, subtitles, or the script that was read. Times say which part
// belongs to a window; without times the text continues from window to window. It speeds
// decoding up and never changes the transcript. It is cheap: every clip has its own.
func (t *Transcriber) WithDraft(lines []transcript.Cue) *Transcriber {
	n := t.withDraft(lines)
	n.warnsUseless = true
	if n.draftText != nil && t.opt.BeamSize > 1 {
		t.opt.Log.Warn("beam search does not use drafts", "beam_size", t.opt.BeamSize)
	}
	return n
}

// WithOwnDraft is WithDraft for the result of DraftFrom, without warnings.
func (t *Transcriber) WithOwnDraft(lines []transcript.Cue) *Transcriber {
	n := t.withDraft(lines)
	n.warnsUseless, n.draftTranscriber = false, nil
	return n
}

// withDraft returns a Transcriber like t with another text to draft from.
func (t *Transcriber) withDraft(lines []transcript.Cue) *Transcriber {
	n := *t
	n.draftCues, n.draftText = lines, assistant.NewReferenceText(t.model.Tokenizer, lines)
	return &n
}

// setDraftTranscriber makes the Transcriber of the draft model. Its text need not be right, so it
// decodes at one temperature and in one sequence.
func (t *Transcriber) setDraftTranscriber() {
	m := t.model.draftModel
	if m == nil {
		return
	}
	o := Options{Language: t.opt.Language, Task: t.opt.Task, WithoutTimestamps: t.opt.WithoutTimestamps,
		Temperatures: []float64{0}, Spans: t.opt.Spans, Terms: t.opt.Terms, Strategy: Upstream}
	var err error
	if t.draftTranscriber, err = New(m, o); err != nil {
		t.opt.Log.Warn("decoding continues without the assistant; the text is the same", "error", err)
	}
}

// mostDraftWork is the share of a model's work up to which transcribing with another model first can pay: drafts from
// the text of a smaller model save 13 to 19 % of the time from sound to text, measured on base.
const mostDraftWork = 1. / 6

// work estimates the time of a window.
func (m *Model) work() float64 {
	return windowWork(m.Dims, m.Encoder.Precision().Complete().Weights)
}

// windowWork estimates the time of a window in arbitrary units: products with the encoder's weights for each position,
// and with the decoder's for each token. A token costs six times as much for each weight, since it has a pass of its own.
func windowWork(d model.Dims, f precision.Format) float64 {
	const tokens, pass = 80, 6
	audio := d.AudioLayers * d.AudioWidth * (4*d.AudioWidth + 2*d.AudioFFN)
	text := d.TextLayers*d.TextWidth*(8*d.TextWidth+2*d.TextFFN) + d.Vocab*d.TextWidth
	return float64(d.AudioPositions*audio+tokens*pass*text) * float64(f.Bits())
}

// transcribesDraftFirst reports whether a clip is transcribed with the draft model first.
func (t *Transcriber) transcribesDraftFirst() bool {
	return t.draftTranscriber != nil && t.draftText == nil && t.model.draftPays.Load()
}

// minRoundsToWarn is how many rounds show that an assistant is not worth its time.
const minRoundsToWarn = 100

// warnIdle logs, once for a model, that the assistant that somebody chose does not draft.
func (r *transcription) warnIdle() {
	m, d := r.t.model, r.stats.Drafts
	switch {
	case !m.mayIdle:
	case r.t.draftTranscriber != nil && r.t.draftText == nil && !m.draftPays.Load():
		m.idle.Do(func() {
			r.log.Warn("the assistant is not used: it would have to transcribe first, and that takes longer than its drafts "+
				"save; choose a smaller one", "work_beside_model", fmt.Sprintf("%.0f %%", 100*m.draftModel.work()/m.work()),
				"limit", fmt.Sprintf("%.0f %%", 100*mostDraftWork))
		})
	case d.Rounds >= minRoundsToWarn && 10*d.Empty > 9*d.Rounds:
		m.idle.Do(func() {
			r.log.Warn("the assistant does not pay here, so most of the text is decoded without it", "rounds", d.Rounds,
				"rounds_without_draft", d.Empty)
		})
	}
}

// transcribeWithDraft transcribes all sound of a clip. If there is a draft model, that transcribes it first.
func (t *Transcriber) transcribeWithDraft(
	ctx context.Context, clip *audio.Clip, w Callbacks,
) (*transcript.Transcript, error) {
	if !t.transcribesDraftFirst() {
		return t.transcribeFile(ctx, clip, w)
	}
	began := time.Now()
	first, err := t.draftTranscriber.transcribeFile(ctx, clip, Callbacks{})
	if err == nil {
		err = clip.Rewind()
	}
	if err != nil {
		return nil, err
	}
	took := time.Since(began).Seconds()
	tr, err := t.WithOwnDraft(t.draftTranscriber.DraftFrom(first)).transcribeFile(ctx, clip, w)
	if tr != nil {
		s := &tr.Stats
		s.DraftPasses.Add(first.Stats.Passes)
		s.Drafts.Written += first.Stats.Tokens
		s.Drafts.Prepared += first.Stats.Windows * t.model.draftModel.Dims.AudioPositions
		s.Seconds.Add(transcript.Seconds{Draft: took, Opening: took, Decode: took, Total: took})
	}
	return tr, err
}

// DraftFrom returns the segments of a transcript by t as text to draft from, as they were decoded. Their times are
// those of the timestamp tokens, since word times may have moved the segments.
func (t *Transcriber) DraftFrom(tr *transcript.Transcript) (lines []transcript.Cue) {
	tok := t.model.Tokenizer
	for _, s := range tr.Segments {
		l := transcript.Cue{Start: s.Start, End: s.End, Text: tok.Decode(s.Tokens)}
		if n := len(s.Tokens); n > 1 && tok.IsTimestamp(s.Tokens[0]) && tok.IsTimestamp(s.Tokens[n-1]) {
			l.Start, l.End = seconds(s.Seek)+tok.Seconds(s.Tokens[0]), seconds(s.Seek)+tok.Seconds(s.Tokens[n-1])
		}
		lines = append(lines, l)
	}
	return lines
}

// packTimes returns the cues with their times in a clip that consists of the parts alone.
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

// draftSources returns what may draft in a window.
func (r *transcription) draftSources(w *window) draftSources {
	const most = 100 // tokens: more than a TextProposer compares
	before := r.history.text()
	return draftSources{
		withoutAssistant: r.failures.Load() >= maxFailures,
		text:             r.textProposer,
		window: assistant.TextWindow{
			Start: w.begin(), End: seconds(w.seek + r.frames), Clip: r.src.Seconds(),
			Before:     r.t.model.Tokenizer.Decode(before[max(0, len(before)-most):]),
			Timestamps: !r.t.opt.WithoutTimestamps,
		},
	}
}

// minTokensToWarn is the length of a transcript from which a useless draft causes a warning.
const minTokensToWarn = 20

// warnUseless warns if fewer than one token in 50 comes from the text to draft from.
func (r *transcription) warnUseless() {
	t, n := r.t, r.stats.Tokens
	ignored := t.model.overlap || t.model.rejection || t.opt.BeamSize > 1 // the text drafts nothing; see proposer
	if t.draftText != nil && t.warnsUseless && !ignored && n >= minTokensToWarn && r.stats.Drafts.FromText*50 < n {
		r.log.Warn(fmt.Sprintf("the text to draft from does not fit: %d of %d tokens come from it, so it saved no time",
			r.stats.Drafts.FromText, n))
	}
}

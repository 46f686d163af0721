package transcribe

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"verity/assistant"
	"verity/audio"
	"verity/audio/vad"
	"verity/decoder"
	"verity/tokenizer"
	"verity/transcript"
)

// A source is the log-mel spectrogram of one clip. *audio.Spectrogram implements it for files,
// *audio.Live for sound that is still arriving.
type source interface {
	Frames() int
	// Reach returns the number of frames. If the sound is still arriving, it first waits
	// until there are at least that many.
	Reach(ctx context.Context, frames int) (int, error)
	// Start returns the frame in which the sound starts, once Reach has returned.
	Start() int
	Seconds() float64
	Hash() uint64
	Silence() float32
	Window(ctx context.Context, frame int) (*audio.Mel, error)
	SilentWindow(ctx context.Context, frame int) (*audio.Mel, error)
}

// A transcription is the state of the work on one clip.
type transcription struct {
	t              *Transcriber
	log            *slog.Logger
	name           string
	src            source
	callbacks      Callbacks
	frames         int // of a window
	cursor         cursor
	languageWindow encodedWindow           // the encoded window in which the language was detected, until it is decoded
	clipLanguage   detection               // of the first window
	windowLanguage detection               // of the window being decoded
	textProposer   *assistant.TextProposer // nil without a text to draft from

	continued bool // a lane other than the first

	next            *try               // the next window, already decoded; nil if it is not
	tried           map[frameSpan]bool // windows tried to fill holes
	gaps            []transcript.Gap   // speech without words
	withoutPrevious bool               // decode without the previous text
	textLanguage    string             // of the last text, a code

	history       history
	segments      []transcript.Segment
	stats         transcript.Stats
	failures      *atomic.Int32 // windows in which the assistant failed to draft, in all lanes
	lastWord      float64       // end of the last word, in seconds
	choices       choiceHash
	windowSeconds float64 // length of the window, for estimates of progress
	lastEstimate  float64 // last value passed to Callbacks.Estimate
}

func (t *Transcriber) newTranscription(name string, src source, w Callbacks) *transcription {
	r := &transcription{
		t: t, log: t.opt.Log.With("audio", name), name: name, src: src, callbacks: w,
		frames:  t.fitFrames(src.Frames()),
		cursor:  cursor{todo: frameSpans(t.opt.Spans, src.Frames(), t.opt.Strategy == Upstream)},
		history: history{tokens: slices.Clone(t.prompt), initial: len(t.prompt)},
		choices: newChoiceHash(), failures: new(atomic.Int32), tried: map[frameSpan]bool{},
	}
	if t.draftText != nil {
		r.textProposer = t.draftText.NewProposer()
	}
	return r
}

// run transcribes window after window.
func (r *transcription) run(ctx context.Context) error {
	n, err := r.src.Reach(ctx, 1)
	if err != nil {
		return err
	}
	todo := r.cursor.todo
	for i, s := range todo { // before its start there is nothing to transcribe
		todo[i].start = min(max(s.start, r.src.Start()), max(s.start, s.end))
	}
	if n == 0 {
		r.log.Warn("the audio is shorter than 10 ms: there is nothing to transcribe")
	} else if len(todo) > 0 && !slices.ContainsFunc(todo, func(s frameSpan) bool { return s.start < s.end }) {
		level, why := slog.LevelInfo, "the audio ends before them" // the text is empty for a reason that callers see
		if r.t.opt.Spans[0].Start < r.src.Seconds() {
			level, why = slog.LevelWarn, "the audio begins after them"
		}
		r.log.Log(ctx, level, "the parts to transcribe hold no sound: "+why, "seconds", r.src.Seconds())
	} else if spans := r.t.opt.Spans; len(spans) > 0 && r.src.Frames() != audio.Unknown {
		if end := spans[len(spans)-1].End; !math.IsInf(end, 1) && end > r.src.Seconds()+1 {
			r.log.Warn(fmt.Sprintf("the last part to transcribe ends at %.4g s, after the end of the audio at %.4g s", end, r.src.Seconds()))
		}
	}
	defer r.closeWindows()
	r.windowSeconds = seconds(r.frames)
	if err := r.setLanguage(ctx); err != nil {
		return err
	}
	if begin := r.callbacks.Begin; begin != nil {
		begin(r.clipLanguage.Code, r.clipLanguage.probability, r.src.Seconds())
	}
	r.reportProgress()
	if r.t.opt.Chunked {
		return r.transcribeInLanes(ctx)
	}
	return r.transcribeWindows(ctx)
}

// transcribeWindows transcribes from the cursor to the end, window after window.
func (r *transcription) transcribeWindows(ctx context.Context) error {
	for size := r.cursor.next(r.frames); size > 0; size = r.cursor.next(r.frames) {
		have, err := r.src.Reach(ctx, r.cursor.seek+size)
		if err != nil {
			return err
		}
		if size = min(size, have-r.cursor.seek); size <= 0 {
			break // live sound has ended
		}
		advance, err := r.transcribeWindow(ctx, size)
		if err != nil {
			return err
		}
		r.cursor.seek += advance
		r.reportProgress()
	}
	return ctx.Err()
}

// transcribeWindow transcribes size frames of the window at the cursor and returns how many
// frames to advance.
func (r *transcription) transcribeWindow(ctx context.Context, size int) (advance int, err error) {
	w, a, size, err := r.decodeWindow(ctx, size)
	if err != nil {
		return 0, err
	}
	defer w.close()
	r.stats.Windows++
	if r.t.opt.silent(a) {
		return r.addSilence(ctx, w, a, size, true)
	}
	speech, err := r.confirmSpeech(ctx, a, size)
	if err != nil {
		return 0, err
	}
	if !speech {
		return r.addSilence(ctx, w, a, size, false)
	}
	return r.addWindow(ctx, w, a, size)
}

// decodeWindow encodes and decodes the window at the cursor, unless that is done. It may decode fewer frames
// than size, and returns how many.
func (r *transcription) decodeWindow(ctx context.Context, size int) (w encodedWindow, a attempt, n int, err error) {
	if next := r.next; next != nil {
		r.next = nil
		if next.span.start == r.cursor.seek {
			r.setWindowLanguage(next.language)
			return next.window, next.attempt, next.span.end - next.span.start, nil
		}
		next.window.close()
	}
	if w, err = r.encodeAt(ctx, size); err != nil {
		return nil, a, 0, err
	}
	if w, n, err = r.detectWindowLanguage(ctx, w, size); err == nil {
		r.windowSeconds = seconds(n)
		a, err = r.decodeWithFallback(ctx, w, n)
	}
	if err != nil {
		w.close()
		return nil, a, 0, err
	}
	return w, a, n, nil
}

// addSilence counts a window without text. If unsure, speech in it is decoded again.
func (r *transcription) addSilence(
	ctx context.Context, w encodedWindow, a attempt, size int, unsure bool,
) (advance int, err error) {
	r.stats.Silent++
	r.log.Debug("no speech", "seek", r.cursor.seek, "no_speech_prob", a.noSpeech, "avg_logprob", a.logProb)
	if unsure {
		_, size, err = r.fillHoles(ctx, w, nil, size, size)
	}
	return size, err
}

// confirmSpeechAbove is the no-speech probability from which a window is checked for speech.
// With base, 13 of 310 windows of recordings with speech were above it: LibriSpeech, and half an
// hour of other speech, read, spoken and noisy. So were all 9 windows with invented text.
const confirmSpeechAbove = 0.2

// confirmVAD is what counts as speech then. Silero's own minimum duration leaves out knocks.
var confirmVAD = vad.Options{MinSpeechDurationMS: 250}

// confirmSpeech reports whether a window holds speech. If it does not, its text is invented. A window that
// failed at every temperature is in doubt whatever its no-speech probability, which hotwords and prompts lower,
// and so is one that repeats those.
func (r *transcription) confirmSpeech(ctx context.Context, a attempt, size int) (bool, error) {
	src, ok := r.src.(sampler)
	hints := slices.Concat(r.t.hotwords, r.t.prompt)
	repeats := len(hints) > 0 && isCopied(r.t.model.Tokenizer, hints, a.tokens)
	if !ok || r.t.opt.SkipSpeechCheck || a.noSpeech < confirmSpeechAbove && !a.failed && !repeats {
		return true, nil
	}
	pcm, err := src.Samples(ctx, r.cursor.seek, size)
	return err != nil || len(confirmVAD.Speech(pcm)) > 0, err
}

// addWindow adds the segments of a window to the transcript and returns how many frames to advance.
func (r *transcription) addWindow(ctx context.Context, w encodedWindow, a attempt, size int) (advance int, err error) {
	tok := r.t.model.Tokenizer
	pieces, advance := splitAtTimestamps(tok, a.tokens, size)
	if advance <= 0 {
		// Upstream would decode the same window for ever.
		pieces, advance = wholeWindow(tok, a.tokens, size), r.skipWindow(size)
	}
	// A vocabulary may have timestamps beyond the end of a short window.
	advance = min(advance, r.frames)
	segments := r.segmentsOf(pieces, a)
	if r.t.opt.Strategy != Upstream {
		advance = min(advance, size)
		endWithSound(segments, seconds(r.cursor.seek), seconds(r.cursor.seek+size))
	}
	dropped := false
	if r.t.opt.WordTimestamps {
		t, err := r.timeWords(ctx, w, segments, a, size, advance)
		if err != nil {
			return 0, err
		}
		segments, advance, dropped = t.segments, t.advance, t.retry
	}
	if segments, advance, err = r.fillHoles(ctx, w, segments, size, advance); err != nil || dropped {
		return advance, err
	}
	r.numberSegments(segments)
	r.appendSegments(segments, a.failed || a.temperature > maxPromptTemperature)
	return advance, nil
}

// skipWindow counts a window whose timestamps do not advance. The next one begins where it ends.
func (r *transcription) skipWindow(size int) (advance int) {
	r.stats.Stuck++
	r.log.Warn("timestamps do not advance: keeping the window as one segment", "seek", r.cursor.seek)
	return size
}

// encodeAt encodes the window at the cursor. Silence follows its first size frames.
func (r *transcription) encodeAt(ctx context.Context, size int) (encodedWindow, error) {
	r.windowSeconds = seconds(size)
	cutShort := r.cursor.seek+size < r.src.Frames() && size < r.frames
	if w := r.languageWindow; w != nil && r.cursor.seek == r.src.Start() && !cutShort {
		r.languageWindow = nil
		return w, nil // encoding costs as much as decoding
	}
	r.closeLanguageWindow()
	began := time.Now()
	mel, err := r.src.Window(ctx, r.cursor.seek)
	if err != nil {
		return nil, err
	}
	mel = mel.First(r.frames)
	if cutShort {
		fillFrom(mel, size, r.silence())
	}
	if err := r.endInSpeech(ctx, mel, r.cursor.seek, size); err != nil {
		return nil, err
	}
	r.stats.Seconds.Mel += time.Since(began).Seconds()
	return r.encode(ctx, mel)
}

// closeLanguageWindow closes the window that was encoded to detect the language, if decoding did not use it.
func (r *transcription) closeLanguageWindow() {
	if r.languageWindow != nil {
		r.languageWindow.close()
		r.languageWindow = nil
	}
}

// closeWindows closes all windows that decoding did not use.
func (r *transcription) closeWindows() {
	r.closeLanguageWindow()
	if r.next != nil {
		r.next.window.close()
		r.next = nil
	}
}

func (r *transcription) encode(ctx context.Context, mel *audio.Mel) (encodedWindow, error) {
	return r.t.network.encode(ctx, mel, &r.stats.Seconds, r.reportEncoding)
}

// silence returns the value of mel cells after the end of a span.
func (r *transcription) silence() float32 {
	if r.t.opt.Pad == audio.PadMel {
		return 0
	}
	return r.src.Silence()
}

// fillFrom sets all frames of mel from size on to v.
func fillFrom(mel *audio.Mel, size int, v float32) {
	for b := range mel.Bins {
		row := mel.Data[b*mel.Frames : (b+1)*mel.Frames]
		for i := size; i < len(row); i++ {
			row[i] = v
		}
	}
}

// sessionOptions returns how to decode the window at the cursor, apart from the temperature.
func (r *transcription) sessionOptions() decoder.SessionOptions {
	room := r.t.promptRoom()
	previous := r.history.forPrompt(room, r.t.opt.CarryInitialPrompt)
	if r.withoutPrevious {
		previous = nil
	}
	start := r.t.startTokens(r.windowLanguage.Language)
	if r.stats.Windows == 0 && !r.continued && len(r.t.prefix) > 0 {
		start = slices.Concat(start, r.t.prefix)
	} else if hot := r.t.hotwords; len(hot) > 0 {
		previous = slices.Concat(hot, tail(previous, room-len(hot)))
	}
	prompt, sot := buildPrompt(r.t.model.Tokenizer, previous, start, room)
	return decoder.SessionOptions{
		Prompt: prompt, SOT: sot, NoSpeech: r.t.model.Tokenizer.NoSpeech,
		Rules: r.t.rules,
		Sampling: decoder.Sampling{
			TopK: r.t.opt.TopK, TopP: r.t.opt.TopP,
			Seed: r.t.opt.Seed, Audio: r.src.Hash(), Window: r.cursor.seek,
		},
	}
}

// segmentsOf makes segments of the pieces of a.tokens.
func (r *transcription) segmentsOf(pieces []tokenSpan, a attempt) []transcript.Segment {
	offset := seconds(r.cursor.seek)
	var here detection
	if r.t.opt.Multilingual || r.windowLanguage.Code != r.clipLanguage.Code {
		here = r.windowLanguage
	}
	segments := make([]transcript.Segment, len(pieces))
	marks, logProbs := a.Marks, a.logProbs
	if !r.t.opt.TokenOrigins {
		marks = nil
	}
	for i, p := range pieces {
		s := transcript.Segment{
			Seek: r.cursor.seek, Start: offset + p.start, End: offset + p.end,
			Text: r.t.model.Tokenizer.Decode(p.tokens), Tokens: p.tokens,
			Temperature: a.temperature, AvgLogProb: a.logProb,
			CompressionRatio: a.compression, NoSpeechProb: a.noSpeech,
			Language: here.Code, LanguageProbability: here.probability,
		}
		s.LogProbs, logProbs = logProbs[:len(p.tokens)], logProbs[len(p.tokens):]
		if len(marks) > 0 {
			s.Origins, marks = marks[:len(p.tokens)], marks[len(p.tokens):]
		}
		segments[i] = s
	}
	return segments
}

// numberSegments numbers new segments. One without duration or text stays, but loses its tokens and words.
func (r *transcription) numberSegments(segments []transcript.Segment) {
	for i := range segments {
		s := &segments[i]
		s.ID = len(r.segments) + i
		if s.Start == s.End || s.TrimmedText() == "" {
			s.Text, s.Tokens, s.LogProbs, s.Origins = "", []tokenizer.Token{}, nil, nil
			if s.Words != nil {
				s.Words = []transcript.Word{}
			}
		}
	}
}

// maxPromptTemperature is the highest temperature of text in the prompts of later windows.
// Source: openai/whisper@c0d2f62 whisper/transcribe.py.
const maxPromptTemperature = 0.5

// appendSegments adds segments to the transcript and to the text that later windows continue,
// unless they are too doubtful for that.
func (r *transcription) appendSegments(segments []transcript.Segment, doubtful bool) {
	for _, s := range segments {
		r.history.tokens = append(r.history.tokens, s.Tokens...)
		if s.TrimmedText() != "" {
			r.textLanguage = r.windowLanguage.Code
		}
		if r.callbacks.Segment != nil {
			r.callbacks.Segment(s)
		}
	}
	r.segments = append(r.segments, segments...)
	if r.t.opt.ForgetPrevious || doubtful {
		r.history.forget()
	}
}

// transcript returns the transcript so far.
func (r *transcription) transcript() *transcript.Transcript {
	return &transcript.Transcript{
		Name: r.name, Text: r.t.model.Tokenizer.Decode(r.history.text()),
		Language: r.clipLanguage.Code, LanguageProb: r.clipLanguage.probability, Duration: r.src.Seconds(),
		Segments: r.segments, Gaps: r.gaps, Stats: r.stats, ChoiceHashes: r.choices.sum(),
	}
}

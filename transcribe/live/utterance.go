package live

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"verity/audio"
	"verity/diarize"
	"verity/tokenizer"
	"verity/transcribe"
	"verity/transcript"
)

// Bounds on the sound that a pass transcribes, in seconds. Above trimAbove, sound before the end of
// a confirmed segment is dropped, as in whisper_streaming. Above maxSound, sound before the last
// confirmed word is dropped too, and words that ended more than forceAfter ago are confirmed even if
// no two passes agree on them.
const (
	trimAbove  = 15.0
	maxSound   = 25.0
	forceAfter = 4.0

	contextBytes   = 200  // bytes of earlier text in the prompt of a pass
	maxPromptBytes = 4096 // bytes: the model sees 223 tokens of a prompt
)

// A Result is what one pass over an utterance found.
type Result struct {
	Start     float64           // of the utterance, in seconds of the sound
	Last      bool              // the last pass over the utterance
	Confirmed []transcript.Word // newly confirmed words; those of all results, concatenated, are the transcript
	Tentative string            // text that may still change
	SoundEnd  float64           // end of the transcribed sound, in seconds from the start of the utterance
	Language  string            // a code, such as "en"
	Elapsed   time.Duration     // of the pass, including the wait for its turn
	Audio     float64           // seconds of sound transcribed
	Stats     transcript.Stats

	// If speakers are identified (transcribe.Options.Speakers): in the last result of an utterance all its words,
	// with the names of their speakers, as far as they are known by then.
	Words []transcript.Word

	// And in one more result of Listen, after the sound has ended: who speaks in all of it, found anew. Label
	// corrects a transcript.
	Speakers *diarize.Diarization
}

// A pass transcribes sound. draft is the result of the previous pass. It returns the draft for the next pass, too.
type pass func(ctx context.Context, pcm []float32, p transcribe.Pass, draft []transcript.Cue) (
	*transcript.Transcript, []transcript.Cue, error)

// An Utterance is a stretch of speech that is transcribed while it grows, also during a pass.
type Utterance struct {
	Number int   // from 1 in its stream
	Start  int64 // its first sample in the stream

	onePass  pass
	step     float64 // seconds of new sound that a pass waits for
	prompt   string  // the user's
	language string  // given, or detected in a pass that confirmed words
	upstream bool    // transcribe.Upstream
	spoken   bool    // a detector has heard speech

	stream      *Stream
	ended       chan struct{} // closed when no more sound follows
	discarded   atomic.Bool   // by Stream.Clear
	transcribed int64         // samples that passes have transcribed
	passes      int

	mu    sync.Mutex
	pcm   []float32
	cut   int64     // samples dropped before pcm
	voice []float32 // samples that the tracker has not had, if there is one

	tracker *diarize.Tracker // of speakers; nil if they are not identified
	tracked int64            // samples that the tracker has had
	heard   []stretch
	words   []transcript.Word // confirmed so far, if there is a tracker

	agreed      agreement
	draft       []transcript.Cue // result of the last pass, timed from the start of the utterance
	earlierText string           // end of the confirmed text before pcm
}

// A Transcriber transcribes live sound with one model and one set of options. It is safe for concurrent use.
type Transcriber struct {
	files  *transcribe.Transcriber
	opt    transcribe.Options
	voices *diarize.Options // how voices are identified; nil if they are not
	step   float64          // 0 means DefaultStep
}

// DefaultStep is how many seconds of new sound a pass waits for.
const DefaultStep = 0.6

// New returns a Transcriber. SkipSpeechCheck matters only to a [Stream] that does not detect turns. New ignores the
// options that make sense only for files (Spans, VAD, Chunked, Prefix, TokenOrigins, Translate), and those for
// windows after the first, since a pass has
// only one. It uses only the last 4096 bytes of a prompt.
func New(m *transcribe.Model, o transcribe.Options) (*Transcriber, error) {
	o.WordTimestamps, o.Task = true, transcribe.Transcribe
	o.Spans, o.VAD = nil, nil
	o.Prefix, o.Chunked, o.TokenOrigins = "", false, false
	o.Multilingual, o.CarryInitialPrompt = false, false
	voices := o.Speakers
	if o.Speakers = nil; voices != nil {
		if err := voices.Check(); err != nil {
			return nil, err
		}
		copied := *voices
		voices, copied.Pool = &copied, m.Pool
	}
	o.InitialPrompt = lastBytes(o.InitialPrompt, maxPromptBytes)
	files, err := transcribe.New(m, o)
	if err != nil {
		return nil, err
	}
	return &Transcriber{files: files, opt: o, voices: voices}, nil
}

// WithStep returns a Transcriber whose passes wait for some seconds of new sound. With a longer step, words come later,
// cost less, and are more often right, since the second of two passes that agree has heard more.
func (t *Transcriber) WithStep(seconds float64) *Transcriber {
	n := *t
	n.step = seconds
	return &n
}

// utterance returns a new utterance of a stream that begins at sample start.
func (t *Transcriber) utterance(s *Stream, start int64) *Utterance {
	return &Utterance{
		Number: s.utterances, Start: start, onePass: t.pass, step: cmp.Or(t.step, DefaultStep), prompt: t.opt.InitialPrompt,
		language: t.opt.Language, upstream: t.opt.Strategy == transcribe.Upstream, spoken: s.detector != nil,
		stream: s, tracker: s.tracker, ended: make(chan struct{}), agreed: agreement{unfinished: t.files.Unfinished},
	}
}

// pass implements the type pass.
func (t *Transcriber) pass(ctx context.Context, pcm []float32, p transcribe.Pass, draft []transcript.Cue) (
	*transcript.Transcript, []transcript.Cue, error,
) {
	by, err := t.files.ForPass(p)
	if err != nil {
		return nil, nil, err
	}
	tr, err := by.WithOwnDraft(draft).Transcribe(ctx, audio.FromSamples("live sound", pcm), transcribe.Callbacks{})
	if err != nil {
		return nil, nil, err
	}
	return tr, by.DraftFrom(tr), nil
}

// SamplesBeforeNextPass returns how many new samples the next pass waits for, given the time of the
// last one. A slow machine makes fewer passes and keeps some time to spare.
func (u *Utterance) SamplesBeforeNextPass(elapsed time.Duration) int64 {
	return int64(max(u.step, 1.25*elapsed.Seconds()) * audio.SampleRate)
}

// IsLate reports whether a pass took longer than the sound it waited for, so that live text comes
// later than on a faster machine.
func (u *Utterance) IsLate(elapsed time.Duration) bool { return elapsed.Seconds() > u.step }

// Add appends mono samples at audio.SampleRate.
func (u *Utterance) Add(pcm []float32) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.pcm = append(u.pcm, pcm...)
	if u.tracker != nil {
		u.voice = append(u.voice, pcm...)
	}
	u.stream.pending.Add(int64(len(pcm)))
	signal(u.stream.added)
}

// Len returns how many samples have been added.
func (u *Utterance) Len() int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.cut + int64(len(u.pcm))
}

// Pass transcribes the sound added so far. The last pass confirms all words. Only one pass over
// the utterances of a stream may run at a time.
func (u *Utterance) Pass(ctx context.Context, last bool) (Result, error) {
	if u.passes++; u.passes == 1 {
		u.earlierText, u.stream.previousText = lastBytes(u.stream.previousText, contextBytes), ""
	}
	u.mu.Lock()
	pcm, from := slices.Clone(u.pcm), seconds(u.cut)
	u.mu.Unlock()
	r := Result{Start: seconds(u.Start), Last: last, SoundEnd: from + seconds(int64(len(pcm)))}
	tr, draft, err := u.transcribe(ctx, pcm, last, shiftTimes(u.draft, -from))
	if err != nil {
		return r, err
	}
	u.draft = shiftTimes(draft, from)
	r.Language, r.Stats = tr.Language, tr.Stats
	unsure := slices.ContainsFunc(tr.Segments, func(g transcript.Segment) bool { return g.Temperature > 0.5 })
	words, ends := wordsOf(tr, from, last)
	if last {
		r.Confirmed = u.agreed.finish(words)
	} else {
		r.Confirmed = u.agreed.add(words)
		if r.SoundEnd-from > maxSound {
			r.Confirmed = append(slices.Clone(r.Confirmed), u.agreed.confirmBefore(r.SoundEnd-forceAfter)...)
		}
		u.dropOldSound(r, from, ends)
	}
	if len(r.Confirmed) > 0 {
		u.language = tr.Language // a few more words would not improve the detection
		u.stream.previousLanguage = tr.Language
	}
	if u.stream.previousText += transcript.JoinWords(r.Confirmed); unsure { // later prompts omit it, as in upstream
		u.stream.previousText = ""
	}
	r.Tentative = transcript.JoinWords(u.agreed.tentative)
	if u.tracker != nil {
		err = u.track(ctx, &r)
	}
	return r, err
}

// minHeard is how much sound, in seconds, without a word makes a pass be made again without the text before.
const minHeard = 2.0

// minLanguageProbability is the least probability at which an utterance changes the language.
const minLanguageProbability = 0.5

// transcribe makes a pass. Text of another language is not part of its prompt, since the model would go on in
// that language; and an utterance whose language is not sure has that of the one before.
func (u *Utterance) transcribe(
	ctx context.Context, pcm []float32, last bool, draft []transcript.Cue,
) (tr *transcript.Transcript, next []transcript.Cue, err error) {
	again := func(language string, draft []transcript.Cue) {
		before := tr
		p := transcribe.Pass{Language: language, Prompt: u.passPrompt(), Spoken: u.spoken, Provisional: !last}
		if tr, next, err = u.onePass(ctx, pcm, p, draft); err == nil && before != nil {
			tr.Stats.Add(before.Stats)
		}
	}
	again(u.language, draft)
	if err == nil && u.earlierText != "" && seconds(int64(len(pcm))) > minHeard {
		if words, _ := wordsOf(tr, 0, last); len(words) == 0 {
			u.earlierText = "" // which may keep the model silent, or make it repeat
			again(u.language, draft)
		}
	}
	former := u.stream.previousLanguage
	if err != nil || u.upstream || u.language != "" || former == "" || tr.Language == former || tr.LanguageProb == 0 {
		return tr, next, err
	}
	if tr.LanguageProb < minLanguageProbability {
		again(former, next)
	} else if u.earlierText != "" {
		u.earlierText = ""
		again(u.language, next)
	}
	return tr, next, err
}

// Passes makes a pass each time enough new sound has been added, and the last one when the
// utterance has ended. It stops without a last pass if the utterance is discarded. turn waits
// until a pass may run and returns a function to call after it. With nil, passes never wait.
func (u *Utterance) Passes(
	ctx context.Context, turn func(context.Context) (end func(), err error),
) iter.Seq2[Result, error] {
	return func(yield func(Result, error) bool) {
		defer func() { u.markTranscribed(u.Len()) }() // nothing waits for a pass any longer
		for r := (Result{}); !r.Last; {
			err := u.wait(ctx, u.SamplesBeforeNextPass(r.Elapsed))
			if err == nil && !u.discarded.Load() {
				r, err = u.passWhenAllowed(ctx, turn)
			}
			if u.discarded.Load() || !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// wait waits until the utterance ends or has enough new samples. Any suffice while WaitForRoom is waiting.
func (u *Utterance) wait(ctx context.Context, samples int64) error {
	for {
		fresh := u.Len() - u.transcribed
		if fresh >= samples || fresh > 0 && u.stream.blocked.Load() {
			return nil
		}
		select {
		case <-u.ended:
			return nil
		case <-u.stream.added:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// passWhenAllowed makes a pass as soon as turn allows it.
func (u *Utterance) passWhenAllowed(
	ctx context.Context, turn func(context.Context) (func(), error),
) (r Result, err error) {
	began := time.Now()
	if turn != nil {
		end, err := turn(ctx)
		if err != nil {
			return r, err
		}
		defer end()
	}
	last := false
	select {
	case <-u.ended:
		last = true
	default:
	}
	n := u.Len()
	r, err = u.Pass(ctx, last)
	r.Elapsed = time.Since(began)
	u.markTranscribed(n)
	return r, err
}

// markTranscribed records that the first n samples need no further pass.
func (u *Utterance) markTranscribed(n int64) {
	u.stream.pending.Add(u.transcribed - n)
	u.transcribed = n
	signal(u.stream.transcribed)
}

// PhraseLength returns the number of words before the sentence ends or the speaker changes. The last words of an
// utterance end a sentence; otherwise it is 0 until the sentence ends.
func PhraseLength(words []transcript.Word, last bool) int {
	n := 0
	for i, w := range words {
		next := "a word that may come"
		if i+1 < len(words) {
			next = words[i+1].Word
		} else if last {
			next = ""
		}
		if transcript.EndsSentence(w.Word, next) || last && next == "" {
			n = i + 1
			break
		}
	}
	for i := range n {
		if words[i].Speaker != words[0].Speaker {
			return i
		}
	}
	return n
}

// shiftTimes returns the cues with all times shifted, in seconds. Cues that would end before
// time 0 are left out: their sound has been dropped.
func shiftTimes(lines []transcript.Cue, by float64) (list []transcript.Cue) {
	for _, l := range lines {
		if l.Start, l.End = l.Start+by, l.End+by; l.End > 0 {
			l.Start = max(0, l.Start)
			list = append(list, l)
		}
	}
	return list
}

const inventedTime = 0.05 // s, in which nobody says three words

// wordsOf returns the words of a transcript and the ends of its segments, shifted by from seconds.
// Except in the last pass, it stops at the first segment that the gates for repetition and
// improbable text would reject.
func wordsOf(tr *transcript.Transcript, from float64, last bool) (words []transcript.Word, ends []float64) {
	usual := transcribe.Options{}.WithDefaults()
	for _, s := range tr.Segments {
		if !last && (s.CompressionRatio > usual.MaxCompressionRatio || s.AvgLogProb < usual.MinLogProb) {
			break
		}
		for i, w := range s.Words {
			if !last && i+2 < len(s.Words) && s.Words[i+2].End-w.Start < inventedTime {
				return words, ends // mostly a repetition
			}
			w.Start, w.End = w.Start+from, w.End+from
			words = append(words, w)
		}
		ends = append(ends, s.End+from)
	}
	return words, ends
}

// passPrompt returns the prompt of a pass: the user's, and the end of the text before the sound.
func (u *Utterance) passPrompt() string {
	if u.earlierText == "" {
		return u.prompt
	}
	return strings.TrimSpace(u.prompt + " " + tokenizer.Strip(u.earlierText))
}

const maxPauseKept = 0.3 // s after the last word whose sound is dropped, which are dropped too

// dropOldSound drops sound that later passes do not need once it exceeds the bounds.
func (u *Utterance) dropOldSound(r Result, from float64, ends []float64) {
	to := from
	if r.SoundEnd-from > trimAbove {
		for _, end := range ends {
			if end <= u.agreed.end {
				to = max(to, end)
			}
		}
		if to > from { // in the pause after the word: what is left of its sound would be transcribed as another word
			next := r.SoundEnd
			all := slices.Concat(u.agreed.confirmed, u.agreed.tentative)
			if i := countEndingBy(all, to); i < len(all) {
				next = all[i].Start
			}
			to += min(maxPauseKept, max(0, next-to)/2)
		}
	}
	if r.SoundEnd-to > maxSound {
		to = max(to, u.agreed.end)
	}
	if r.SoundEnd-to > maxSound { // no words, or none that two passes agree on
		to = r.SoundEnd - forceAfter
	}
	if to <= from {
		return
	}
	dropped := u.agreed.confirmed[:countEndingBy(u.agreed.confirmed, to)]
	u.earlierText = lastBytes(u.earlierText+transcript.JoinWords(dropped), contextBytes)
	u.agreed.dropBefore(to)
	u.mu.Lock()
	defer u.mu.Unlock()
	drop := min(int64((to-from)*audio.SampleRate), int64(len(u.pcm)))
	u.pcm = slices.Clone(u.pcm[drop:])
	u.cut += drop
}

// lastBytes returns at most the last n bytes of a text, cut between words.
func lastBytes(text string, n int) string {
	drop := len(text) - n
	if drop <= 0 {
		return text
	}
	if space := strings.IndexByte(text[drop:], ' '); space >= 0 {
		drop += space
	}
	return strings.ToValidUTF8(text[drop:], "")
}

func seconds(samples int64) float64 { return float64(samples) / audio.SampleRate }

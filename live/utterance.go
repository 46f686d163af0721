package live

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"verity/audio"
	"verity/tokenizer"
	"verity/transcribe"
	"verity/transcript"
)

// Bounds of the sound that a pass sees, in seconds. Behind tidy it is shortened where a
// segment ends, as whisper_streaming does; behind full at any confirmed word. What two
// passes cannot agree on is confirmed all the same when it is as old as late.
const (
	tidy = 15.0
	full = 25.0
	late = 4.0

	shown = 200 // bytes of earlier text that a pass is shown
)

// Result is what a pass has found.
type Result struct {
	Confirmed []transcript.Word // new; their texts, one behind the other, are the transcript
	Tentative string            // what may still change
	Heard     float64           // the end of the sound that the pass saw
	Language  string            // a code, such as "en"
	Took      time.Duration
	Audio     float64 // seconds that were transcribed
	Stats     transcript.Stats

	// Unsure says that only sampling passed the gates. As in upstream, nothing should
	// be shown such text.
	Unsure bool
}

// A pass transcribes sound that follows a text.
type pass func(ctx context.Context, pcm []float32, prompt, language string, last bool) (*transcript.Transcript, error)

// An Utterance is speech on its way to text. Sound may be added while a pass is made.
type Utterance struct {
	run      pass
	prompt   string // of the user
	language string // found in a pass whose words were confirmed

	mu  sync.Mutex
	pcm []float32
	cut int64 // samples forgotten before pcm

	agreed agreement
	before string // confirmed text before pcm, its end
	count  int    // of confirmed words
}

// NewUtterance returns an Utterance without sound. The language, the prompt, and how to
// decode are those of o; its spans and voice activity are left out.
func NewUtterance(m *transcribe.Model, o transcribe.Options) (*Utterance, error) {
	o.WordTimestamps, o.Spans, o.VAD, o.Prefix = true, nil, nil, ""
	if _, err := transcribe.New(m, o); err != nil {
		return nil, err
	}
	run := func(ctx context.Context, pcm []float32, prompt, language string, last bool) (*transcript.Transcript, error) {
		o := o
		o.InitialPrompt, o.Language = prompt, language
		if !last { // no fallback when the gates refuse a window: another pass follows
			o.Temperatures = []float64{0}
		}
		t, err := transcribe.New(m, o)
		if err != nil {
			return nil, err
		}
		return t.Transcribe(ctx, audio.FromSamples("live sound", pcm), transcribe.Watch{})
	}
	return &Utterance{run: run, prompt: o.InitialPrompt, language: o.Language}, nil
}

// Follow says what was said before, which passes are shown. It must come before the
// first pass.
func (u *Utterance) Follow(text string) { u.before = tail(text) }

// Add appends samples at audio.SampleRate.
func (u *Utterance) Add(pcm []float32) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.pcm = append(u.pcm, pcm...)
}

// Len returns how many samples were added.
func (u *Utterance) Len() int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.cut + int64(len(u.pcm))
}

// Words returns how many words are confirmed.
func (u *Utterance) Words() int { return u.count }

// Pass transcribes what there is. The last pass confirms all words. Only one may be made
// at a time.
func (u *Utterance) Pass(ctx context.Context, last bool) (Result, error) {
	began := time.Now()
	u.mu.Lock()
	pcm, from := slices.Clone(u.pcm), seconds(u.cut)
	u.mu.Unlock()
	r := Result{Heard: from + seconds(int64(len(pcm))), Audio: seconds(int64(len(pcm)))}
	tr, err := u.run(ctx, pcm, u.context(), u.language, last)
	if err != nil {
		return r, err
	}
	r.Language, r.Stats = tr.Language, tr.Stats
	for _, g := range tr.Segments {
		r.Unsure = r.Unsure || g.Temperature > 0.5
	}
	words, ends := wordsOf(tr, from, last)
	if last {
		r.Confirmed = u.agreed.finish(words)
	} else {
		r.Confirmed = u.agreed.add(words)
		if r.Audio > full {
			r.Confirmed = append(slices.Clone(r.Confirmed), u.agreed.force(r.Heard-late)...)
		}
		u.shorten(r, from, ends)
	}
	if u.count += len(r.Confirmed); len(r.Confirmed) > 0 && u.language == "" {
		u.language = tr.Language // a few words more should not change it
	}
	r.Tentative = spell(u.agreed.last)
	r.Took = time.Since(began)
	return r, nil
}

// wordsOf returns the words of a transcript of sound that begins at from, and where its
// segments end. Text that the gates would refuse is left out, unless it is the last.
func wordsOf(tr *transcript.Transcript, from float64, last bool) (words []transcript.Word, ends []float64) {
	usual := transcribe.Defaults()
	for _, s := range tr.Segments {
		if !last && (s.CompressionRatio > usual.MaxCompressionRatio || s.AvgLogProb < usual.MinLogProb) {
			break
		}
		for _, w := range s.Words {
			w.Start, w.End = w.Start+from, w.End+from
			words = append(words, w)
		}
		ends = append(ends, s.End+from)
	}
	return words, ends
}

// context returns the text that a pass is shown: the user's prompt, or what was said
// before the sound.
func (u *Utterance) context() string {
	if u.before == "" {
		return u.prompt
	}
	return strings.TrimSpace(u.prompt + " " + tokenizer.Strip(u.before))
}

// shorten forgets sound that later passes need not see, once there is much of it.
func (u *Utterance) shorten(r Result, from float64, ends []float64) {
	to := from
	if r.Audio > tidy {
		for _, end := range ends {
			if end <= u.agreed.end {
				to = max(to, end)
			}
		}
	}
	if r.Heard-to > full {
		to = max(to, u.agreed.end)
	}
	if r.Heard-to > full { // nothing was said, or nothing that could be agreed on
		to = r.Heard - late
	}
	if to <= from {
		return
	}
	n := 0
	for n < len(u.agreed.heard) && u.agreed.heard[n].End <= to {
		n++
	}
	u.before = tail(u.before + spell(u.agreed.heard[:n]))
	u.agreed.forget(to)
	u.mu.Lock()
	defer u.mu.Unlock()
	drop := min(int64((to-from)*audio.SampleRate), int64(len(u.pcm)))
	u.pcm = slices.Clone(u.pcm[drop:])
	u.cut += drop
}

// tail returns the end of a text, in whole words.
func tail(text string) string {
	drop := len(text) - shown
	if drop <= 0 {
		return text
	}
	if space := strings.IndexByte(text[drop:], ' '); space >= 0 {
		drop += space
	}
	return strings.ToValidUTF8(text[drop:], "")
}

func seconds(samples int64) float64 { return float64(samples) / audio.SampleRate }

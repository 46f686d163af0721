package transcribe

import (
	"context"
	"math"
	"slices"
	"sync/atomic"
	"testing"

	"verity/audio"
	"verity/decoder"
	"verity/model"
	"verity/tokenizer"
	"verity/transcript"
)

// A rule is splitmix64, keyed by a list of numbers, as in
// tools/reference/transcribe_goldens.py.
type rule uint64

func newRule(key ...int) *rule {
	var r rule
	for _, v := range key {
		r = rule(mix(uint64(r) + uint64(v)))
	}
	return &r
}

func mix(z uint64) uint64 {
	z += 0x9E3779B97F4A7C15
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

func (r *rule) next(below int) int {
	*r++
	return int(mix(uint64(*r)) % uint64(below))
}

// A ramp is a source whose mel says where it is: row 0 of frame i is i+1.
type ramp struct{ frames, window int }

func (r ramp) Frames() int      { return r.frames }
func (r ramp) Seconds() float64 { return float64(r.frames) / 100 }
func (r ramp) Hash() uint64     { return 7 }
func (r ramp) Silence() float32 { return 0 }
func (r ramp) Start() int       { return 0 }

func (r ramp) Reach(context.Context, int) (int, error) { return r.frames, nil }

func (r ramp) SilentWindow(ctx context.Context, frame int) (*audio.Mel, error) {
	return r.Window(ctx, frame)
}

func (r ramp) Window(_ context.Context, frame int) (*audio.Mel, error) {
	m := &audio.Mel{Bins: 1, Frames: r.window, Data: make([]float32, r.window)}
	for i := range m.Data {
		if frame+i < r.frames {
			m.Data[i] = float32(frame + i + 1)
		}
	}
	return m, nil
}

// excerpt returns all of r, in which every place is as quiet as any other.
func (r ramp) excerpt(ctx context.Context, _, _ int) (excerpt, error) { return r, ctx.Err() }

func (r ramp) Quietest(from, to, _ int) int { return (from + to) / 2 }

// A scripted model decodes by a pure function of what it is handed: the frames
// of the ramp, the prompt and the temperature.
type scripted struct {
	seed     int
	tok      *tokenizer.Tokenizer
	decodeAt func(seek, size int, o decodeOptions) decodedWindow     // nil: the goldens' rule
	encoded  func(seek, size int)                                    // may be nil
	language func(seek, size int) (code string, probability float32) // nil: the goldens' rule
	open     *atomic.Int32                                           // windows; may be nil
}

// A scriptedWindow is a window of a ramp.
type scriptedWindow struct {
	scripted
	seek, size, frames int
}

func (s scripted) encode(ctx context.Context, mel *audio.Mel, _ *transcript.Seconds, _ func(float64)) (encodedWindow, error) {
	size := 0
	for _, v := range mel.Data[:mel.Frames] {
		if v != 0 {
			size++
		}
	}
	w := scriptedWindow{s, int(mel.Data[0]) - 1, size, mel.Frames}
	if s.encoded != nil {
		s.encoded(w.seek, size)
	}
	if s.open != nil {
		s.open.Add(1)
	}
	return w, ctx.Err()
}

func (w scriptedWindow) close() {
	if w.open != nil {
		w.open.Add(-1)
	}
}

func (w scriptedWindow) languages(context.Context) ([]float32, error) {
	r := newRule(w.seed, w.size)
	probs := make([]float32, len(w.tok.Languages()))
	if w.language != nil {
		code, p := w.language(w.seek, w.size)
		for i, l := range w.tok.Languages() {
			if l.Code == code {
				probs[i] = p
			}
		}
		return probs, nil
	}
	for i := range probs {
		probs[i] = float32(r.next(1000)) / 1000
	}
	return probs, nil
}

func (w scriptedWindow) decode(_ context.Context, o decodeOptions, _ func(int)) (decodedWindow, error) {
	if w.decodeAt != nil {
		return w.decodeAt(w.seek, w.size, o), nil
	}
	key := []int{w.seed, w.seek, w.size, int(math.Round(float64(o.Sampling.Temperature) * 10)), o.SOT}
	for _, t := range o.Prompt {
		key = append(key, int(t))
	}
	r := newRule(key...)
	tokens := r.script(w.tok, w.frames/2)
	scale := []int{64, 256, 900}[r.next(3)]
	if r.next(8) != 0 {
		tokens = append(tokens, w.tok.EOT)
	}
	var d decodedWindow
	for _, t := range tokens {
		d.Choices = append(d.Choices, decoder.Choice{Token: t, LogProb: -float32(r.next(scale)) / 256})
	}
	d.noSpeechProb = float32(r.next(256)) / 256
	return d, nil
}

func (r *rule) words(t *tokenizer.Tokenizer, n int) (out []tokenizer.Token) {
	for range n {
		switch kind := r.next(64); {
		case kind == 0: // any special
			out = append(out, t.EOT+1+tokenizer.Token(r.next(int(t.TimestampBegin-t.EOT-1))))
		case kind < 4: // any bytes, whole characters or not
			out = append(out, tokenizer.Token(r.next(int(t.EOT))))
		default:
			out = append(out, tokenizer.Token(300+r.next(3000)))
		}
	}
	return out
}

// pairs makes segments between timestamps; some take no time, some say nothing.
func (r *rule) pairs(t *tokenizer.Tokenizer, last int) (out []tokenizer.Token) {
	at := min(last, 1+r.next(10))
	stamp := func() { out = append(out, t.TimestampBegin+tokenizer.Token(at)) }
	for range 1 + r.next(5) {
		stamp()
		if r.next(6) != 0 {
			out = append(out, r.words(t, r.next(8))...)
		} else {
			out = append(out, 220)
		}
		at = min(last, at+r.next(4)*r.next(80))
		stamp()
		at = min(last, at+r.next(3))
	}
	switch r.next(3) {
	case 1:
		stamp()
	case 2:
		stamp()
		out = append(out, r.words(t, 1+r.next(4))...)
	}
	return out
}

// script returns the tokens of a window.
func (r *rule) script(t *tokenizer.Tokenizer, last int) []tokenizer.Token {
	begin := []tokenizer.Token{t.TimestampBegin}
	kind := r.next(10)
	switch kind {
	case 0, 1, 2, 3:
		return r.pairs(t, last)
	case 4:
		out := append(begin, r.words(t, 1+r.next(9))...)
		return append(out, begin[0]+tokenizer.Token(r.next(last+1)))
	case 5:
		return append(begin, r.words(t, r.next(9))...)
	case 6:
		return r.words(t, 1+r.next(9))
	case 7:
		out := append(begin, slices.Repeat(r.words(t, 2), 10+r.next(20))...)
		return append(out, begin[0]+1+tokenizer.Token(r.next(last)))
	case 8:
		return nil
	}
	return append(begin, 220, begin[0]+1+tokenizer.Token(r.next(last)))
}

// newScripted returns a Transcriber over a script.
func newScripted(s scripted, window, positions int, o Options) (*Transcriber, error) {
	return newTranscriber(&Model{
		Tokenizer:  s.tok,
		Dims:       model.Dims{MelBins: 1, AudioPositions: window / 2, TextPositions: positions, Vocab: s.tok.Size()},
		Generation: model.Generation{Multilingual: s.tok.Multilingual()},
	}, s, o)
}

// words makes up times as tools/reference/transcribe_goldens.py does.
func (w scriptedWindow) words(
	_ context.Context, _, text []tokenizer.Token, language string, frames int, _ bool,
) (times []wordTime, err error) {
	if len(text) == 0 {
		return nil, nil
	}
	key := []int{w.seed, w.seek, frames}
	for _, t := range text {
		key = append(key, int(t))
	}
	words, groups := w.tok.SplitToWords(append(slices.Clone(text), w.tok.EOT), language)
	if len(groups) <= 1 {
		return nil, nil
	}
	r := newRule(key...)
	at := 0
	if r.next(4) == 0 {
		at = r.next(frames/2 + 1)
	} else {
		at = r.next(40)
	}
	for i, g := range groups[:len(groups)-1] {
		at += []int{0, 0, 0, 0, 1, 2, 5, 10, 30, 300}[r.next(10)]
		end := at + []int{1, 3, 5, 10, 15, 20, 20, 40, 200, 0}[r.next(10)]
		times = append(times, wordTime{
			word: words[i], tokens: slices.Clone(g), start: float64(at) / 50, end: float64(end) / 50,
			probability: float64(r.next(1000)) / 1000 / float64(1+r.next(3)),
		})
		at = end
	}
	return times, nil
}

// transcribed transcribes a ramp by a script.
func transcribed(t *testing.T, s scripted, frames, window int, o Options) *transcription {
	t.Helper()
	tr, err := newScripted(s, window, 448, o)
	if err != nil {
		t.Fatal(err)
	}
	r := tr.newTranscription("", ramp{frames, window}, Callbacks{})
	if err := r.transcribeSpans(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r
}

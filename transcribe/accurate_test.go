package transcribe

import (
	"context"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"verity/audio"
	"verity/tokenizer"
	"verity/transcript"
)

// TestBest checks which of the attempts that all gates refused stands.
func TestBest(t *testing.T) {
	o := Options{}.WithDefaults()
	for _, tt := range []struct {
		why   string
		tried []attempt
		want  int
	}{
		{"the likeliest", []attempt{{logProb: -1.3}, {logProb: -1.1}, {logProb: -3}}, 1},
		{"a repetition is likely, and wrong", []attempt{{logProb: -0.1, compression: 9}, {logProb: -2}}, 1},
		{"if all repeat, the one that does least", []attempt{{logProb: -0.1, compression: 9}, {logProb: -2, compression: 3}}, 1},
		{"the first of equals", []attempt{{logProb: -1.5}, {logProb: -1.5}}, 0},
		{"what is not a number never wins", []attempt{{logProb: math.NaN()}, {logProb: -9}}, 1},
	} {
		for i := range tt.tried {
			tt.tried[i].temperature = float64(i)
		}
		if got := o.best(tt.tried).temperature; got != float64(tt.want) {
			t.Errorf("%s: attempt %v stands, want %d", tt.why, got, tt.want)
		}
	}
}

// TestDoubt checks which windows are searched in several sequences, and that the likelier text stands.
func TestDoubt(t *testing.T) {
	tok := multilingual(t)
	for _, tt := range []struct {
		why     string
		logProb float32
		opt     Options
		beams   []int // of each attempt
		text    string
	}{
		{"likely text is left alone", -0.3, Options{}, []int{0}, " greedy"},
		{"doubtful text is searched once", -0.6, Options{}, []int{0, 5}, " several"},
		{"so is what the gate refuses, and what passes ends the ladder", -1.2, Options{}, []int{0, 5}, " several"},
		{"a search that passes over a part does not count", -0.56, Options{InitialPrompt: "long"}, []int{0, 5}, " greedy"},
		{"the user's own search is enough", -0.6, Options{BeamSize: 3}, []int{3}, " greedy"},
		{"one temperature means one attempt", -1.2, Options{Temperatures: []float64{0}}, []int{0}, " greedy"},
		{"without the gate nothing is doubtful", -0.6, Options{MinLogProb: math.Inf(-1)}, []int{0}, " greedy"},
		{"upstream has no such search", -0.6, Options{Strategy: Upstream}, []int{0}, " greedy"},
	} {
		var beams []int
		s := scripted{tok: tok, decodeAt: func(_, _ int, o decodeOptions) decodedWindow {
			beams = append(beams, o.search.Beams)
			if o.search.Beams == doubtBeams {
				return said(tok, 0, " several", 100, -0.55, 0)
			}
			return said(tok, 0, " greedy", 100+1000*min(o.SOT, 1), tt.logProb, 0)
		}}
		got := read(t, s, 3000, 3000, tt.opt)
		if !slices.Equal(beams, tt.beams) || got.Text != tt.text {
			t.Errorf("%s: beams %v, text %q; want %v, %q", tt.why, beams, got.Text, tt.beams, tt.text)
		}
	}
}

// TestLikeliestStands checks a window that every temperature fails, and that the next one does not see it.
func TestLikeliestStands(t *testing.T) {
	tok := multilingual(t)
	for strategy, want := range map[Strategy]float64{Accurate: 0.4, Upstream: 1} {
		prompted := false
		s := scripted{tok: tok, decodeAt: func(seek, _ int, o decodeOptions) decodedWindow {
			prompted = prompted || seek > 0 && o.SOT > 0
			logProb := -2 - float32(math.Abs(float64(o.Sampling.Temperature)-0.4))
			return said(tok, 0, " one", 1500, logProb, 0)
		}}
		got := read(t, s, 6000, 3000, Options{Strategy: strategy})
		if got.Segments[0].Temperature != want || prompted {
			t.Errorf("%s: temperature %v, want %v; prompted: %v", strategy, got.Segments[0].Temperature, want, prompted)
		}
	}
}

// TestLanguageChange checks that text of one language never prompts a window of another, and that a doubtful
// detection changes nothing.
func TestLanguageChange(t *testing.T) {
	tok := multilingual(t)
	type window struct {
		language    string
		probability float32
	}
	const amid = "a change 10 s after a window begins"
	for _, tt := range []struct {
		why      string
		strategy Strategy
		windows  []window
		want     []string // language of each window, and + where text prompts it
	}{
		{"one language", Accurate, []window{{"en", 0.9}, {"en", 0.9}}, []string{"en", "en+"}},
		{"a change", Accurate, []window{{"en", 0.9}, {"nl", 0.9}, {"nl", 0.9}, {"en", 0.9}}, []string{"en", "nl", "nl+", "en"}},
		{"a doubtful change", Accurate, []window{{"en", 0.9}, {"nl", 0.4}, {"nl", 0.9}}, []string{"en", "en+", "nl"}},
		{"upstream", Upstream, []window{{"en", 0.9}, {"nl", 0.4}}, []string{"en", "nl+"}},
		{amid, Accurate, []window{{"en", 0.9}, {"nl", 0.9}}, []string{"en", "en+", "nl"}},
	} {
		var got []string
		s := scripted{tok: tok,
			language: func(seek, size int) (string, float32) {
				w := tt.windows[seek/3000]
				if tt.why == amid && seek == 3000 && size == changeFrames {
					w = tt.windows[0]
				}
				return w.language, w.probability
			},
			decodeAt: func(_, _ int, o decodeOptions) decodedWindow {
				for _, l := range tok.Languages() {
					if l.Token == o.Prompt[o.SOT+1] {
						got = append(got, l.Code+strings.Repeat("+", min(o.SOT, 1)))
					}
				}
				return said(tok, 0, " one", 1500, -0.3, 0)
			}}
		read(t, s, 3000*len(tt.windows), 3000, Options{Language: "en,nl", Multilingual: true, Strategy: tt.strategy})
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.why, got, tt.want)
		}
	}
}

// A spokenRamp is a ramp with real speech.
type spokenRamp struct {
	ramp
	pcm []float32
}

func (s spokenRamp) Samples(_ context.Context, frame, n int) ([]float32, error) {
	at := func(frame int) int { return min(frame*audio.HopLength, len(s.pcm)) }
	return s.pcm[at(frame):at(frame+n)], nil
}

// TestConfirm checks which windows are confirmed by the speech detector, which finds none in silence.
func TestConfirm(t *testing.T) {
	for _, tt := range []struct {
		why  string
		a    attempt
		skip bool
		keep bool
	}{
		{"it repeats the hotwords", attempt{noSpeech: 0.1, tokens: []tokenizer.Token{9, 1, 2, 3, 4, 5, 6, 7, 8, 9}}, false, false},
		{"the model is sure of speech", attempt{noSpeech: 0.1}, false, true},
		{"it is not", attempt{noSpeech: 0.3}, false, false},
		{"it failed, and hotwords may have made it sure", attempt{noSpeech: 0.1, failed: true}, false, false},
		{"the check is off", attempt{noSpeech: 0.3, failed: true}, true, true},
	} {
		r := &transcription{t: &Transcriber{opt: Options{SkipSpeechCheck: tt.skip}, model: &Model{Tokenizer: multilingual(t)},
			hotwords: []tokenizer.Token{1, 2, 3, 4, 5, 6, 7, 8}},
			src: spokenRamp{pcm: make([]float32, audio.SampleRate)}}
		if keep, err := r.confirmSpeech(t.Context(), &window{size: 100, attempt: &tt.a}); keep != tt.keep || err != nil {
			t.Errorf("%s: kept %v, %v", tt.why, keep, err)
		}
	}
}

// TestSpeechStart checks that a word begins where speech does if it follows a pause or is long, else where it was.
func TestSpeechStart(t *testing.T) {
	clip, pcm := openSound(t, "../model/base/jfk.flac"), make([]float32, 2*audio.SampleRate)
	if n, err := clip.Read(pcm); n < len(pcm) {
		t.Fatal(n, err)
	}
	r := func(s Strategy) *transcription {
		return &transcription{t: &Transcriber{opt: Options{Strategy: s}}, lastWord: 1,
			src: spokenRamp{pcm: slices.Concat(make([]float32, 3*audio.SampleRate), pcm)}} // speech from 3.3 s on
	}
	for _, tt := range []struct {
		why        string
		strategy   Strategy
		start, end float64
		least      float64 // of the new start
	}{
		{"after a pause", Accurate, 2.7, 3.5, 3.2},
		{"long", Accurate, 1.1, 3.5, 3.2},
		{"long before", Accurate, 1.5, 3.5, 3.2},
		{"short, right after another word", Accurate, 1.1, 1.5, 0},
		{"speech begins after the word", Accurate, 2, 2.4, 0},
		{"within speech", Accurate, 3.5, 4.5, 0},
		{"upstream", Upstream, 2.7, 3.5, 0},
	} {
		segments := []transcript.Segment{{Start: tt.start, Words: []transcript.Word{
			{Start: tt.start, End: tt.end}, {Start: tt.end, End: tt.end + 0.3}}}}
		if err := r(tt.strategy).startWithSpeech(t.Context(), &window{size: 3000, segments: segments}); err != nil {
			t.Fatal(err)
		}
		s, w := segments[0], segments[0].Words[0]
		if moved := w.Start != tt.start; moved != (tt.least > 0) || w.Start < tt.least || w.Start > 3.4 && moved || s.Start != w.Start {
			t.Errorf("%s: the word begins at %v, its segment at %v", tt.why, w.Start, s.Start)
		}
		if got := segments[0].Words[1]; got.Start != tt.end {
			t.Errorf("%s: the next word begins at %v, want %v", tt.why, got.Start, tt.end)
		}
	}
}

// TestEndInSpeech checks that zeros follow sound that is cut amid speech, and silence other sound.
func TestEndInSpeech(t *testing.T) {
	clip, speech := openSound(t, "../model/base/jfk.flac"), make([]float32, audio.SampleRate)
	for range 2 { // the second begins in the first pause and ends amid a word
		if n, err := clip.Read(speech); n < len(speech) {
			t.Fatal(n, err)
		}
	}
	quiet := slices.Clone(speech)
	for i := range quiet[len(quiet)-audio.SampleRate/20:] {
		quiet[len(quiet)-1-i] *= 0.01
	}
	for _, tt := range []struct {
		why      string
		strategy Strategy
		pcm      []float32
		window   int
		zeros    bool
	}{
		{"cut", Accurate, speech, 300, true},
		{"cut, in a full window", Accurate, speech, 100, false},
		{"a quiet end", Accurate, quiet, 300, false},
		{"silence", Accurate, make([]float32, len(speech)), 300, false},
		{"upstream", Upstream, speech, 300, false},
	} {
		r := &transcription{t: &Transcriber{opt: Options{Strategy: tt.strategy}}, src: spokenRamp{pcm: tt.pcm}}
		mel := &audio.Mel{Bins: 2, Frames: tt.window, Data: slices.Repeat([]float32{1}, 2*tt.window)}
		if err := r.endInSpeech(t.Context(), mel, &window{size: 100, frames: tt.window}); err != nil {
			t.Fatal(err)
		}
		zeros := slices.Index(mel.Data, 0)
		if want := map[bool]int{true: 100, false: -1}[tt.zeros]; zeros != want {
			t.Errorf("%s: the first zero is frame %d, want %d", tt.why, zeros, want)
		}
	}
}

// TestGaps: speech that a window leaves out is decoded again; what still has no words is reported, once.
func TestGaps(t *testing.T) {
	tok := multilingual(t)
	demo, err := audio.Open(t.Context(), "../model/digits/digits.wav")
	if err != nil {
		t.Fatal(err)
	}
	defer demo.Close()
	speech := make([]float32, 9*audio.SampleRate) // digits
	if n, err := demo.Read(speech); n < len(speech) {
		t.Fatal(n, err)
	}
	quiet := make([]float32, 10*audio.SampleRate)
	pcm := slices.Concat(speech, quiet[:3*audio.SampleRate], speech, quiet[:9*audio.SampleRate])
	src := spokenRamp{ramp{3000, 3000}, pcm} // speech from 0 to 9 s and from 12 to 21 s
	const (
		provisional = "another text follows"

		first  = " one two three four five six seven eight nine ten one two three four five six seven eight"
		second = " ten nine eight seven six five four three two one ten nine eight seven six five four three"
	)
	for _, tt := range []struct {
		why   string
		opt   Options
		found bool // whether a window that begins later finds the second stretch
		want  string
		gaps  int
	}{
		{"found", Options{}, true, first + second, 0},
		{"not found", Options{}, false, first, 1},
		{"one temperature is enough", Options{Temperatures: []float64{0}}, true, first + second, 0},
		{"upstream", Options{Strategy: Upstream}, true, first, 0},
		{provisional, Options{}, true, first, 0},
	} {
		windows := 0
		s := scripted{tok: tok, open: new(atomic.Int32), decodeAt: func(seek, size int, _ decodeOptions) decodedWindow {
			windows++
			switch {
			case seek == 0:
				return said(tok, 0, first, 450, -0.3, 0)
			case tt.found && seek < 1300:
				return said(tok, (1200-seek)/2, second, (2100-seek)/2, -0.3, 0)
			}
			return said(tok, 0, "", 0, -0.3, 0)
		}}
		tt.opt.Language = "en"
		tr, err := newScripted(s, 3000, 448, tt.opt)
		if err != nil {
			t.Fatal(err)
		}
		tr.pass = Pass{Provisional: tt.why == provisional}
		r := tr.newTranscription("", src, Callbacks{})
		if err := r.transcribeSpans(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := r.transcript()
		if got.Text != tt.want || len(got.Gaps) != tt.gaps || windows > 4 || s.open.Load() != 0 {
			t.Errorf("%s: %q, gaps %v, %d windows; want %q, %d gaps", tt.why, got.Text, got.Gaps, windows, tt.want, tt.gaps)
		}
		for _, g := range got.Gaps {
			if g.Start < 11 || g.End > 22 || g.End-g.Start < 5 {
				t.Errorf("%s: gap %v, want the speech from 12 to 21 s", tt.why, g)
			}
		}
	}
}

// TestStartAfterPause: a segment that begins with a pause begins with its first word.
func TestStartAfterPause(t *testing.T) {
	tok := multilingual(t)
	r := &transcription{t: &Transcriber{model: &Model{Tokenizer: tok}}, src: spokenRamp{pcm: make([]float32, 27*audio.SampleRate)}}
	for _, start := range []float64{20, 17} { // the second word is too long, and has a part of the pause
		segments := []transcript.Segment{{End: 27, Text: " nine", Tokens: tok.Encode(" nine"), Words: []transcript.Word{{Start: start, End: 21}}}}
		gaps, err := r.findGaps(t.Context(), &window{size: 2700, advance: 2700, segments: segments})
		if s := segments[0]; err != nil || len(gaps) > 0 || s.Start != 20 || s.Words[0].Start != 20 {
			t.Errorf("got start %v, word %v, gaps %v, error %v; want 20 and none", s.Start, s.Words[0], gaps, err)
		}
	}
}

// TestEndWithSound: nothing ends after the sound, nothing is lost, and order stays.
func TestEndWithSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		begin := rapid.Float64Range(0, 50).Draw(t, "begin")
		limit := begin + rapid.Float64Range(0.01, 30).Draw(t, "length")
		var segments []transcript.Segment
		at := begin
		for range rapid.IntRange(0, 5).Draw(t, "segments") {
			at += rapid.Float64Range(0, 12).Draw(t, "pause")
			s := transcript.Segment{Start: at, Text: rapid.StringN(1, 9, -1).Draw(t, "text")}
			at += rapid.Float64Range(0.02, 9).Draw(t, "length")
			s.End = at
			s.Words = []transcript.Word{{Start: s.Start, End: s.End}}
			segments = append(segments, s)
		}
		before := slices.Clone(segments)
		endWithSound(segments, begin, limit)
		last := begin
		for i, s := range segments {
			w := s.Words[0]
			if !(s.Start >= last-1e-9 && s.End > s.Start && s.End <= limit+1e-9 && w.Start <= w.End && w.End <= limit) {
				t.Fatalf("segment %d of %v: %+v ends after %v, or overlaps", i, before, s, limit)
			}
			if last = s.End; before[i].End <= limit && before[len(before)-1].Start < limit && s.Start != before[i].Start {
				t.Fatalf("segment %d: %+v was moved from %+v", i, s, before[i])
			}
		}
	})
}

// TestJoinNumbers checks that a number is one word.
func TestJoinNumbers(t *testing.T) {
	for words, want := range map[string]string{
		" $43|,000.":         " $43,000.",
		" 1|,000|,000| and":  " 1,000,000| and",
		" 3|.|5":             " 3|.|5", // the point is a word of its own, joined to neither by upstream's rule
		" 3.|5":              " 3.5",
		" 12|:30":            " 12:30",
		" in| 2020,| 15.|1%": " in| 2020,| 15.1%",
		" one,| 2":           " one,| 2",
		" 5| 6":              " 5| 6",
		" a,|000":            " a,|000",
	} {
		var times []wordTime
		for i, w := range strings.Split(words, "|") {
			times = append(times, wordTime{word: w, tokens: []tokenizer.Token{tokenizer.Token(i)}, start: float64(i), end: float64(i) + 1, probability: 0.5})
		}
		joinNumbers(times)
		var got []string
		tokens, end := 0, 0.0
		for _, w := range times {
			if tokens += len(w.tokens); w.word != "" {
				got = append(got, w.word)
				end = w.end
			}
		}
		if strings.Join(got, "|") != want || tokens != len(times) || end != float64(len(times)) {
			t.Errorf("%q: got %q with %d tokens to %v, want %q", words, got, tokens, end, want)
		}
	}
}

// TestSpansEnd: no window reaches beyond the end of its part, unlike upstream's, which rounds.
func TestSpansEnd(t *testing.T) {
	spans := []Span{{0.005, 0.015}, {0.29, 0.58}, {1, 1.236}, {2, math.Inf(1)}}
	if got, want := frameSpans(spans, 300, false), []frameSpan{{0, 1}, {29, 58}, {100, 123}, {200, 300}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

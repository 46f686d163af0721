package live

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"verity/audio"
	"verity/internal/testing/needs"
	"verity/model"
	"verity/model/base"
	"verity/tokenizer"
	"verity/transcribe"
	"verity/transcript"
)

// said makes words of half a second each from a text.
func said(text string, from float64) (words []transcript.Word) {
	for i, w := range strings.Fields(text) {
		at := from + float64(i)/2
		words = append(words, transcript.Word{Word: " " + w, Start: at, End: at + 0.5})
	}
	return words
}

func TestAgreement(t *testing.T) {
	tests := []struct {
		why    string
		passes []string // each over all of the sound; "=" before the last one
		want   []string // confirmed by each
	}{
		{"one pass confirms nothing", []string{"and so"}, []string{""}},
		{"two that agree do", []string{"and so", "and so my"}, []string{"", " and so"}},
		{"up to where they differ", []string{"and so me", "and so my fellow", "and so my fellows"}, []string{"", " and so", " my"}},
		{"the spelling must be the same", []string{"and so.", "and so, my", "and so, my"}, []string{"", " and", " so, my"}},
		{"a later pass that spells confirmed words anew takes nothing back", []string{"and so", "and so my", "And so my fellow", "= And so my fellow Americans"}, []string{"", " and so", " my", " fellow Americans"}},
		{"confirmed words are not said again when others are left out", []string{"one two three", "one two three four", "two three four five", "= two three four five"}, []string{"", " one two three", " four", " five"}},
		{"nor when one is added", []string{"a b c d", "a b c d", "a b x c d e", "= a b x c d e f"}, []string{"", " a b c d", "", " e f"}},
		{"a pass without words does no harm", []string{"one two", "", "one two", "one two"}, []string{"", "", "", " one two"}},
		{"the last pass confirms all", []string{"one", "= one two three"}, []string{"", " one two three"}},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			var a agreement
			for i, text := range tt.passes {
				text, last := strings.CutPrefix(text, "= ")
				from := 0.0
				if strings.HasPrefix(text, "two") {
					from = 0.5
				}
				var got []transcript.Word
				if words := said(text, from); last {
					got = a.finish(words)
				} else {
					got = a.add(words)
				}
				if transcript.JoinWords(got) != tt.want[i] {
					t.Errorf("pass %d, %q: confirmed %q, want %q", i, text, transcript.JoinWords(got), tt.want[i])
				}
			}
		})
	}
}

// TestAgreementReplaced: a phrase that has been replaced waits as long as it may begin a longer one.
func TestAgreementReplaced(t *testing.T) {
	r := transcript.NewReplacer([]transcript.Replacement{{Heard: "cube", Written: "Kube"}, {Heard: "cube control", Written: "kubectl"}})
	a := agreement{unfinished: r.Unfinished}
	for i, pass := range []struct{ text, want string }{
		{"use cube", ""}, {"use cube", " use"}, {"use cube control now", ""}, {"use cube control now", " kubectl now"},
		{"use cube control now cube here", ""}, {"use cube control now cube here", " Kube here"},
	} {
		words := said(pass.text, 0)
		got := a.add(r.Segment(transcript.Segment{Text: transcript.JoinWords(words), Words: words}).Words)
		if transcript.JoinWords(got) != pass.want {
			t.Errorf("pass %d, %q: confirmed %q, want %q", i, pass.text, transcript.JoinWords(got), pass.want)
		}
	}
}

// scripted returns an utterance whose passes say what f does.
func scripted(f func(from, to float64, last bool) []transcript.Word) *Utterance {
	u := (&Transcriber{}).utterance(NewStream(&Transcriber{}, nil), 0)
	u.agreed = agreement{} // no terms
	u.onePass = func(_ context.Context, pcm []float32, p transcribe.Pass, _ []transcript.Cue) (*transcript.Transcript, []transcript.Cue, error) {
		from := seconds(u.cut)
		words := f(from, from+seconds(int64(len(pcm))), !p.Provisional)
		for i := range words {
			words[i].Start -= from
			words[i].End -= from
		}
		s := transcript.Segment{Words: words}
		if len(words) > 0 {
			s.End = words[len(words)-1].End
		}
		return &transcript.Transcript{Language: "en", Segments: []transcript.Segment{s}}, nil, nil
	}
	return u
}

// TestEndless: speech without a pause is heard whole, every word once, in bounded memory,
// though the last words of each pass are wrong.
func TestEndless(t *testing.T) {
	const total = 300 // seconds, two words in each
	u := scripted(func(from, to float64, last bool) (words []transcript.Word) {
		for i := 0; i < 2*total; i++ {
			start, end := float64(i)/2, float64(i)/2+0.5
			if start < from-0.05 || end > to {
				continue
			}
			word := fmt.Sprintf(" w%d", i)
			if end > to-0.8 && !last {
				word += "?" // cut off
			}
			words = append(words, transcript.Word{Word: word, Start: start, End: end})
		}
		return words
	})
	text, most := "", 0
	for at := range total {
		u.Add(make([]float32, audio.SampleRate))
		r, err := u.Pass(t.Context(), at == total-1)
		if err != nil {
			t.Fatal(err)
		}
		text += transcript.JoinWords(r.Confirmed)
		most = max(most, len(u.pcm))
		if len(u.earlierText) > contextBytes+64 || len(u.agreed.confirmed) > 100 {
			t.Fatalf("%d bytes of text and %d words are kept", len(u.earlierText), len(u.agreed.confirmed))
		}
	}
	if most > (maxSound+2)*audio.SampleRate {
		t.Errorf("%d s of sound are kept", most/audio.SampleRate)
	}
	for i, w := range strings.Fields(text) {
		if w != fmt.Sprintf("w%d", i) {
			t.Fatalf("word %d is %s:\n%s", i, w, text)
		}
	}
	if n := len(strings.Fields(text)); n != 2*total {
		t.Errorf("%d words, want %d", n, 2*total)
	}
}

// TestDisagreement: where no two passes agree, memory is bounded all the same, and text
// comes.
func TestDisagreement(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	u := scripted(func(from, to float64, _ bool) (words []transcript.Word) {
		for at := from; at+0.5 <= to; at += 0.5 {
			words = append(words, transcript.Word{Word: fmt.Sprintf(" r%d", r.Int()), Start: at, End: at + 0.5})
		}
		return words
	})
	confirmed := 0
	for range 120 {
		u.Add(make([]float32, audio.SampleRate))
		got, err := u.Pass(t.Context(), false)
		if err != nil {
			t.Fatal(err)
		}
		confirmed += len(got.Confirmed)
		if len(u.pcm) > (maxSound+2)*audio.SampleRate {
			t.Fatalf("%d s of sound are kept", len(u.pcm)/audio.SampleRate)
		}
	}
	if confirmed < 100 {
		t.Errorf("%d words in two minutes", confirmed)
	}
}

// TestFailed: after a pass that failed another can be made.
func TestFailed(t *testing.T) {
	u := scripted(func(float64, float64, bool) []transcript.Word { return said("one", 0) })
	good := u.onePass
	u.onePass = func(context.Context, []float32, transcribe.Pass, []transcript.Cue) (*transcript.Transcript, []transcript.Cue, error) {
		return nil, nil, errors.New("broken")
	}
	u.Add(make([]float32, audio.SampleRate))
	if _, err := u.Pass(t.Context(), false); err == nil {
		t.Error("a pass that failed has no error")
	}
	u.onePass = good
	if r, err := u.Pass(t.Context(), true); err != nil || transcript.JoinWords(r.Confirmed) != " one" {
		t.Errorf("%q, %v", transcript.JoinWords(r.Confirmed), err)
	}
}

// pcmOf returns the samples of a file.
func pcmOf(t *testing.T, name string) []float32 {
	t.Helper()
	c, err := audio.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	pcm := make([]float32, 300*audio.SampleRate)
	n, _ := c.Read(pcm)
	return pcm[:n]
}

// TestEar: speech between two silences is one utterance, with nothing of it lost, however
// the sound is cut into pieces.
func TestEar(t *testing.T) {
	speech := pcmOf(t, "../../model/base/jfk.flac")
	sound := make([]float32, 2*audio.SampleRate, len(speech)+4*audio.SampleRate)
	sound = append(append(sound, speech...), make([]float32, 2*audio.SampleRate)...)
	stream := func(o TurnOptions) (s *Stream, ended *[]*Utterance) {
		s, ended = NewStream(&Transcriber{}, &o), new([]*Utterance)
		s.OnEnd = func(u *Utterance) { *ended = append(*ended, u) }
		return s, ended
	}
	var first *Utterance
	for _, size := range []int{1, 160, 512, 10000, len(sound)} {
		s, ended := stream(TurnOptions{0.5, 300, 1200})
		for piece := range slices.Chunk(sound, size) {
			s.Add(piece)
		}
		if len(*ended) != 1 || s.Len() != int64(len(sound)) {
			t.Fatalf("pieces of %d: %d utterances in %d samples, want one in %d", size, len(*ended), s.Len(), len(sound))
		}
		u := (*ended)[0]
		if first == nil {
			first = u
		}
		if u.Start != first.Start || u.Len() != first.Len() || !slices.Equal(u.pcm, sound[u.Start:u.Start+u.Len()]) {
			t.Errorf("pieces of %d: %d samples from %d, or others than the sound", size, u.Len(), u.Start)
		}
	}
	if first.Start < audio.SampleRate || first.Start > 5*audio.SampleRate/2 || first.Start+first.Len() < 12*audio.SampleRate {
		t.Errorf("the utterance is from %d, of %d", first.Start, first.Len())
	}
	t.Run("silence", func(t *testing.T) {
		s, ended := stream(DefaultTurns())
		if s.Add(make([]float32, 10*audio.SampleRate)); len(*ended) > 0 || s.open != nil || len(s.detector.recent) > audio.SampleRate {
			t.Errorf("%d utterances in silence, %d samples kept", len(*ended), len(s.detector.recent))
		}
	})
	t.Run("commit", func(t *testing.T) {
		s, ended := stream(DefaultTurns())
		s.Add(speech[:4*audio.SampleRate+100])
		s.Commit()
		n := len(*ended)
		if u := (*ended)[n-1]; u.Start+u.Len() != 4*audio.SampleRate+100 || s.Len() != 4*audio.SampleRate+100 {
			t.Errorf("the end of speech: %d samples from %d", u.Len(), u.Start)
		}
		if s.Commit(); len(*ended) != n {
			t.Error("it ends twice")
		}
		s.Add(speech[:audio.SampleRate+7])
		open := s.open
		s.Clear()
		s.Add(speech[:10])
		s.Commit()
		if open == nil || !open.discarded.Load() || len(*ended) != n || s.Len() != 5*audio.SampleRate+117 {
			t.Errorf("after a clear: %d samples, %d utterances more", s.Len(), len(*ended)-n)
		}
	})
	for _, o := range []TurnOptions{{1, 300, 500}, {0, 300, 500}, {-1, 300, 500}, {0.5, 300, 0}, {0.5, 300, 1}, {0.5, 300, 1 << 20}, {0.5, 1 << 20, 500}, {0.5, -1, 500}} {
		if _, ok := errors.AsType[*transcribe.OptionError](o.Check()); !ok {
			t.Errorf("%+v is accepted", o)
		}
	}
}

// TestCommitted: without an ear every sample is in an utterance; the queue holds what a full
// stream lets in, be it utterances of one sample.
func TestCommitted(t *testing.T) {
	s := NewStream(&Transcriber{}, nil)
	var all int64
	s.OnEnd = func(u *Utterance) {
		if u.Start != all {
			t.Fatalf("utterance %d begins at %d, want %d", u.Number, u.Start, all)
		}
		all += u.Len()
	}
	for s.hasRoom(1) {
		s.Add([]float32{0.5})
		s.Commit()
	}
	if s.Add(nil); all != maxQueued || s.Len() != maxQueued || s.open != nil {
		t.Errorf("%d samples, %d in utterances, want %d", s.Len(), all, maxQueued)
	}
}

// growing makes passes over a sound as it comes, step seconds at a time, and returns the
// confirmed text. It wants every pass to add to it and the words to be in order.
func growing(t *testing.T, m *transcribe.Model, pcm []float32, step float64) string {
	t.Helper()
	u, err := utterance(m, transcribe.Options{})
	if err != nil {
		t.Fatal(err)
	}
	text, early, words := "", 0, 0
	size := int(step * audio.SampleRate)
	for i := 0; i < len(pcm); i += size {
		end := min(i+size, len(pcm))
		u.Add(pcm[i:end])
		r, err := u.Pass(t.Context(), end == len(pcm))
		if err != nil {
			t.Fatal(err)
		}
		words += len(r.Confirmed)
		if text += transcript.JoinWords(r.Confirmed); end < len(pcm) {
			early = len(text)
		}
	}
	if early == 0 || words != len(strings.Fields(text)) {
		t.Errorf("%d bytes were confirmed before the end, %d words of %q", early, words, text)
	}
	return tokenizer.Strip(text)
}

func load(t *testing.T, c *model.Checkpoint, err error) *transcribe.Model {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	m, err := transcribe.Load(t.Context(), c, transcribe.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

// TestSpeech: Whisper itself, over a speech that grows, says what it says at the end.
func TestSpeech(t *testing.T) {
	if testing.Short() {
		t.Skip("needs make test-all: a real Whisper takes seconds for each pass")
	}
	if base.Base() == nil {
		t.Skip("needs the model inside: built with -tags nomodel")
	}
	c, err := model.OpenFS(base.Base(), "base")
	m := load(t, c, err)
	got := growing(t, m, pcmOf(t, "../../model/base/jfk.flac"), 3)
	const want = "and so my fellow americans ask not what your country can do for you ask what you can do for your country"
	if bare := strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if strings.ContainsRune(".,:;!?", r) {
			return -1
		}
		return r
	}, strings.ToLower(got))), " "); bare != want {
		t.Errorf("%q", got)
	}
}

// utterance returns an Utterance of a model.
func utterance(m *transcribe.Model, o transcribe.Options) (*Utterance, error) {
	t, err := New(m, o)
	if err != nil {
		return nil, err
	}
	return t.utterance(NewStream(t, nil), 0), nil
}

// TestBehind: passes that are slow become fewer, and those that are not the last encode
// what was said and a margin, never a whole window for a word.
func TestBehind(t *testing.T) {
	for _, tt := range []struct {
		turn   time.Duration
		behind bool
		due    float64 // s
		step   float64
	}{
		{0, false, DefaultStep, DefaultStep}, {400 * time.Millisecond, false, DefaultStep, DefaultStep},
		{2 * time.Second, true, 2.5, DefaultStep}, {8 * time.Second, true, 10, DefaultStep},
		{500 * time.Millisecond, true, 0.625, 0.4}, {2 * time.Second, false, 3, 3},
	} {
		t0 := (&Transcriber{}).WithStep(tt.step)
		u := t0.utterance(NewStream(t0, nil), 0)
		if got := u.SamplesBeforeNextPass(tt.turn); got != int64(tt.due*audio.SampleRate) || u.IsLate(tt.turn) != tt.behind {
			t.Errorf("step %v, a turn of %v: %d samples, behind %t", tt.step, tt.turn, got, u.IsLate(tt.turn))
		}
	}
}

// TestCommittedNoise: sound that a client commits, without a detector of turns, has no text unless somebody speaks.
func TestCommittedNoise(t *testing.T) {
	if base.Base() == nil {
		t.Skip("needs the model inside: built with -tags nomodel")
	}
	pcm := pcmOf(t, needs.SharedFile(t, "speech/nospeech/noise_1000ms.wav"))
	c, err := model.OpenFS(base.Base(), "base")
	m := load(t, c, err)
	for _, unchecked := range []bool{false, true} {
		u, err := utterance(m, transcribe.Options{SkipSpeechCheck: unchecked})
		if err != nil {
			t.Fatal(err)
		}
		u.Add(pcm)
		r, err := u.Pass(t.Context(), true)
		if err != nil {
			t.Fatal(err)
		}
		if got := transcript.JoinWords(r.Confirmed); (got != "") != unchecked {
			t.Errorf("unchecked %v: got %q; only without the check is there text", unchecked, got)
		}
	}
}

// TestLanguageTurns: an utterance in another language is not prompted by the one before, and one whose language is
// not sure has that of the one before.
func TestLanguageTurns(t *testing.T) {
	for _, tt := range []struct {
		why         string
		probability float64
		upstream    bool
		want        []string // language and prompt of each pass over the second utterance
	}{
		{"a change", 0.9, false, []string{" en", " "}},
		{"a doubtful change", 0.3, false, []string{" en", "en en"}},
		{"upstream", 0.9, true, []string{" en"}},
	} {
		s := NewStream(&Transcriber{}, nil)
		utterance := func(language string, probability float64) (got []string) {
			u := (&Transcriber{}).utterance(s, 0)
			u.upstream = tt.upstream
			u.onePass = func(_ context.Context, _ []float32, p transcribe.Pass, _ []transcript.Cue) (*transcript.Transcript, []transcript.Cue, error) {
				got = append(got, p.Language+" "+p.Prompt)
				words := []transcript.Word{{Word: " " + language, End: 1}}
				tr := &transcript.Transcript{Language: language, LanguageProb: probability, Segments: []transcript.Segment{{Words: words, End: 1}}}
				tr.Stats.Windows = 1
				if p.Language != "" {
					tr.Language, tr.LanguageProb = p.Language, 0
				}
				return tr, nil, nil
			}
			u.Add(make([]float32, audio.SampleRate))
			if r, err := u.Pass(t.Context(), true); err != nil || r.Stats.Windows != len(got) {
				t.Fatalf("%s: %d windows counted of %d, error %v", tt.why, r.Stats.Windows, len(got), err)
			}
			return got
		}
		utterance("en", 0.9)
		if got := utterance("nl", tt.probability); !slices.Equal(got, tt.want) {
			t.Errorf("%s: passes %q, want %q", tt.why, got, tt.want)
		}
	}
}

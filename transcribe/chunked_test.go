package transcribe

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"verity/audio"
	"verity/decoder"
	"verity/models/digits"
	"verity/tokenizer"
	"verity/transcript"
)

// TestChunksCut: windows and overlaps, in frames, as transformers' chunk_iter cuts them.
func TestChunksCut(t *testing.T) {
	type cut struct{ seek, size, left, right int }
	for _, tt := range []struct {
		why    string
		frames int
		opt    ChunkOptions
		spans  []Span
		want   []cut
	}{
		{"one window", 2500, ChunkOptions{}, nil, []cut{{0, 2500, 0, 0}}},
		{"exactly one", 3000, ChunkOptions{}, nil, []cut{{0, 3000, 0, 0}}},
		{"a sixth at either end", 7100, ChunkOptions{}, nil, []cut{{0, 3000, 0, 500}, {2000, 3000, 500, 500}, {4000, 3000, 500, 500}, {6000, 1100, 500, 0}}},
		{"shorter windows, 1 s", 4000, ChunkOptions{Length: 20, Stride: 1}, nil, []cut{{0, 2000, 0, 100}, {1800, 2000, 100, 100}, {3600, 400, 100, 0}}},
		{"spans apart", 9000, ChunkOptions{}, []Span{{1, 20}, {50, 81}}, []cut{{100, 1900, 0, 0}, {5000, 3000, 0, 500}, {7000, 1100, 500, 0}}},
		{"nothing", 0, ChunkOptions{}, nil, nil},
	} {
		tt.opt.Merge = MergeLCS
		tr := scriptedChunks(t, Options{Chunked: &tt.opt, Spans: tt.spans}, nil)
		r := tr.newTranscription("", ramp{tt.frames, 3000}, Watch{})
		var got []cut
		for i, span := range r.at.todo {
			for c := range r.cutChunks(t.Context(), span, i == 0) {
				if c.err != nil {
					t.Fatal(c.err)
				}
				if c.begins != (len(got) == 0) {
					t.Errorf("%s: window %d begins: %v", tt.why, len(got), c.begins)
				}
				got = append(got, cut{c.seek, c.size, c.left, c.right})
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.why, got, tt.want)
		}
	}
}

// scriptedChunks returns a Transcriber over a script that tells each window's tokens.
func scriptedChunks(t *testing.T, o Options, tell func(seek, size int, o decoder.SessionOptions) decoding) *Transcriber {
	t.Helper()
	tok, err := tokenizer.Embedded(51864)
	if err != nil {
		t.Fatal(err)
	}
	tr, err := newScripted(scripted{tok: tok, tell: tell}, 3000, 448, o)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// say makes a decoding of text and seconds of timestamps.
func say(tok *tokenizer.Tokenizer, parts ...any) (d decoding) {
	put := func(t tokenizer.Token) { d.choices = append(d.choices, decoder.Choice{Token: t, LogProb: -0.1}) }
	for _, p := range parts {
		switch p := p.(type) {
		case float64:
			put(tok.TimestampBegin + tokenizer.Token(math.Round(p/0.02)))
		case string:
			for _, x := range tok.Encode(p) {
				put(x)
			}
		}
	}
	put(tok.EOT)
	return d
}

// TestChunkedText: what overlapping windows say becomes one text, with the times of the
// clip; a silent window ends what is open, and is not merged over.
func TestChunkedText(t *testing.T) {
	var mu sync.Mutex
	prompts := map[int]string{}
	var tok *tokenizer.Tokenizer
	tell := func(seek, _ int, o decoder.SessionOptions) decoding {
		mu.Lock()
		defer mu.Unlock()
		prompts[seek] = tok.DecodeWithTimestamps(o.Prompt)
		switch seek {
		case 0:
			return say(tok, 0.0, " one two three", 10.0, 12.0, " four five six seven", 29.0)
		case 2000: // hears from 20 s on
			return say(tok, 0.0, " five six seven", 9.0, 9.0, " eight nine", 20.0, 21.0, " ten")
		case 4000:
			d := say(tok)
			d.noSpeechProb = 1
			d.choices[0].LogProb = -9
			return d
		}
		return say(tok, 1.0, " ten ten", 3.0)
	}
	for _, tt := range []struct {
		why  string
		opt  Options
		want []string
	}{
		{"lcs, with timestamps", Options{Chunked: &ChunkOptions{Merge: MergeLCS}}, []string{
			"0 0.0-10.0 one two three", "0 12.0-29.0 four five six seven", "2000 29.0-40.0 eight nine", "2000 40.0-50.0 ten", "6000 61.0-63.0 ten ten"}},
		{"lcs, without", Options{Chunked: &ChunkOptions{Merge: MergeLCS}, WithoutTimestamps: true}, []string{
			"0 0.0-25.0 one two three four five", "2000 25.0-45.0 six seven eight nine ten", "6000 65.0-90.0 ten ten"}},
		{"times", Options{Chunked: &ChunkOptions{Merge: MergeTimes}}, []string{
			"0 0.0-10.0 one two three", "0 12.0-29.0 four five six seven", "2000 29.0-40.0 eight nine", "2000 41.0-50.0 ten", "6000 61.0-63.0 ten ten"}},
	} {
		tt.opt.Chunked.Windows = 3
		tt.opt.InitialPrompt, tt.opt.Prefix = "Numbers", "Well"
		tr := scriptedChunks(t, tt.opt, tell)
		tok = tr.model.Tokenizer
		var watched []transcript.Segment
		r := tr.newTranscription("", ramp{9000, 3000}, Watch{Segment: func(s transcript.Segment) { watched = append(watched, s) }})
		if err := r.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := r.transcript()
		if !reflect.DeepEqual(got.Segments, watched) || got.Stats.Windows != 4 || got.Stats.Silent != 1 {
			t.Errorf("%s: watched %v of %v; %+v", tt.why, watched, got.Segments, got.Stats.Work)
		}
		if lines := linesOf(got); !slices.Equal(lines, tt.want) {
			t.Errorf("%s: got %q\nwant %q", tt.why, lines, tt.want)
		}
		for seek, prompt := range prompts {
			if !strings.HasPrefix(prompt, "<|startofprev|> Numbers<|startoftranscript|>") && seek != 0 || strings.HasSuffix(prompt, " Well") != (seek == 0) {
				t.Errorf("%s: the window at %d is shown %q", tt.why, seek, prompt)
			}
		}
	}
}

func linesOf(tr *transcript.Transcript) (lines []string) {
	for i, s := range tr.Segments {
		if s.ID != i {
			lines = append(lines, "a wrong number")
		}
		lines = append(lines, fmt.Sprintf("%d %.1f-%.1f %s", s.Seek, s.Start, s.End, s.Line()))
	}
	return lines
}

// TestChunkedRefuses: what cannot be done says so.
func TestChunkedRefuses(t *testing.T) {
	tok, err := tokenizer.Embedded(51864)
	if err != nil {
		t.Fatal(err)
	}
	for field, o := range map[string]Options{
		"Chunked.Length":       {Chunked: &ChunkOptions{Length: 59}},
		"Chunked.Stride":       {Chunked: &ChunkOptions{Merge: MergeLCS, Length: 10, Stride: 5}},
		"Chunked.Windows":      {Chunked: &ChunkOptions{Windows: MaxChunkWindows + 1}},
		"Chunked.Merge":        {Chunked: &ChunkOptions{Merge: "both"}},
		"HallucinationSilence": {Chunked: &ChunkOptions{Merge: MergeTimes}, WordTimestamps: true, HallucinationSilence: 2},
		"Multilingual":         {Multilingual: true},
		"AudioContext":         {AudioContext: 1501},
	} {
		var option *OptionError
		if _, err := newScripted(scripted{tok: tok}, 3000, 448, o); !errors.As(err, &option) || option.Field != field {
			t.Errorf("%+v: error %v, want one of %s", o, err, field)
		}
	}
	for _, merge := range []Merge{MergeTimes, MergeLanes} {
		for _, bad := range []ChunkOptions{
			{Length: math.NaN()}, {Length: 0.5}, {Length: -1}, {Length: math.Inf(1)}, {Stride: math.NaN()}, {Stride: -1}, {Windows: -1},
		} {
			if bad.Merge = merge; bad.check(30) == nil {
				t.Errorf("%+v was taken", bad)
			}
		}
	}
	for _, bad := range []ChunkOptions{{Merge: "other"}, {Length: 31, Merge: MergeLCS}, {Length: maxLane + 1}, {Stride: 5}} {
		if bad.check(30) == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
	live := scriptedChunks(t, Options{Chunked: &ChunkOptions{}}, nil)
	if _, err := live.Live(t.Context(), "", nil, Watch{}); err == nil {
		t.Error("live sound was taken in parts")
	}
}

// TestChunkedError: a window that fails ends the clip, and those begun with it. What was
// said before it is kept.
func TestChunkedError(t *testing.T) {
	gone := errors.New("gone")
	for _, merge := range []Merge{MergeLCS, MergeTimes, MergeLanes} {
		var tok *tokenizer.Tokenizer
		tr := scriptedChunks(t, Options{Chunked: &ChunkOptions{Windows: 4, Merge: merge}}, func(int, int, decoder.SessionOptions) decoding {
			return say(tok, 0.0, " one two three", 20.0, 20.0, " four", 30.0)
		})
		tok = tr.model.Tokenizer
		tr.network = failing{tr.network, gone}
		r := tr.newTranscription("", ramp{30000, 3000}, Watch{})
		if err := r.run(t.Context()); !errors.Is(err, gone) {
			t.Errorf("%s: error %v, want %v", merge, err, gone)
		}
		if got := r.transcript(); len(got.Segments) == 0 {
			t.Errorf("%s: what was said before the failure is lost", merge)
		}
	}
}

// A failing network cannot encode what is behind 60 s.
type failing struct {
	network
	err error
}

func (f failing) encode(ctx context.Context, mel *audio.Mel, step func(float64)) (window, error) {
	if mel.Data[0] > 6000 {
		return nil, f.err
	}
	return f.network.encode(ctx, mel, step)
}

// long returns the recording of digits some times over.
func long(t testing.TB, times int) *audio.Clip {
	t.Helper()
	clip, err := audio.OpenReader("digits.wav", strings.NewReader(string(digits.Sample())))
	if err != nil {
		t.Fatal(err)
	}
	defer clip.Close()
	var pcm []float32
	buf := make([]float32, 1<<14)
	for {
		n, err := clip.Read(buf)
		pcm = append(pcm, buf[:n]...)
		if err != nil {
			break
		}
	}
	return audio.FromSamples("digits", slices.Repeat(pcm, times))
}

// TestChunkedDigits: a real network says in overlapping windows what it says in sequence,
// all but a few words; how many windows are decoded at a time, threads and the assistant
// change nothing.
func TestChunkedDigits(t *testing.T) {
	one, two := demoModels(t, 1), demoModels(t, 2)
	hear := func(m *Model, windows int) *transcript.Transcript {
		return transcribeClip(t, m, Options{Chunked: &ChunkOptions{Windows: windows, Merge: MergeTimes}, WordTimestamps: true}, long(t, 2))
	}
	want := hear(one["none"], 1)
	plain := transcribeClip(t, one["none"], Options{}, long(t, 2))
	checkDigits(t, want, plain)
	checkUntimed(t, transcribeClip(t, one["none"], Options{Chunked: &ChunkOptions{Merge: MergeTimes}, WithoutTimestamps: true}, long(t, 2)), plain)
	for _, tt := range []struct {
		name    string
		models  map[string]*Model
		windows int
	}{{"demo", two, 3}, {"none", two, 2}, {"ngram", one, 8}} {
		m := tt.models[tt.name]
		if tt.name != "none" {
			m = with(m, m.assistant, constant(3))
		}
		got := hear(m, tt.windows)
		if !sameText(got, want) || got.Stats.Drafts.Drafted == 0 != (tt.name == "none") {
			t.Errorf("%s, %d threads, %d windows at a time: drafted %d, got\n%q, want\n%q", tt.name, m.Threads(), tt.windows, got.Stats.Drafts.Drafted, got.Text, want.Text)
		}
		if s := got.Stats.Seconds; !(s.Decode > 0 && s.Verify <= s.Decode*1.0001 && s.Mel+s.Encode+s.CrossKV+s.Words+s.Decode <= s.Total*1.0001) {
			t.Errorf("%s: times %+v do not add up", tt.name, s)
		}
		if testing.Short() {
			break // the others share no more
		}
	}
}

func checkDigits(t *testing.T, got, plain *transcript.Transcript) {
	t.Helper()
	a, b := strings.Fields(got.Text), strings.Fields(plain.Text)
	if n := len(b); n < 20 || len(a) < n-4 || len(a) > n+4 {
		t.Errorf("%d words in overlapping windows, %d in sequence:\n%q\n%q", len(a), len(b), got.Text, plain.Text)
	}
	at, words := 0.0, 0
	for _, s := range got.Segments {
		if !(s.Start >= at && s.End >= s.Start && s.End <= got.Duration+0.02) {
			t.Errorf("segment %+v begins before %v or does not end in the clip", s, at)
		}
		words += len(s.Words)
		for _, w := range s.Words {
			if !(w.Start >= at-0.5 && w.End >= w.Start && w.Probability > 0 && w.Probability <= 1) {
				t.Errorf("word %+v behind %v", w, at)
			}
			at = w.End
		}
	}
	if words != len(a) {
		t.Errorf("%d words have times, want %d", words, len(a))
	}
}

// checkUntimed wants about the words of plain from windows decoded without timestamps,
// which are merged by the times of their words; and no words, which nobody asked for.
func checkUntimed(t *testing.T, got, plain *transcript.Transcript) {
	t.Helper()
	a, b := strings.Fields(got.Text), strings.Fields(plain.Text)
	if len(a) < len(b)-4 || len(a) > len(b)+4 || got.Stats.Seconds.Words <= 0 || len(got.Segments[0].Words) > 0 {
		t.Errorf("without timestamps %d words of %d, timed in %v s:\n%q\n%q", len(a), len(b), got.Stats.Seconds.Words, got.Text, plain.Text)
	}
}

// TestNoSpeech: 65 s in which nobody speaks are three silent windows and no segment, one
// after the other and side by side.
func TestNoSpeech(t *testing.T) {
	for _, chunked := range []*ChunkOptions{nil, {Merge: MergeTimes}, {}} {
		var tok *tokenizer.Tokenizer
		tr := scriptedChunks(t, Options{Chunked: chunked}, func(int, int, decoder.SessionOptions) decoding {
			d := say(tok, 0.0, " you", 2.0)
			d.noSpeechProb, d.choices[1].LogProb = 0.9, -20
			return d
		})
		tok = tr.model.Tokenizer
		r := tr.newTranscription("", ramp{6500, 3000}, Watch{})
		if err := r.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := r.transcript()
		if len(got.Segments) != 0 || got.Text != "" || got.Stats.Silent != 3 || got.Stats.Windows != 3 || got.Stats.Attempts != 3 {
			t.Errorf("chunked %v: %q, %+v", chunked != nil, got.Text, got.Stats.Work)
		}
	}
}

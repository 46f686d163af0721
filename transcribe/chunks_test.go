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
	"verity/model/digits"
	"verity/tokenizer"
	"verity/transcript"
)

// TestChunksCut: a span is cut evenly, at quiet places; no chunk is shorter than asked for.
func TestChunksCut(t *testing.T) {
	for _, tt := range []struct {
		why    string
		frames int
		length float64
		spans  []Span
		want   [][2]int
	}{
		{"one", 17900, 0, nil, [][2]int{{0, 17900}}},
		{"two", 18000, 0, nil, [][2]int{{0, 9000}, {9000, 18000}}},
		{"three of a minute", 20000, 60, nil, [][2]int{{0, 6666}, {6666, 13333}, {13333, 20000}}},
		{"spans apart", 40000, 0, []Span{{10, 190}, {300, 310}}, [][2]int{{1000, 10000}, {10000, 19000}, {30000, 31000}}},
		{"nothing", 0, 0, nil, nil},
	} {
		tr := scriptedChunks(t, Options{Chunked: true, chunkSeconds: tt.length, Spans: tt.spans}, nil)
		r := tr.newTranscription("", ramp{tt.frames, 3000}, Callbacks{})
		var got [][2]int
		for i, span := range r.cursor.todo {
			if span.start == span.end {
				continue
			}
			for l := range r.cutChunks(t.Context(), span, i == 0, nil, &chunkProgress{to: r}) {
				if l.err != nil || l.run.continued == (len(got) == 0) {
					t.Errorf("%s: chunk %d: continues %v, error %v", tt.why, len(got), l.run.continued, l.err)
				}
				got = append(got, [2]int{l.start, l.end})
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.why, got, tt.want)
		}
	}
}

// A chunkScript says a number of words a second apart, as a network would that hears the
// frames of a ramp: those that lie in a window as a whole, in segments of six.
type chunkScript struct {
	tok     *tokenizer.Tokenizer
	words   []string
	mu      sync.Mutex
	prompts map[int]string
}

func (s *chunkScript) decodeAt(seek, size int, o decodeOptions) decodedWindow {
	s.mu.Lock()
	s.prompts[seek] = s.tok.DecodeWithTimestamps(o.Prompt[:o.SOT])
	if len(o.Prompt) > o.SOT+1 {
		s.prompts[seek] += "|" + s.tok.Decode(o.Prompt[o.SOT:])
	}
	s.mu.Unlock()
	var parts []any
	first, last := (seek+99)/100, (seek+size)/100
	for i := first; i < min(last, len(s.words)); i += 6 {
		to := min(i+6, last, len(s.words))
		if to < i+6 && to < len(s.words) && i > first {
			break // left out: its end is not heard
		}
		parts = append(parts, float64(100*i-seek)/100, strings.Join(s.words[i:to], ""), float64(100*to-seek)/100)
	}
	if to := len(parts); to > 0 && last < len(s.words) {
		parts = append(parts, parts[to-1]) // more follows
	}
	return scriptedText(s.tok, parts...)
}

// TestChunksText: whatever the cuts, chunks say every word once and in order, with the times
// of the clip; how many are decoded at a time changes nothing. Every chunk begins with the
// initial prompt, and the first with the prefix.
func TestChunksText(t *testing.T) {
	var words []string
	for i := range 300 {
		words = append(words, []string{" one", " two", " three", " four", " five", " six", " seven"}[i*i%7*3%7])
	}
	for _, length := range []float64{60, 71, 90, 140, 290} {
		var want *transcript.Transcript
		for _, windows := range []int{1, 3, 8} {
			s := &chunkScript{words: words, prompts: map[int]string{}}
			tr := scriptedChunks(t, Options{
				Chunked: true, chunkSeconds: length, chunks: windows, InitialPrompt: "Numbers", Prefix: "Well",
				MaxCompressionRatio: math.Inf(1), Temperatures: []float64{0}, // the words repeat
			}, s.decodeAt)
			s.tok = tr.model.Tokenizer
			got := watchedRun(t, tr, 30000)
			checkChunks(t, got, s, int(300/length))
			if want == nil {
				want = got
			}
			if !sameText(got, want) {
				t.Errorf("chunks of %v s, %d at a time: got\n%q, want\n%q", length, windows, linesOf(got), linesOf(want))
			}
		}
	}
}

// watchedRun transcribes a ramp and checks the callbacks.
func watchedRun(t *testing.T, tr *Transcriber, frames int) *transcript.Transcript {
	t.Helper()
	var watched []transcript.Segment
	total, last := seconds(frames), map[string]float64{}
	told := func(what string) func(float64, float64) {
		return func(done, all float64) {
			if done < last[what] || done > total || all != total {
				t.Errorf("%s: %v of %v after %v", what, done, all, last[what])
			}
			last[what] = done
		}
	}
	r := tr.newTranscription("", ramp{frames, 3000}, Callbacks{
		Segment:  func(s transcript.Segment) { watched = append(watched, s) },
		Progress: told("progress"), Estimate: told("within"),
	})
	if err := r.transcribeSpans(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := r.transcript()
	if !reflect.DeepEqual(got.Segments, watched) || last["progress"] < total-1e-6 || last["within"] < total-1e-6 {
		t.Errorf("watched %d segments of %d, progress %v of %v", len(watched), len(got.Segments), last, total)
	}
	return got
}

func checkChunks(t *testing.T, got *transcript.Transcript, s *chunkScript, chunks int) {
	t.Helper()
	if want := strings.Join(s.words, ""); got.Text != want {
		t.Errorf("%d chunks: got\n%s\nwant\n%s", chunks, got.Text, want)
	}
	at, n := 0.0, 0
	for i, seg := range got.Segments {
		if seg.ID != i || seg.Start < at || seg.End <= seg.Start || seg.Start > float64(n)+1 {
			t.Errorf("segment %d: %+v begins before %v, or late", i, seg, at)
		}
		at, n = seg.End, n+len(strings.Fields(seg.Text))
	}
	alone := 0
	for _, p := range s.prompts {
		if strings.HasPrefix(p, "<|startofprev|> Numbers<|startoftranscript|>") || p == "<|startofprev|> Numbers" || strings.HasPrefix(p, "<|startofprev|> Numbers|") {
			alone++
		}
		if !strings.HasPrefix(p, "<|startofprev|>") {
			t.Errorf("a window without the initial prompt or text: %q", p)
		}
	}
	if alone != chunks || !strings.HasSuffix(s.prompts[0], "| Well") {
		t.Errorf("%d windows begin with the initial prompt alone, want %d; the first with %q", alone, chunks, s.prompts[0])
	}
	if got.Stats.Windows != len(s.prompts) {
		t.Errorf("%d windows are counted, %d were decoded", got.Stats.Windows, len(s.prompts))
	}
}

// scriptedChunks returns a Transcriber over a script that tells each window's tokens.
func scriptedChunks(t *testing.T, o Options, decodeAt func(seek, size int, o decodeOptions) decodedWindow) *Transcriber {
	t.Helper()
	tok, err := tokenizer.Embedded(51864)
	if err != nil {
		t.Fatal(err)
	}
	tr, err := newScripted(scripted{tok: tok, decodeAt: decodeAt}, 3000, 448, o)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// scriptedText makes a decodedWindow of text and seconds of timestamps.
func scriptedText(tok *tokenizer.Tokenizer, parts ...any) (d decodedWindow) {
	put := func(t tokenizer.Token) { d.Choices = append(d.Choices, decoder.Choice{Token: t, LogProb: -0.1}) }
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

func linesOf(tr *transcript.Transcript) (lines []string) {
	for i, s := range tr.Segments {
		if s.ID != i {
			lines = append(lines, "a wrong number")
		}
		lines = append(lines, fmt.Sprintf("%d %.1f-%.1f %s", s.Seek, s.Start, s.End, s.TrimmedText()))
	}
	return lines
}

// TestChunksError: a window that fails ends the clip, and those begun with it. What was
// said before it is kept.
func TestChunksError(t *testing.T) {
	gone := errors.New("gone")
	var tok *tokenizer.Tokenizer
	tr := scriptedChunks(t, Options{Chunked: true, chunks: 4}, func(int, int, decodeOptions) decodedWindow {
		return scriptedText(tok, 0.0, " one two three", 20.0, 20.0, " four", 30.0)
	})
	tok = tr.model.Tokenizer
	tr.network = failing{tr.network, gone}
	r := tr.newTranscription("", ramp{30000, 3000}, Callbacks{})
	if err := r.transcribeSpans(t.Context()); !errors.Is(err, gone) {
		t.Errorf("error %v, want %v", err, gone)
	}
	if got := r.transcript(); len(got.Segments) == 0 {
		t.Error("what was said before the failure is lost")
	}
}

// A failing network cannot encode what is behind 60 s.
type failing struct {
	network
	err error
}

func (f failing) encode(ctx context.Context, mel *audio.Mel, s *transcript.Seconds, step func(float64)) (encodedWindow, error) {
	if mel.Data[0] > 6000 {
		return nil, f.err
	}
	return f.network.encode(ctx, mel, s, step)
}

// long returns the recording of digits some times over.
func long(t testing.TB, times int) *audio.Clip {
	t.Helper()
	clip, err := audio.Input{}.OpenReader(t.Context(), "digits.wav", strings.NewReader(string(digits.Sample())))
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

// TestNoSpeech: 65 s in which nobody speaks are three silent windows and no segment, one
// after the other and side by side. The last is short, so it is decoded twice.
func TestNoSpeech(t *testing.T) {
	for _, chunked := range []bool{false, true} {
		tok := multilingual(t)
		s := scripted{tok: tok, decodeAt: func(int, int, decodeOptions) decodedWindow {
			return said(tok, 0, " you", 100, -20, 0.9)
		}}
		got := read(t, s, 6500, 3000, Options{Chunked: chunked})
		if len(got.Segments) != 0 || got.Text != "" || got.Stats.Silent != 3 || got.Stats.Windows != 3 || got.Stats.Attempts != 4 {
			t.Errorf("chunked %v: %q, %+v", chunked, got.Text, got.Stats.Work)
		}
	}
}

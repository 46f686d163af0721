package synth

import (
	"bytes"
	"cmp"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"verity/assistant"
	"verity/audio"
	"verity/internal/zlibsize"
	"verity/model"
	"verity/parallel"
	"verity/tokenizer"
	"verity/transcribe"
)

// write writes a tiny pair and returns its script.
func write(t *testing.T, o Options) (dir string, s *script) {
	t.Helper()
	dir = t.TempDir()
	o.Size, o.Assistant, o.Tokens = cmp.Or(o.Size, "tiny"), cmp.Or(o.Assistant, Distil), cmp.Or(o.Tokens, 100)
	if _, _, err := Write(t.Context(), dir, o); err != nil {
		t.Fatal(err)
	}
	d, err := Dims(o.Size)
	if err != nil {
		t.Fatal(err)
	}
	return dir, newTestScript(t, d.Vocab, o)
}

func newTestScript(t *testing.T, vocab int, o Options) *script {
	t.Helper()
	tok, err := tokenizer.Embedded(vocab)
	if err != nil {
		t.Fatal(err)
	}
	s, err := newScript(tok, 448, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func open(t *testing.T, dir string) *model.Checkpoint {
	t.Helper()
	c, err := model.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// spoken transcribes a tone of that many seconds with upstream's defaults.
func spoken(t *testing.T, m *transcribe.Model, seconds int) (tokens []Token, out string, drafted, accepted int) {
	t.Helper()
	pcm := make([]float32, seconds*audio.SampleRate)
	for i := range pcm {
		pcm[i] = 0.1 * float32(math.Sin(float64(i)*0.05))
	}
	tr, err := transcribe.New(m, transcribe.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := tr.Transcribe(t.Context(), audio.FromSamples("tone", pcm), transcribe.Callbacks{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range got.Segments {
		tokens = append(tokens, s.Tokens...)
		if s.Temperature != 0 || !(s.AvgLogProb > -0.5) || !(s.NoSpeechProb < 0.1) || !(s.CompressionRatio < 2.4) {
			t.Errorf("segment %d does not pass the default gates easily: %+v", s.ID, s)
		}
	}
	if got.Language != "en" {
		t.Errorf("language = %q, want en", got.Language)
	}
	return tokens, got.Text, got.Stats.Drafts.Drafted, got.Stats.Drafts.Accepted
}

// TestPlanted checks that the target writes the planted text, alone and with either kind
// of assistant, and that as many drafts are accepted as were planted.
func TestPlanted(t *testing.T) {
	if testing.Short() {
		t.Skip("needs make test-all: writes and runs models of size tiny")
	}
	pool := parallel.New(0)
	defer pool.Close()
	for _, shape := range []Shape{Distil, Tiny} {
		t.Run(string(shape), func(t *testing.T) {
			dir, s := write(t, Options{Alpha: 0.8, Assistant: shape, TextSeed: 3})
			c := open(t, filepath.Join(dir, "target"))
			m, err := transcribe.Load(t.Context(), c, transcribe.LoadOptions{Pool: pool})
			if err != nil {
				t.Fatal(err)
			}
			plain, text, _, _ := spoken(t, m, 10)
			if !slices.Equal(plain, s.text) {
				t.Fatalf("said %q\nwant %q", text, m.Tokenizer.Decode(s.text))
			}
			m, err = transcribe.Load(t.Context(), c, transcribe.LoadOptions{
				SharedWith: m,
				Assistant:  transcribe.AssistantOptions{Checkpoint: open(t, filepath.Join(dir, "assistant"))},
				Policy:     func() assistant.Policy { return assistant.Constant(4) },
			})
			if err != nil {
				t.Fatal(err)
			}
			if shares := m.Assistant.(*assistant.Model).Encoder == nil; shares != (shape == Distil) {
				t.Errorf("shares the target's encoder: %v", shares)
			}
			assisted, _, drafted, accepted := spoken(t, m, 10)
			if !slices.Equal(assisted, plain) {
				t.Errorf("assisted: %v, want as plain: %v", assisted, plain)
			}
			if d, a, _ := play(s.agrees(), 4); drafted != d || accepted != a {
				t.Errorf("%d of %d accepted, planted were %d of %d", accepted, drafted, a, d)
			}
		})
	}
}

// agrees reports for each position of the first window, end-of-text included, whether
// both models choose the same.
func (s *script) agrees() []bool {
	agrees := make([]bool, len(s.text)+1)
	for i := range agrees {
		agrees[i] = s.target[s.first+i] == s.drafts[s.first+i]
	}
	return agrees
}

// play counts drafted tokens, accepted tokens and rounds of a window with drafts of n
// tokens.
func play(agrees []bool, n int) (drafted, accepted, rounds int) {
	for at, end := 0, len(agrees)-1; at <= end; at++ {
		rounds++
		for i := 0; i < n && at <= end; i++ {
			drafted++
			if !agrees[at] {
				drafted += min(n-1-i, max(0, end-at)) // the rest of the draft is lost
				break
			}
			accepted++
			at++
		}
	}
	return drafted, accepted, rounds
}

// TestLongFile checks the text of windows whose prompts hold the text before them.
func TestLongFile(t *testing.T) {
	if testing.Short() {
		t.Skip("needs make test-all: writes and runs models of size tiny")
	}
	pool := parallel.New(0)
	defer pool.Close()
	for _, size := range []string{"tiny", "tiny.en"} {
		dir, s := write(t, Options{Size: size, Tokens: 40})
		m, err := transcribe.Load(t.Context(), open(t, filepath.Join(dir, "target")), transcribe.LoadOptions{Pool: pool})
		if err != nil {
			t.Fatal(err)
		}
		got, _, _, _ := spoken(t, m, 65)
		if len(got) < 2*len(s.text) || !slices.Equal(got[:len(s.text)], s.text) || !slices.Equal(got[len(s.text):2*len(s.text)], s.text) {
			t.Errorf("%s: two windows: got %v, want twice %v", size, got, s.text)
		}
	}
}

// TestAgreement checks that a share α of the positions of every window agrees, rounded to
// whole positions, and that the next window has others.
func TestAgreement(t *testing.T) {
	const n = 101 // positions
	for _, alpha := range []float64{0, 0.5, 0.8, 0.95, 1} {
		s := newTestScript(t, 51865, Options{Alpha: alpha, Tokens: n - 1, TextSeed: 7})
		var last []bool
		for at := s.first; at+n <= len(s.target); at += n { // window by window
			same := 0
			window := make([]bool, n)
			for i := range window {
				if window[i] = s.target[at+i] == s.drafts[at+i]; window[i] {
					same++
				}
			}
			if want := alpha * n; !(math.Abs(float64(same)-want) <= 0.5) {
				t.Errorf("α = %v, position %d: %d places agree, want %.1f", alpha, at, same, want)
			}
			if alpha > 0 && alpha < 1 && slices.Equal(window, last) {
				t.Errorf("α = %v: two windows agree at the same places", alpha)
			}
			last = window
		}
	}
}

// TestDraw checks that every position agrees equally often, within five standard
// deviations, and that a position that errs at one α errs at every lower one. So speeds
// differ by α and not by chance.
func TestDraw(t *testing.T) {
	const n, seeds = 50, 2000
	higher := make([][]bool, seeds)
	for _, alpha := range []float64{0.9, 0.8, 0.3} {
		often := make([]int, n)
		for seed := range uint64(seeds) {
			agrees := draw(rand.New(rand.NewPCG(seed, 2)), n, alpha)
			for i, same := range agrees {
				if same {
					often[i]++
				}
				if same && higher[seed] != nil && !higher[seed][i] {
					t.Fatalf("seed %d: place %d agrees at α = %v, and not at a higher one", seed, i, alpha)
				}
			}
			higher[seed] = agrees
		}
		bound := 5 * math.Sqrt(seeds*alpha*(1-alpha))
		for i, same := range often {
			if !(math.Abs(float64(same)-seeds*alpha) <= bound) {
				t.Errorf("α = %v: place %d agrees %d times, want %.0f ± %.0f", alpha, i, same, seeds*alpha, bound)
			}
		}
	}
}

// TestGivenText: the text of a window can be one's own, as one segment.
func TestGivenText(t *testing.T) {
	tok, err := tokenizer.Embedded(51865)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Tokens: 100, Text: "The pulpits likewise\n"}
	if got, want := tok.DecodeWithTimestamps(newTestScript(t, 51865, o).text), "<|0.00|> The pulpits likewise<|29.00|>"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	o.Text = strings.Repeat("likewise ", mostTokens)
	if _, err := newScript(tok, 448, o); err == nil {
		t.Errorf("a text of %d words: got no error", mostTokens)
	}
}

// TestText checks texts of every length: sentences between timestamps that never
// decrease, with a zlib ratio below the threshold.
func TestText(t *testing.T) {
	tok, err := tokenizer.Embedded(51866)
	if err != nil {
		t.Fatal(err)
	}
	never := tok.NonSpeech()
	for n := 4; n <= mostTokens; n++ {
		text := newTestScript(t, 51866, Options{Tokens: n, TextSeed: uint64(n)}).text
		if len(text) != n || text[0] != tok.TimestampBegin || !tok.IsTimestamp(text[n-1]) || tok.IsTimestamp(text[n-2]) {
			t.Fatalf("%d tokens: got %s", n, tok.DecodeWithTimestamps(text))
		}
		last, run := Token(0), 0
		for _, x := range text {
			if slices.Contains(never, x) {
				t.Errorf("%d tokens: %d is suppressed", n, x)
			}
			if !tok.IsTimestamp(x) {
				run = 0
				continue
			}
			if run++; x < last || run > 2 {
				t.Errorf("%d tokens: timestamps out of order: %s", n, tok.DecodeWithTimestamps(text))
			}
			last = x
		}
		said := strings.TrimSpace(tok.Decode(text))
		if ratio := float64(len(said)) / float64(zlibsize.Len(said)); !(ratio < 2.2) {
			t.Errorf("%d tokens: compression ratio %.2f", n, ratio)
		}
	}
}

// TestSource checks that values do not depend on where reading begins, and that their
// mean and deviation are those requested.
func TestSource(t *testing.T) {
	s := newSource("x", newSpread(0.5, 0.25))
	const n = 3*chunk + 6
	whole := make([]uint16, n)
	s.fill(whole, 0)
	var b bytes.Buffer
	if err := s.write(&b, n); err != nil || !bytes.Equal(b.Bytes(), bytesOf(whole)) {
		t.Errorf("write, %v: not what fill gives", err)
	}
	part := make([]uint16, 10)
	if s.fill(part, 400); !slices.Equal(part, whole[400:410]) {
		t.Errorf("fill from 400 = %v, want %v", part, whole[400:410])
	}
	c, err := Open("tiny")
	if err != nil {
		t.Fatal(err)
	}
	w, err := c.Weight("decoder.layers.3.fc1.weight")
	if err != nil {
		t.Fatal(err)
	}
	sum, squares := 0.0, 0.0
	for _, v := range w.Tensor().Float32() {
		sum += float64(v)
		squares += float64(v) * float64(v)
	}
	k := float64(w.Len())
	if mean, dev := sum/k, math.Sqrt(squares/k); !(math.Abs(mean) < 2e-4 && math.Abs(dev-0.02) < 2e-4) {
		t.Errorf("a matrix of mean %.2g, deviation %.4f; want 0, 0.02", mean, dev)
	}
}

func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	for _, o := range []Options{
		{"tiny", -0.1, Distil, 100, "", 0, nil}, {"tiny", math.NaN(), Distil, 100, "", 0, nil}, {"tiny", 1, Distil, 3, "", 0, nil}, {"tiny", 1, Distil, 224, "", 0, nil},
		{"huge", 1, Distil, 100, "", 0, nil}, {"tiny", 1, "big", 100, "", 0, nil},
	} {
		if _, _, err := Write(t.Context(), dir, o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
	target := filepath.Join(dir, "target")
	if err := os.MkdirAll(target, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(target, "config.json"), []byte("{}"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Write(t.Context(), dir, Options{"tiny", 1, Distil, 100, "", 0, nil}); err == nil || !strings.Contains(err.Error(), "did not make") {
		t.Errorf("over somebody's checkpoint: error = %v", err)
	}
	if err := os.RemoveAll(target); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(t.TempDir(), target); err != nil {
		t.Skip("needs symbolic links: ", err)
	}
	if _, _, err := Write(t.Context(), dir, Options{"tiny", 1, Distil, 100, "", 0, nil}); err == nil || !strings.Contains(err.Error(), "a link") {
		t.Errorf("through a link: error = %v", err)
	}
}

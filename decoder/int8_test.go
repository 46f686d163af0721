package decoder_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"verity/audio"
	"verity/decoder"
	"verity/internal/testing/needs"
	"verity/model"
	"verity/model/digits"
	"verity/parallel"
	"verity/precision"
	"verity/tokenizer"
	"verity/transcribe"
	"verity/wer"
)

// TestInt8Cosine compares the logits of the demo model in int8 with those in float32 by
// their cosine, at every position of a text that the float32 model writes from real
// speech.
func TestInt8Cosine(t *testing.T) {
	const least = 0.999
	mel := demoMel(t)
	wide, narrow := encodeAndDecode(t, mel, precision.F32, 1), encodeAndDecode(t, mel, precision.Int8, 1)
	text := wide.write(t)
	want, got := wide.logits(t, text), narrow.logits(t, text)
	worst, dot, a2, b2 := 1.0, 0.0, 0.0, 0.0
	for p := range want {
		d, a, b := products(want[p], got[p])
		dot, a2, b2 = dot+d, a2+a, b2+b
		c := d / math.Sqrt(a*b)
		if !(c >= least) { // true for NaN
			t.Errorf("position %d: cosine %.5f, want at least %v", p, c, least)
		}
		worst = min(worst, c)
	}
	t.Logf("cosine %.6f over %d positions, %.6f at the worst", dot/math.Sqrt(a2*b2), len(want), worst)
}

// products returns a·b, a·a and b·b.
func products(a, b []float32) (ab, aa, bb float64) {
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		ab, aa, bb = ab+x*y, aa+x*x, bb+y*y
	}
	return ab, aa, bb
}

// logits returns the logits after every token of text.
func (h hearing) logits(t *testing.T, text []tokenizer.Token) [][]float32 {
	t.Helper()
	s := h.d.NewStream(h.cross)
	defer s.Close()
	vocab := h.d.Dims().Vocab
	all := make([]float32, len(text)*vocab)
	rows := make([]decoder.Row, len(text))
	for i := range rows {
		rows[i] = decoder.Row{Stream: s, Position: i, Token: text[i], WantLogits: true}
	}
	if err := h.d.Step(t.Context(), rows, all); err != nil {
		t.Fatal(err)
	}
	split := make([][]float32, len(text))
	for i := range split {
		split[i] = all[i*vocab:][:vocab]
	}
	return split
}

// TestInt8Words transcribes the demo recording and strings of digits by the test speakers in int8
// and in float32: the word error rates differ by at most half a point.
func TestInt8Words(t *testing.T) {
	needs.Long(t, "bits are the same on every instruction set, so rates are")
	clips := []spoken{{"digits.wav", samples(t, "digits.wav", digits.Sample()), "one nine seven six eight three five two seven four"}}
	clips = append(clips, strung(t)...)
	rate := func(store precision.Format) (float64, int) {
		c := words(t, store, clips)
		n := c.Hits + c.Subs + c.Dels
		return 100 * float64(c.Errors()) / float64(n), n
	}
	wide, n := rate(precision.F32)
	narrow, _ := rate(precision.Int8)
	t.Logf("%d words in %d recordings: %.2f %% wrong in float32, %.2f %% in int8", n, len(clips), wide, narrow)
	if !(math.Abs(narrow-wide) <= 0.5) { // true for NaN
		t.Errorf("word error rate %.2f %% in int8, %.2f %% in float32: more than half a point apart", narrow, wide)
	}
}

// A spoken is a recording and its text.
type spoken struct {
	name string
	pcm  []float32
	text string
}

// strung returns concatenated recordings of single digits by test speakers, two to six of
// one speaker with pauses between.
func strung(t *testing.T) (list []spoken) {
	t.Helper()
	manifest := needs.SharedFile(t, "digits/manifest.jsonl")
	f, err := os.Open(manifest)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rng := rand.New(rand.NewPCG(5, 6))
	last, room := "", 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var row struct {
			File    string `json:"audio_filepath"`
			Text    string `json:"text"`
			Speaker string `json:"speaker"`
			Split   string `json:"split"`
		}
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		if row.Split != "test" {
			continue
		}
		b, err := os.ReadFile(filepath.Join(filepath.Dir(manifest), row.File))
		if err != nil {
			t.Fatal(err)
		}
		pause := make([]float32, 3200+rng.IntN(4800)) // 0.2 to 0.5 s
		if row.Speaker != last || room == 0 {
			list = append(list, spoken{name: row.File, pcm: pause})
			last, room = row.Speaker, 2+rng.IntN(5)
		}
		s := &list[len(list)-1]
		s.pcm = append(append(s.pcm, samples(t, row.File, b)...), pause...)
		s.text += " " + row.Text
		room--
	}
	return list
}

// samples reads a sound file.
func samples(t *testing.T, name string, b []byte) (pcm []float32) {
	t.Helper()
	clip, err := audio.Input{}.OpenReader(t.Context(), name, bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	defer clip.Close()
	for buf := make([]float32, 1<<15); err == nil; {
		var n int
		n, err = clip.Read(buf)
		pcm = append(pcm, buf[:n]...)
	}
	if err != io.EOF {
		t.Fatal(err)
	}
	return pcm
}

// words transcribes clips with the demo model and counts errors.
func words(t *testing.T, store precision.Format, clips []spoken) (sum wer.Counts) {
	t.Helper()
	c, err := model.OpenFS(digits.Target(), "demo")
	if err != nil {
		t.Fatal(err)
	}
	pool := parallel.New(2)
	defer pool.Close()
	m, err := transcribe.Load(t.Context(), c, transcribe.LoadOptions{Pool: pool, Precision: precision.Of(store)})
	if err != nil {
		t.Fatal(err)
	}
	tr, err := transcribe.New(m, transcribe.Options{Language: "en", Temperatures: []float64{0}, WithoutTimestamps: true})
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]int32{}
	split := func(text string) (list []int32) {
		for _, w := range strings.Fields(strings.ToLower(text)) {
			if _, ok := ids[w]; !ok {
				ids[w] = int32(len(ids))
			}
			list = append(list, ids[w])
		}
		return list
	}
	for _, s := range clips {
		clip := audio.FromSamples(s.name, s.pcm)
		got, err := tr.Transcribe(t.Context(), clip, transcribe.Callbacks{})
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for _, g := range got.Segments {
			text += " " + g.Text
		}
		sum = sum.Plus(wer.Count(split(s.text), split(text)))
		clip.Close()
	}
	return sum
}

package ctc

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/x448/float16"

	"verity/assistant"
	"verity/audio"
	"verity/decoder"
	"verity/encoder"
	"verity/internal/kernel"
	"verity/model"
	inside "verity/model/base"
	"verity/parallel"
	"verity/wer"
)

// readHalves reads a file of binary16 numbers.
func readHalves(t *testing.T, name string) []float32 {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float32, len(b)/2)
	for i := range x {
		x[i] = float16.Frombits(binary.LittleEndian.Uint16(b[2*i:])).Float32()
	}
	return x
}

// TestHeadGolden: the head computes what PyTorch computes from the same weights. testdata holds 48
// positions of base's encoder on a recording of LibriSpeech and the log-probabilities that
// tools/drafter/train.py's network gives for them in float32. The head rounds its inputs to 8 bits:
// a product of n terms is off by about 1/254 of its size for each input's rounding, and six of
// them follow each other, so 0.25 of log-probability is allowed where a symbol is probable.
func TestHeadGolden(t *testing.T) {
	a, err := Load(os.DirFS("base"), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	x := readHalves(t, "testdata/features.f16")
	want := readHalves(t, "testdata/logprobs.f16")
	got, err := a.head.Run(&encoder.Features{Width: 512, Positions: len(x) / 512, Data: x}, len(x))
	if err != nil {
		t.Fatal(err)
	}
	if got.N != len(x)/1024 || len(got.LogProb) != len(want) {
		t.Fatalf("got %d frames of %d symbols, want %d values", got.N, got.Symbols, len(want))
	}
	for i, w := range want {
		if g := got.LogProb[i]; w > -3 && !(math.Abs(float64(g-w)) <= 0.25) {
			t.Errorf("frame %d, symbol %d: got %v, want %v", i/got.Symbols, i%got.Symbols, g, w)
		}
	}
}

// TestHeadThreads: the head computes the same bits with any number of threads.
func TestHeadThreads(t *testing.T) {
	x := readHalves(t, "testdata/features.f16")
	var want []float32
	for _, threads := range []int{1, 2, 3} {
		pool := parallel.New(threads)
		defer pool.Close()
		a, err := Load(os.DirFS("base"), pool, nil)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time with used memory
			f, err := a.head.Run(&encoder.Features{Width: 512, Positions: len(x) / 512, Data: x}, len(x))
			if err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = f.LogProb
			}
			for i, w := range want {
				if f.LogProb[i] != w {
					t.Fatalf("%d threads: value %d: got %v, want %v", threads, i, f.LogProb[i], w)
				}
			}
		}
	}
}

// TestLoadErrors: a directory that lacks a part, or has one of another head, is refused.
func TestLoadErrors(t *testing.T) {
	read := func(name string) *fstest.MapFile {
		b, err := os.ReadFile("base/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return &fstest.MapFile{Data: b}
	}
	whole, symbols := read(headFile), read("symbols.txt")
	for name, files := range map[string]fstest.MapFS{
		"no head":         {"symbols.txt": symbols},
		"no symbols":      {headFile: whole},
		"too few symbols": {headFile: whole, "symbols.txt": {Data: []byte("abc")}},
		"cut off":         {headFile: {Data: whole.Data[:len(whole.Data)/2]}, "symbols.txt": symbols},
		"not a head":      {headFile: {Data: []byte("\x02\x00\x00\x00\x00\x00\x00\x00{}")}, "symbols.txt": symbols},
	} {
		if a, err := Load(files, nil, nil); err == nil {
			t.Errorf("%s: got %v, want an error", name, a)
		}
	}
	files := fstest.MapFS{headFile: whole, "symbols.txt": symbols, "words-en.gz": {Data: []byte("damaged")}}
	a, err := Load(files, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if a.wordsOf("en") != nil || a.wordsOf("fr") != nil {
		t.Error("a damaged list, or none, gives words")
	}
}

// TestLanguages: the built-in head has words in the languages that the documents name.
func TestLanguages(t *testing.T) {
	a, err := Load(os.DirFS("base"), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for language, word := range map[string]string{"en": "the", "de": "und", "nl": "het"} {
		w := a.wordsOf(language)
		if w == nil {
			t.Errorf("%s: no words", language)
			continue
		}
		node := int32(0)
		for _, r := range word {
			if node = w.child(node, r); node < 0 {
				t.Fatalf("%s: %q is not in the list", language, word)
			}
		}
		if w.nodes[node].rank < 0 || w.nodes[node].rank > 20 {
			t.Errorf("%s: %q has rank %d, want a frequent word", language, word, w.nodes[node].rank)
		}
	}
}

// TestForOther: a model with another encoder gets no head.
func TestForOther(t *testing.T) {
	c, err := model.Open(t.Context(), "../../model/digits/target")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if a, err := For(c, nil, nil); a != nil || err != nil {
		t.Errorf("the test model: got %v, %v, want none", a, err)
	}
}

// TestAudiblePositions: the head reads a window to the end of its audio.
func TestAudiblePositions(t *testing.T) {
	m := &audio.Mel{Bins: 2, Frames: 3000, Data: make([]float32, 6000)}
	m.Data[3000+999] = 0.5
	if got := audiblePositions(m); got != 525 {
		t.Errorf("1000 frames: got %d positions, want 525", got)
	}
	if got := audiblePositions(nil); got < 1500 {
		t.Errorf("unknown: got %d positions, want all", got)
	}
}

// TestOwnHead: a model's directory drafter comes first; a damaged one, or one of another width, is an error that
// names it.
func TestOwnHead(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../model/digits/target")); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, drafterDir), os.DirFS("base")); err != nil {
		t.Fatal(err)
	}
	c, err := model.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	check := func(want string) {
		t.Helper()
		if has, err := Has(c); has || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, %v, want an error with %q", has, err, want)
		}
		if a, err := For(c, nil, nil); a != nil || err == nil {
			t.Errorf("loaded %v, %v, want an error", a, err)
		}
	}
	check("drafter: head.safetensors: got the head of an encoder of width 512")
	if err := os.WriteFile(filepath.Join(dir, drafterDir, headFile), []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	check("remove the directory")
}

// TestOtherBins: for a model of 128 mel bins, base's encoder gets 80 made of them, and the head reads nearly the same text.
func TestOtherBins(t *testing.T) {
	files := inside.Base()
	if files == nil {
		t.Skip("needs the model inside: built with -tags nomodel")
	}
	c, err := model.OpenFS(files, "base")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	pool := parallel.New(2)
	defer pool.Close()
	e, err := encoder.New(c, decoder.Options{Pool: pool})
	if err != nil {
		t.Fatal(err)
	}
	a, err := For(c, pool, nil)
	if err != nil {
		t.Fatal(err)
	}
	a = a.WithEncoder(e, c.Dims.MelBins)
	read := func(bins int) string {
		clip, err := audio.Open(t.Context(), "../../model/base/jfk.flac")
		if err != nil {
			t.Fatal(err)
		}
		defer clip.Close()
		s, err := audio.NewSpectrogram(t.Context(), clip, audio.Options{Bins: bins})
		if err != nil {
			t.Fatal(err)
		}
		m, err := s.Window(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		f, _, err := a.runHead(t.Context(), assistant.Window{Mel: m.First(1200)})
		if err != nil {
			t.Fatal(err)
		}
		var text []rune
		last := 0
		for i := range f.N {
			_, at := kernel.Max(f.Row(i))
			if at != last && at > 0 {
				text = append(text, a.alphabet.runes[at])
			}
			last = at
		}
		return string(text)
	}
	got, want := read(128), read(80)
	n := wer.Count(wer.Characters(nil, want), wer.Characters(nil, got))
	if errors := n.Subs + n.Dels + n.Ins; len(want) < 80 || 12*errors > len(want) {
		t.Errorf("%d letters differ:\n got %q\nwant %q", errors, got, want)
	}
}

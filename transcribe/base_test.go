package transcribe

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"verity/assistant"
	"verity/assistant/ctc"
	"verity/audio"
	"verity/internal/kernel"
	"verity/internal/testing/testmodel"
	"verity/model"
	"verity/model/base"
	"verity/parallel"
	"verity/precision"
)

// The proofs (of log-probabilities) of what Whisper base, the model inside the program,
// decodes from the recordings of model/base at temperatures 0 and 0.6. They are
// ours, so they prove only that every machine and instruction set computes the same;
// what is right, the goldens of upstream say.
var baseHashes = map[string]string{
	"1089-134691-0001.flac, a short window": "74790eee99407ad14cc015156693ac21",
	"jfk.flac 0":                            "6de5b819bdbcbcf2056dc3962065847e",
	"1089-134686-0001.flac 0":               "ed143286c444757f5644fa6b228b5d93",
	"1089-134691-0001.flac 0":               "8daa06f4cd9a618b81431fad6c42b46e",
	"1272-128104-0000.flac 0":               "dd6c47cc0bffff4d06e3acbf7dde169a",
	"1272-128104-0001.flac 0":               "51bd3c7f9487030090b9cc04d46988bd",
	"84-121123-0003.flac 0":                 "506a542a127516e945f47353082c1830",
	"jfk.flac 0.6":                          "2a98a3c16ff04344c667177488203e28",
	"1089-134686-0001.flac 0.6":             "b8bd4e2c74ab8b86dee6e60ed0a6337b",
	"1089-134691-0001.flac 0.6":             "6393e113aacb7e56f38e2d92f45ddd5c",
	"1272-128104-0000.flac 0.6":             "67e254b4fccc9a1f29fc08b1124d7ab4",
	"1272-128104-0001.flac 0.6":             "951ad08c903ee55f250c1c4227454cae",
	"84-121123-0003.flac 0.6":               "d3f7440ef6dcdf66b66b12aa50ebcd50",
}

// TestGridBase is TestGrid on real weights: the model inside the program, on all
// recordings beside it. In CI one recording at temperature 0.
func TestGridBase(t *testing.T) {
	files := base.Base()
	if files == nil {
		t.Skip("needs the model inside: built with -tags nomodel")
	}
	if testmodel.Race {
		t.Skip("needs assembly: TestGrid meets the same code")
	}
	c, err := model.OpenFS(files, "base")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const dir = "../model/base"
	sounds, temperatures := []string{filepath.Join(dir, "jfk.flac")}, []float64{0}
	if os.Getenv("VERITY_GRID") == "all" {
		more, err := filepath.Glob(filepath.Join(dir, "librispeech", "*.flac"))
		if err != nil || len(more) == 0 {
			t.Fatalf("%s/librispeech: %d recordings, %v", dir, len(more), err)
		}
		sounds, temperatures = append(sounds, more...), []float64{0, 0.6}
	}
	plain, target, pool := newModel(t, c, 2)
	head, err := ctc.For(c, pool, plain.Tokenizer)
	if err != nil || head == nil {
		t.Fatalf("head for base: got %v, %v", head, err)
	}
	models := map[string]*Model{
		"self": with(plain, mustAssistant(t)(assistant.Self(target,
			assistant.LoadOptions{Pool: pool, Precision: precision.Of(precision.Int8)})), constant(5)),
		"ngram":   with(plain, &assistant.NGram{EOT: plain.Tokenizer.EOT, Shortest: 1}, constant(3)),
		"encoder": with(plain, head, constant(8)),
	}
	if kernel.Implementations()[0] == "ref" { // minutes for each; what it computes is held by the proof
		models = nil
	}
	drafted := map[string]int{}
	check := func(name, key string, o Options) {
		want := transcribeClip(t, plain, o, openSound(t, name))
		if want.ChoiceHashes.LogProbs != baseHashes[key] {
			t.Errorf("%q: %q: proof %s, want %q", key, want.Text, want.ChoiceHashes.LogProbs, baseHashes[key])
		}
		for who, m := range models {
			got := transcribeClip(t, m, o, openSound(t, name))
			if drafted[who] += got.Stats.Drafts.Drafted; !sameText(got, want) {
				t.Errorf("%s, %s:\n got %q %v\nwant %q %v", key, who, got.Text, got.ChoiceHashes, want.Text, want.ChoiceHashes)
			}
		}
	}
	for _, name := range sounds {
		for _, temperature := range temperatures {
			o := Options{Language: "en", Temperatures: []float64{temperature}, Seed: 5, AudioContext: WholeWindows}
			check(name, fmt.Sprintf("%s %v", filepath.Base(name), temperature), o)
		}
	}
	check(filepath.Join(dir, "librispeech", "1089-134691-0001.flac"), "1089-134691-0001.flac, a short window", Options{Language: "en"})
	for who := range models {
		if drafted[who] == 0 {
			t.Errorf("drafted %v: %s was not put to the test", drafted, who)
		}
	}
}

// BenchmarkShortWindow is the time from sound to text of short clips in int8, beside whole windows.
func BenchmarkShortWindow(b *testing.B) {
	files := base.Base()
	if files == nil {
		b.Skip("needs the model inside: built with -tags nomodel")
	}
	c, err := model.OpenFS(files, "base")
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	pool := parallel.New(runtime.GOMAXPROCS(0))
	defer pool.Close()
	m, err := Load(b.Context(), c, LoadOptions{Pool: pool, Precision: precision.Of(precision.Int8)})
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range []string{"librispeech/1089-134686-0001.flac", "librispeech/1272-128104-0000.flac", "jfk.flac"} {
		for context, o := range map[string]Options{"fit": {Language: "en"}, "all": {Language: "en", AudioContext: WholeWindows}} {
			b.Run(name+"/"+context, func(b *testing.B) {
				for b.Loop() {
					transcribeClip(b, m, o, openSound(b, filepath.Join("../model/base", name)))
				}
			})
		}
	}
}

func openSound(t testing.TB, name string) *audio.Clip {
	t.Helper()
	clip, err := audio.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { clip.Close() })
	return clip
}

package transcribe

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"verity/assistant"
	"verity/assistant/ctc"
	"verity/audio"
	"verity/internal/kernel"
	"verity/internal/testing/testmodel"
	"verity/model"
	"verity/model/base"
	"verity/precision"
	"verity/transcript"
)

// The proofs (of log-probabilities) of what Whisper base, the model inside the program,
// decodes from the recordings of model/base at temperatures 0 and 0.6. They are
// ours, so they prove only that every machine and instruction set computes the same;
// what is right, the goldens of upstream say.
var baseHashes = map[string]string{
	"jfk.flac 0":                "6de5b819bdbcbcf2056dc3962065847e",
	"1089-134686-0001.flac 0":   "ed143286c444757f5644fa6b228b5d93",
	"1089-134691-0001.flac 0":   "8daa06f4cd9a618b81431fad6c42b46e",
	"1272-128104-0000.flac 0":   "dd6c47cc0bffff4d06e3acbf7dde169a",
	"1272-128104-0001.flac 0":   "51bd3c7f9487030090b9cc04d46988bd",
	"84-121123-0003.flac 0":     "506a542a127516e945f47353082c1830",
	"jfk.flac 0.6":              "2a98a3c16ff04344c667177488203e28",
	"1089-134686-0001.flac 0.6": "b8bd4e2c74ab8b86dee6e60ed0a6337b",
	"1089-134691-0001.flac 0.6": "6393e113aacb7e56f38e2d92f45ddd5c",
	"1272-128104-0000.flac 0.6": "67e254b4fccc9a1f29fc08b1124d7ab4",
	"1272-128104-0001.flac 0.6": "951ad08c903ee55f250c1c4227454cae",
	"84-121123-0003.flac 0.6":   "d3f7440ef6dcdf66b66b12aa50ebcd50",
}

// TestGridBase is TestGrid on real weights: the model inside the program, on all
// recordings beside it. In CI one recording, drafted by itself and by a table.
func TestGridBase(t *testing.T) {
	files := base.Base()
	if files == nil {
		t.Skip("SKIPPED: built with -tags nomodel")
	}
	if testmodel.Race {
		t.Skip("TestGrid meets the same code")
	}
	all := os.Getenv("VERITY_GRID") == "all"
	c, err := model.OpenFS(files, "base")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	sounds := baseSounds(t, all)
	want := map[string]*transcript.Transcript{}
	drafted := map[string]int{}
	for _, threads := range []int{1, 2} {
		plain, target, pool := newModel(t, c, threads)
		load := mustAssistant(t)
		assistants := map[string]assistant.Assistant{
			"none":  nil,
			"self":  load(assistant.Self(target, assistant.LoadOptions{Pool: pool, Precision: precision.Of(precision.Int8)})),
			"ngram": &assistant.NGram{EOT: plain.Tokenizer.EOT, Shortest: 1},
		}
		head, err := ctc.For(c, pool, plain.Tokenizer)
		if err != nil || head == nil {
			t.Fatalf("head for base: got %v, %v", head, err)
		}
		assistants["encoder"] = head
		if all {
			assistants["bigram"] = &assistant.Bigram{EOT: plain.Tokenizer.EOT}
		}
		for _, p := range basePoints(all) {
			if p.assistant == "none" && p.batch > 1 && !all || (threads == 1) != (p.assistant == "none") && !all {
				continue
			}
			m := plain
			if a := assistants[p.assistant]; a != nil {
				m = with(plain, a, p.policy())
			}
			for i := 0; i < len(sounds); i += p.batch {
				group := sounds[i:min(i+p.batch, len(sounds))]
				got := make([]*transcript.Transcript, len(group))
				var wg sync.WaitGroup
				for k, name := range group {
					wg.Go(func() { got[k] = transcribeClip(t, m, baseOptions(p), openSound(t, name)) })
				}
				wg.Wait()
				for k, name := range group {
					drafted[p.assistant] += got[k].Stats.Drafts.Drafted
					key := fmt.Sprintf("%s %v", filepath.Base(name), p.temperature)
					if want[key] == nil {
						want[key] = got[k]
						checkBaseHashes(t, key, got[k])
					}
					if !sameText(got[k], want[key]) {
						t.Errorf("%s, %d threads, %+v:\n got %q %v\nwant %q %v", name, threads, p, got[k].Text, got[k].ChoiceHashes, want[key].Text, want[key].ChoiceHashes)
					}
				}
			}
		}
	}
	for _, p := range basePoints(all) {
		if name := p.assistant; name != "none" && name != "bigram" && drafted[name] == 0 {
			t.Errorf("drafted %v: %s was not put to the test", drafted, name)
		}
	}
	t.Logf("%d recordings and temperatures, drafted %v", len(want), drafted)
}

// basePoints returns plain decoding first, then what must equal it.
func basePoints(all bool) (points []point) {
	if kernel.Implementations()[0] == "ref" { // minutes for each; what it computes is held by the proof
		return []point{{"none", 0, 1, 1, 0}}
	}
	if !all {
		return []point{{"none", 0, 1, 1, 0}, {"self", 5, 1, 2, 0}, {"ngram", 3, 1, 2, 0}, {"encoder", 8, 1, 2, 0}}
	}
	for _, temperature := range []float64{0, 0.6} {
		for _, batch := range []int{1, 3} {
			points = append(points, point{"none", 0, batch, 0, temperature})
			for _, name := range []string{"self", "ngram", "bigram", "encoder"} {
				for _, draft := range []int{auto, 2, 8} {
					points = append(points, point{name, draft, batch, 0, temperature})
				}
			}
		}
	}
	return points
}

func baseOptions(p point) Options {
	return Options{Language: "en", Temperatures: []float64{p.temperature}, Seed: 5}
}

func baseSounds(t *testing.T, all bool) []string {
	t.Helper()
	const dir = "../model/base"
	names := []string{filepath.Join(dir, "jfk.flac")}
	if !all {
		return names
	}
	more, err := filepath.Glob(filepath.Join(dir, "librispeech", "*.flac"))
	if err != nil || len(more) == 0 {
		t.Fatalf("%s/librispeech: %d recordings, %v", dir, len(more), err)
	}
	return append(names, more...)
}

func openSound(t *testing.T, name string) *audio.Clip {
	t.Helper()
	clip, err := audio.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { clip.Close() })
	return clip
}

// checkBaseHashes compares with the committed proof.
func checkBaseHashes(t *testing.T, key string, got *transcript.Transcript) {
	t.Helper()
	if got.ChoiceHashes.LogProbs != baseHashes[key] {
		t.Errorf("%q: %q: proof %s, want %q", key, got.Text, got.ChoiceHashes.LogProbs, baseHashes[key])
	}
}

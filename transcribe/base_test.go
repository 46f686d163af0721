package transcribe

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"verity/assistant"
	"verity/audio"
	"verity/internal/kernel"
	"verity/model"
	"verity/models/whisper"
	"verity/precision"
	"verity/transcript"
)

// The proofs (of log-probabilities) of what Whisper base, the model inside the program,
// decodes from the recordings of models/whisper at temperatures 0 and 0.6. They are
// ours, so they prove only that every machine and instruction set computes the same;
// what is right, the goldens of upstream say.
var baseProofs = map[string]string{
	"jfk.flac 0":                "bc50809a84192bafaa7cf72f0c65af40",
	"1089-134686-0001.flac 0":   "c360c2bfd3a751badd2bd15f7edf845a",
	"1089-134691-0001.flac 0":   "f6c410deb841bc4e8b2bd507b17c7cbf",
	"1272-128104-0000.flac 0":   "6437105941a0ee1ba4b90455a1e92427",
	"1272-128104-0001.flac 0":   "9f3191b1e7b265b0a0ec00f88a348810",
	"84-121123-0003.flac 0":     "5a84a3546ba3143e02f9ba015d2e5b26",
	"jfk.flac 0.6":              "c56afd998d89024f50edbc8431419c87",
	"1089-134686-0001.flac 0.6": "254303d4f22c54230446b03afc1856ee",
	"1089-134691-0001.flac 0.6": "6ff66703f3db59b83eb0720cc473139c",
	"1272-128104-0000.flac 0.6": "eb0acbac88b2496644edaa627c62414d",
	"1272-128104-0001.flac 0.6": "53129e5d81bd0e98365e168239c8d797",
	"84-121123-0003.flac 0.6":   "4f18d9fbce8a89a7f5e1d8f59c2615c9",
}

// TestGridBase is TestGrid on real weights: the model inside the program, on all
// recordings beside it. In CI one recording, drafted by itself and by a table.
func TestGridBase(t *testing.T) {
	files := whisper.Base()
	if files == nil {
		t.Skip("SKIPPED: built with -tags nomodel")
	}
	if os.Getenv("VERITY_GRID") == "race" {
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
						checkBaseProof(t, key, got[k])
					}
					if !sameText(got[k], want[key]) {
						t.Errorf("%s, %d threads, %+v:\n got %q %v\nwant %q %v", name, threads, p, got[k].Text, got[k].Proof, want[key].Text, want[key].Proof)
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
		return []point{{"none", 0, 1, 1, 0}, {"self", 5, 1, 2, 0}, {"ngram", 3, 1, 2, 0}}
	}
	for _, temperature := range []float64{0, 0.6} {
		for _, batch := range []int{1, 3} {
			points = append(points, point{"none", 0, batch, 0, temperature})
			for _, name := range []string{"self", "ngram", "bigram"} {
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
	const dir = "../models/whisper"
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
	clip, err := audio.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { clip.Close() })
	return clip
}

// checkBaseProof compares with the committed proof.
func checkBaseProof(t *testing.T, key string, got *transcript.Transcript) {
	t.Helper()
	if got.Proof.LogProbs != baseProofs[key] {
		t.Errorf("%q: %q: proof %s, want %q", key, got.Text, got.Proof.LogProbs, baseProofs[key])
	}
}

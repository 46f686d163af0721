package decoder_test

import (
	"math"
	"testing"

	"verity/audio"
	"verity/decoder"
	"verity/encoder"
	"verity/internal/kernel"
	"verity/internal/testing/golden"
	"verity/internal/testing/testmodel"
	"verity/model"
	"verity/parallel"
	"verity/precision"
	"verity/tokenizer"
)

// A rig is a test checkpoint with both halves of the network.
type rig struct {
	spec testmodel.Spec
	c    *model.Checkpoint
	enc  *encoder.Encoder
	dec  *decoder.Decoder
	tok  *tokenizer.Tokenizer
	ref  golden.Model
}

// A setting is a test checkpoint in a precision.
type setting struct {
	name      string
	precision precision.Format
}

// settings are every checkpoint in float32, where only summation differs from upstream,
// and those of half precision in their own format, where our keys and values are rounded,
// with the tolerance that this has on upstream's logits.
func settings() (all []setting) {
	for _, s := range testmodel.Specs() {
		all = append(all, setting{s.Name, precision.F32})
		if s.DType != "f32" {
			all = append(all, setting{s.Name, 0})
		}
	}
	return all
}

func (s setting) String() string {
	if s.precision == 0 {
		return s.name + "/as-stored"
	}
	return s.name + "/" + s.precision.String()
}

func newRig(t *testing.T, s setting) *rig {
	t.Helper()
	name := s.name
	pool := parallel.New(2)
	t.Cleanup(pool.Close)
	r := &rig{spec: testmodel.Named(name), c: testmodel.Open(t, name), ref: golden.LoadModel(t, name)}
	if s.precision == 0 {
		r.ref.Tol.Logits = r.ref.Tol.Cache
	}
	var err error
	if r.enc, err = encoder.New(r.c, encoder.Options{Pool: pool, Precision: precision.Of(s.precision)}); err != nil {
		t.Fatal(err)
	}
	if r.dec, err = decoder.New(r.c, decoder.Options{Pool: pool, Precision: precision.Of(s.precision)}); err != nil {
		t.Fatal(err)
	}
	if r.tok, err = tokenizer.Load(r.c.FS(), name, r.c.Dims.Vocab); err != nil {
		t.Fatal(err)
	}
	return r
}

// crossOf returns the keys and values of one of upstream's two inputs.
func (r *rig) crossOf(t *testing.T, input string) *decoder.Cross {
	t.Helper()
	d := r.spec.Dims()
	mel := &audio.Mel{Bins: d.MelBins, Frames: d.WindowFrames(), Data: r.spec.Mel()}
	if input == "wave" {
		s, err := audio.NewSpectrogram(t.Context(), audio.FromSamples("wave", r.spec.Waveform()),
			audio.Options{Bins: d.MelBins, Window: d.WindowFrames()})
		if err != nil {
			t.Fatal(err)
		}
		if mel, err = s.Window(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
	}
	f, err := r.enc.Encode(t.Context(), mel, nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := r.dec.Cross(t.Context(), f, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestLogitsGolden compares teacher-forced logits with transformers': the values of the
// best tokens and of a sample, and the best token wherever the margin decides it.
func TestLogitsGolden(t *testing.T) {
	testmodel.Serial(t)
	for _, s := range settings() {
		t.Run(s.String(), func(t *testing.T) {
			r := newRig(t, s)
			c := r.crossOf(t, "mel")
			stream, vocab := r.dec.NewStream(c), r.c.Dims.Vocab
			rows := make([]decoder.Row, len(r.ref.Teacher))
			for p, tok := range r.ref.Teacher {
				rows[p] = decoder.Row{Stream: stream, Position: p, Token: tokenizer.Token(tok), WantLogits: true}
			}
			logits := make([]float32, len(rows)*vocab)
			if err := r.dec.Step(t.Context(), rows, logits); err != nil {
				t.Fatal(err)
			}
			var sampled []float32
			for p := range rows {
				row := logits[p*vocab : (p+1)*vocab]
				r.ref.CheckTop(t, p, row)
				for _, id := range r.ref.Sampled {
					sampled = append(sampled, row[id])
				}
			}
			golden.Check(t, sampled, []int{len(rows), len(r.ref.Sampled)},
				golden.Load(t, s.name+".logits"), r.ref.Tol.Logits, len(sampled))
		})
	}
}

// TestGreedyGolden decodes as openai/whisper does: with and without timestamps, after a
// prompt, translating, and with language detection.
func TestGreedyGolden(t *testing.T) {
	testmodel.Serial(t)
	for _, s := range settings() {
		t.Run(s.String(), func(t *testing.T) {
			s.skipSlow(t)
			r := newRig(t, s)
			for i, run := range r.ref.Runs {
				if slow() && i > 0 {
					continue // the rules are the same on every instruction set
				}
				t.Run(run.Input+"/"+run.Name, func(t *testing.T) { r.checkRun(t, run) })
			}
		})
	}
}

// slow reports whether there is only plain Go and little time.
func slow() bool { return testing.Short() && kernel.Implementations()[0] == "ref" }

func (s setting) skipSlow(t *testing.T) {
	if slow() && s.name != "odd" {
		t.Skip("needs assembly: plain Go is slow; TestLogitsGolden holds the logits of every checkpoint")
	}
}

func (r *rig) checkRun(t *testing.T, run golden.Run) {
	c := r.crossOf(t, run.Input)
	defer c.Close()
	var prompt []tokenizer.Token
	sot := 0
	for i, tok := range run.Initial {
		prompt = append(prompt, tokenizer.Token(tok))
		if prompt[i] == r.tok.SOT {
			sot = i
		}
	}
	s, err := r.dec.NewSession(c, decoder.SessionOptions{
		Prompt: prompt, SOT: sot, NoSpeech: r.tok.NoSpeech,
		Rules: decoder.Rules(r.tok, r.c.Generation, decoder.RuleOptions{WithoutTimestamps: run.WithoutTimestamps}),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var got []int32
	var sum float64
	text := 0
	for range s.Limit() {
		choices, err := s.Choose(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, int32(choices[0].Token))
		sum += float64(choices[0].LogProb)
		if choices[0].Token == r.tok.EOT {
			break
		}
		text++
		if err := s.Commit([]tokenizer.Token{choices[0].Token}); err != nil {
			t.Fatal(err)
		}
	}
	r.ref.CheckTokens(t, run, got)
	if r.ref.Decided(run) < len(run.Tokens) {
		return // the texts may part where upstream's margin does not decide
	}
	// A log-probability is a difference of logits and a smooth mean of them, so
	// it is off by at most twice their tolerance.
	tol := 2 * r.ref.LogitTol(run.Input)
	if d := math.Abs(sum/float64(text+1) - run.AvgLogProb); !(d <= tol) {
		t.Errorf("average log-probability %v, want %v, tol %.2g", sum/float64(text+1), run.AvgLogProb, tol)
	}
	if d := math.Abs(float64(s.NoSpeechProb) - run.NoSpeechProb); !(d <= tol) {
		t.Errorf("no-speech probability %v, want %v, tol %.2g", s.NoSpeechProb, run.NoSpeechProb, tol)
	}
}

func TestLanguageGolden(t *testing.T) {
	testmodel.Serial(t)
	for _, s := range settings() {
		t.Run(s.String(), func(t *testing.T) {
			s.skipSlow(t)
			r := newRig(t, s)
			for input, want := range r.ref.Languages {
				c := r.crossOf(t, input)
				langs := r.tok.Languages()
				got, err := r.dec.DetectLanguage(t.Context(), c, r.tok.SOT, langs)
				if err != nil {
					t.Fatal(err)
				}
				tol := 2 * r.ref.LogitTol(input)
				for i, l := range langs {
					if d := math.Abs(float64(got[i]) - want[l.Code]); !(d <= tol) {
						t.Errorf("%s: probability of %s = %v, want %v, tol %.2g", input, l.Code, got[i], want[l.Code], tol)
					}
				}
				c.Close()
			}
		})
	}
}

package assistant

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"verity/decoder"
	"verity/internal/formats/safetensors"
	"verity/internal/tensor"
	"verity/internal/testing/testmodel"
	"verity/model"
	"verity/model/digits"
	"verity/precision"
	"verity/tokenizer"
)

// opened opens a checkpoint of files.
func opened(t *testing.T, name string, files fstest.MapFS) *model.Checkpoint {
	t.Helper()
	c, err := model.OpenFS(files, name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// packed returns the files of a spec with other weights.
func packed(t *testing.T, s testmodel.Spec, entries []safetensors.Entry) fstest.MapFS {
	t.Helper()
	files := testmodel.FS(s)
	var b bytes.Buffer
	if err := safetensors.Write(t.Context(), &b, entries...); err != nil {
		t.Fatal(err)
	}
	files["model.safetensors"] = &fstest.MapFile{Data: b.Bytes()}
	return files
}

// TestSharedEncoder checks that an encoder with the target's weights is neither loaded nor run a
// second time, whatever types the files have: openai's large-v2 is published in float32,
// assistants distilled from it in float16.
func TestSharedEncoder(t *testing.T) {
	spec := func(dtype string) testmodel.Spec {
		s := testmodel.Named("f16")
		s.DType = dtype
		return s
	}
	target := opened(t, "target", testmodel.FS(spec("f32")))
	half := opened(t, "half", testmodel.FS(spec("f16")))
	other := spec("f16")
	other.Seed++
	// The f16 file with one weight of the encoder one step away.
	s := spec("f16")
	entries := s.Entries()
	at := slices.IndexFunc(entries, func(e safetensors.Entry) bool { return e.Name == "model.encoder.layers.0.fc2.weight" })
	var w bytes.Buffer
	if err := entries[at].Data(&w); err != nil {
		t.Fatal(err)
	}
	w.Bytes()[2*777] ^= 1
	entries[at] = safetensors.Of(entries[at].Name, tensor.Tensor{DType: tensor.F16, Shape: entries[at].Shape, Data: w.Bytes()})
	for _, tt := range []struct {
		name      string
		assistant *model.Checkpoint
		target    *model.Checkpoint
		shares    bool
	}{
		{"the same file", opened(t, "twin", testmodel.FS(spec("f32"))), target, true},
		{"f16 for f32, rounded", half, target, true},
		{"bf16 for f32, rounded", opened(t, "brain", testmodel.FS(spec("bf16"))), target, true},
		{"f32 for f16, of which it was rounded", target, half, true},
		{"other weights", opened(t, "other", testmodel.FS(other)), target, false},
		{"one weight one step away", opened(t, "fault", packed(t, s, entries)), target, false},
	} {
		tok, err := tokenizer.Load(tt.target.FS(), tt.target.Name, tt.target.Dims.Vocab)
		if err != nil {
			t.Fatal(err)
		}
		m, err := Load(tt.assistant, Target{Checkpoint: tt.target, Tokenizer: tok}, LoadOptions{})
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if shares := m.Encoder == nil; shares != tt.shares {
			t.Errorf("%s: shares the encoder: %v, want %v", tt.name, shares, tt.shares)
		}
	}
}

// TestSelfShares checks that Self reads no weights in the target's own precision, and
// does so in another.
func TestSelfShares(t *testing.T) {
	c := opened(t, "f16", testmodel.FS(testmodel.Named("f16")))
	tok, err := tokenizer.Load(c.FS(), "f16", c.Dims.Vocab)
	if err != nil {
		t.Fatal(err)
	}
	d, err := decoder.New(c, decoder.Options{Precision: precision.Of(precision.Int8)})
	if err != nil {
		t.Fatal(err)
	}
	m, err := Self(Target{Tokenizer: tok, Decoder: d}, LoadOptions{Precision: precision.Of(precision.Int8)})
	if err != nil || m.Decoder == d || m.Decoder.StepBytes(1) != d.StepBytes(1) {
		t.Errorf("in the same precision: %v, %+v, want the same weights in a decoder of its own", err, m)
	}
	f16 := precision.Of(precision.F16)
	m, err = Self(Target{Checkpoint: c, Tokenizer: tok, Decoder: d}, LoadOptions{Precision: f16})
	if err != nil || m.Decoder.Precision() != f16.Complete() || m.Decoder.StepBytes(1) == d.StepBytes(1) {
		t.Errorf("in another precision: %v, %d bytes a step, want others than %d", err, m.Decoder.StepBytes(1), d.StepBytes(1))
	}
}

// TestMismatch checks that special ids, tasks and languages that differ from the target's
// are refused, each by its name and with a remedy.
func TestMismatch(t *testing.T) {
	f16 := opened(t, "f16", testmodel.FS(testmodel.Named("f16")))
	words, err := tokenizer.Load(f16.FS(), "f16", f16.Dims.Vocab)
	if err != nil {
		t.Fatal(err)
	}
	// Those that config.json or generation_config.json states.
	stated := func(pairs ...string) *model.Checkpoint {
		s := testmodel.Named("f16")
		s.Generation = []byte(strings.NewReplacer(pairs...).Replace(string(s.Generation)))
		return opened(t, "moved", testmodel.FS(s))
	}
	for thing, c := range map[string]*model.Checkpoint{
		"eos_token_id":           stated(`"eos_token_id": 50257`, `"eos_token_id": 50256`),
		"decoder_start_token_id": stated(`"decoder_start_token_id": 50258`, `"decoder_start_token_id": 50257`),
		"no_timestamps_token_id": stated(`"no_timestamps_token_id": 50363`, `"no_timestamps_token_id": 50362`),
		"prev_sot_token_id":      stated(`"prev_sot_token_id": 50361`, `"prev_sot_token_id": 50360`),
		"task_to_id translate":   stated(`"translate": 50358`, `"translate": 50357`),
		"lang_to_id <|de|>":      stated(`"<|de|>": 50261`, `"<|de|>": 50260`),
		"lang_to_id <|haw|>":     stated(`"<|haw|>": 50352`, `"<|haw|>": 50353`),
		"":                       stated(`"<|de|>": 50261, `, ``), // lacks a language
		"positions of a window":  opened(t, "odd", testmodel.FS(testmodel.Named("odd"))),
		"vocabulary":             opened(t, "english", testmodel.FS(testmodel.Named("english"))),
	} {
		t.Run(thing, func(t *testing.T) { refused(t, c, Target{Checkpoint: f16, Tokenizer: words}, thing) })
	}

	// Those that the tokenizer's files state: the demo's, with two contents changed.
	files := func(edit func(tok map[string]any)) *model.Checkpoint {
		all := fstest.MapFS{}
		for _, from := range []fs.FS{digits.Target(), digits.Assistant()} { // the latter's weights
			names, err := fs.Glob(from, "*")
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range names {
				b, err := fs.ReadFile(from, name)
				if err != nil {
					t.Fatal(err)
				}
				all[name] = &fstest.MapFile{Data: b}
			}
		}
		var tok map[string]any
		if err := json.Unmarshal(all["tokenizer.json"].Data, &tok); err != nil {
			t.Fatal(err)
		}
		edit(tok)
		b, err := json.Marshal(tok)
		if err != nil {
			t.Fatal(err)
		}
		all["tokenizer.json"].Data = b
		return opened(t, "changed", all)
	}
	target, err := model.OpenFS(digits.Target(), "demo")
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	spoken, err := tokenizer.Load(target.FS(), "demo", target.Dims.Vocab)
	if err != nil {
		t.Fatal(err)
	}
	added := func(tok map[string]any, content string) map[string]any {
		for _, a := range tok["added_tokens"].([]any) {
			if a := a.(map[string]any); a["content"] == content {
				return a
			}
		}
		t.Fatalf("the demo has no token %s", content)
		return nil
	}
	for name, tt := range map[string]struct {
		edit  func(tok map[string]any)
		thing string
	}{
		"as it is":         {func(map[string]any) {}, ""},
		"another language": {func(tok map[string]any) { added(tok, "<|en|>")["content"] = "<|de|>" }, fmt.Sprint("token ", spoken.Languages()[0].Token)},
		"two special tokens in each other's place": {func(tok map[string]any) {
			a, b := added(tok, "<|nospeech|>"), added(tok, "<|startofprev|>")
			a["content"], b["content"] = b["content"], a["content"]
		}, fmt.Sprint("token ", min(spoken.NoSpeech, spoken.SOTPrev))},
		"two words in each other's place": {func(tok map[string]any) {
			v := tok["model"].(map[string]any)["vocab"].(map[string]any)
			v["a"], v["b"] = v["b"], v["a"]
		}, fmt.Sprint("token ", min(spoken.Encode("a")[0], spoken.Encode("b")[0]))},
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, files(tt.edit), Target{Checkpoint: target, Tokenizer: spoken}, tt.thing)
		})
	}
}

// refused checks that c is refused because of thing, or accepted if thing is empty.
func refused(t *testing.T, c *model.Checkpoint, target Target, thing string) {
	t.Helper()
	_, err := Load(c, target, LoadOptions{})
	var e *MismatchError
	switch {
	case thing == "" && err != nil:
		t.Errorf("refused: %v", err)
	case thing != "" && (!errors.As(err, &e) || e.Thing != thing || e.Remedy == "" || e.Got == e.Want):
		t.Errorf("got %v, want a mismatch of %q with a remedy", err, thing)
	}
}

// TestSameWeights compares types of which one is narrower, up to the last weight.
func TestSameWeights(t *testing.T) {
	const n = 10_000
	wide := tensor.Tensor{DType: tensor.F32, Shape: []int{n}, Data: make([]byte, 4*n)}
	half := tensor.Tensor{DType: tensor.F16, Shape: []int{n}, Data: make([]byte, 2*n)}
	for i := range n {
		v := 1 + float32(i)/(2*n)
		binary.LittleEndian.PutUint32(wide.Data[4*i:], math.Float32bits(v))
		binary.LittleEndian.PutUint16(half.Data[2*i:], tensor.F16Bits(v))
	}
	if !sameWeights(wide, half) || !sameWeights(half, wide) {
		t.Error("weights rounded to f16 are not taken for the same")
	}
	half.Data[2*n-2] ^= 1
	if sameWeights(wide, half) || sameWeights(half, wide) {
		t.Error("the last weight is another, and goes unseen")
	}
}

package model_test

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"verity/model"
	"verity/tokenizer"
)

// The checkpoint in testdata/foreign is one network in every form, written by
// upstream's own programs: tools/reference/foreign_checkpoints.py.
const foreign = "testdata/foreign"

// TestForeign checks that the same weights from every format are the same bits, and
// quantised ones within the precision of their format. VERITY_FOREIGN names another
// directory of that script, such as one made of published weights.
func TestForeign(t *testing.T) {
	dirs := []string{foreign}
	if dir := os.Getenv("VERITY_FOREIGN"); dir != "" {
		dirs = append(dirs, dir)
	}
	for _, dir := range dirs {
		want, err := model.Open(t.Context(), filepath.Join(dir, "hf"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { want.Close() })
		found := 0
		for _, form := range []struct {
			name  string
			steps float64 // of a block's or a row's largest weight; 0 if the weights are exact
			as    string  // what Quantised says
		}{
			{"model.pt", 0, ""}, {"ct2-float16", 0, ""}, {"ct2-float32", 0, ""}, {"ggml-model.bin", 0, ""}, {"ggml-model-f32.bin", 0, ""},
			{"ct2-int8", 127, "int8"}, {"ct2-int8_float16", 127, "int8"}, {"ct2-int8_float32", 127, "int8"},
			{"ggml-model-q8_0.bin", 127, "q8_0"}, {"ggml-model-q5_0.bin", 16, "q5_0"}, {"ggml-model-q5_1.bin", 15, "q5_1"},
			{"ggml-model-q4_0.bin", 8, "q4_0"}, {"ggml-model-q4_1.bin", 7, "q4_1"},
		} {
			path := filepath.Join(dir, form.name)
			if _, err := os.Stat(path); err != nil {
				continue
			}
			found++
			t.Run(path, func(t *testing.T) {
				got, err := model.Open(t.Context(), path)
				if err != nil {
					t.Fatal(err)
				}
				defer got.Close()
				if diff := cmp.Diff(want.Dims, got.Dims); diff != "" {
					t.Errorf("Dims (-want +got):\n%s", diff)
				}
				if got.Quantised() != form.as {
					t.Errorf("Quantised = %q, want %q", got.Quantised(), form.as)
				}
				compareWeights(t, got, want, form.steps)
			})
		}
		if found < 9 {
			t.Errorf("%s: only %d forms found", dir, found)
		}
	}
}

// compareWeights compares values as float32. Files in f32 of f16 weights have other
// types but the same values.
func compareWeights(t *testing.T, got, want *model.Checkpoint, steps float64) {
	t.Helper()
	if g, w := slices.Sorted(slices.Values(got.Names())), slices.Sorted(slices.Values(want.Names())); !slices.Equal(g, w) {
		t.Fatalf("names: %v", cmp.Diff(w, g))
	}
	for _, name := range want.Names() {
		a, err1 := got.Weight(name)
		b, err2 := want.Weight(name)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(a.Shape, b.Shape) {
			t.Fatalf("%s: shape %v, want %v", name, a.Shape, b.Shape)
		}
		x, y := a.Tensor().Float32(), b.Tensor().Float32()
		if !a.Quantised() {
			for i := range x {
				if math.Float32bits(x[i]) != math.Float32bits(y[i]) {
					t.Fatalf("%s: value %d = %v, want %v", name, i, x[i], y[i])
				}
			}
			continue
		}
		if steps == 0 {
			t.Fatalf("%s is quantised", name)
		}
		row := len(x) / a.Shape[0]
		for lo := 0; lo < len(x); lo += row {
			var most, worst float64
			for i := lo; i < lo+row; i++ {
				most = max(most, math.Abs(float64(y[i])))
				worst = max(worst, math.Abs(float64(x[i]-y[i])))
			}
			if !(worst <= 1.05*most/steps) {
				t.Fatalf("%s: row %d is off by %v, its largest weight is %v", name, lo/row, worst, most)
			}
		}
	}
}

// TestForeignSettings checks the settings of decoding and the vocabulary of other
// formats.
func TestForeignSettings(t *testing.T) {
	ct2, err := model.Open(t.Context(), filepath.Join(foreign, "ct2-int8"))
	if err != nil {
		t.Fatal(err)
	}
	defer ct2.Close()
	g := ct2.Generation
	if !slices.Equal(g.SuppressTokens, []int32{1, 2}) || !slices.Equal(g.BeginSuppressTokens, []int32{3, 36}) || len(g.AlignmentHeads) == 0 {
		t.Errorf("CTranslate2: %+v", g)
	}
	// 40 tokens are no vocabulary of openai's: without tokenizer.json there is none.
	if _, err := tokenizer.Load(ct2.FS(), ct2.Name, ct2.Dims.Vocab); !errors.Is(err, tokenizer.ErrMissing) {
		t.Errorf("CTranslate2: %v", err)
	}
	gg, err := model.Open(t.Context(), filepath.Join(foreign, "ggml-model-q5_0.bin"))
	if err != nil {
		t.Fatal(err)
	}
	defer gg.Close()
	if gg.Generation.SuppressTokens != nil || gg.Generation.EOSToken != model.NoToken {
		t.Errorf("ggml: %+v", gg.Generation)
	}
	// 36 text tokens of 40 leave no room for openai's specials: refused with both numbers.
	_, err = tokenizer.Load(gg.FS(), gg.Name, gg.Dims.Vocab)
	if !errors.Is(err, tokenizer.ErrUnsupported) || !strings.Contains(err.Error(), "36 text tokens for a vocab_size of 40") {
		t.Errorf("ggml: %v", err)
	}
}

// TestForeignHostile changes files of every format: cut off anywhere, or with a byte
// changed outside the weights. Nothing may panic, and what opens must be readable.
func TestForeignHostile(t *testing.T) {
	for _, name := range []string{"model.pt", "ct2-float16", "ct2-int8", "ggml-model.bin", "ggml-model-q5_1.bin", "hf"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			src, err := os.Stat(filepath.Join(foreign, name))
			if err != nil {
				t.Fatal(err)
			}
			path, file := filepath.Join(dir, name), filepath.Join(dir, name)
			if src.IsDir() {
				if err := os.CopyFS(path, os.DirFS(filepath.Join(foreign, name))); err != nil {
					t.Fatal(err)
				}
				file = filepath.Join(path, map[bool]string{true: "model.safetensors", false: "model.bin"}[name == "hf"])
			} else {
				b, err := os.ReadFile(filepath.Join(foreign, name))
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, b, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			whole, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			try := func(b []byte) error {
				if err := os.WriteFile(file, b, 0o600); err != nil {
					t.Fatal(err)
				}
				c, err := model.Open(t.Context(), path)
				if err != nil {
					return err
				}
				defer c.Close()
				return c.Reading(func() error {
					for _, n := range c.Names() {
						if w, err := c.Weight(n); err == nil {
							w.Tensor().Float32()
						}
					}
					return nil
				})
			}
			for n := 0; n < len(whole); n += 1 + len(whole)/97 {
				if try(whole[:n]) == nil {
					t.Errorf("cut to %d of %d bytes it opens", n, len(whole))
				}
			}
			for n := range 400 {
				b := slices.Clone(whole)
				at := n * 7919 % min(len(b), 4096)
				if n%2 == 1 {
					at = len(b) - 1 - at
				}
				b[at] ^= byte(1 << (n % 8))
				try(b)
			}
		})
	}
}

// TestForeignContradictions checks that sizes which contradict the tensors are refused
// with both.
func TestForeignContradictions(t *testing.T) {
	change := func(name string, edit func(b []byte)) error {
		b, err := os.ReadFile(filepath.Join(foreign, name))
		if err != nil {
			t.Fatal(err)
		}
		edit(b)
		path := filepath.Join(t.TempDir(), filepath.Base(name))
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err = model.Open(t.Context(), path)
		return err
	}
	header := func(field, value int) func(b []byte) {
		return func(b []byte) { binary.LittleEndian.PutUint32(b[4*field:], uint32(value)) }
	}
	for _, tt := range []struct {
		name string
		edit func(b []byte)
		want string
	}{
		{"width", header(3, 64), "got [32 8 3] f16, want [64 8 3]"},
		{"vocabulary", header(1, 41), "got [40 32] f16, want [41 32]"},
		{"a layer more", header(5, 2), "encoder.layers.1.self_attn.q_proj.weight: missing"},
		{"no layers", header(5, 0), "n_audio_layer is 0, want 1 … 128"},
		{"heads", header(4, 3), "n_audio_head is 3, which does not divide n_audio_state, 32"},
		{"bins", header(10, 9), "got [32 8 3] f16, want [32 9 3]"},
		{"version of quantisation", header(11, 1002), "version 1"},
	} {
		if err := change("ggml-model.bin", tt.edit); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error = %v, want %q", tt.name, err, tt.want)
		}
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(foreign, "ct2-float16"))); err != nil {
		t.Fatal(err)
	}
	weights, err := os.ReadFile(filepath.Join(dir, "model.bin"))
	if err != nil {
		t.Fatal(err)
	}
	for old, tt := range map[string]struct{ put, want string }{
		"WhisperSpec":                         {"MarianXSpec", `it is a "MarianXSpec" of CTranslate2, want "WhisperSpec"`},
		"encoder/conv2/bias":                  {"encoder/conv2/bios", "tensor encoder/conv2/bias: missing"},
		"decoder/layer_0/ffn/linear_0/weight": {"decoder/layer_0/ffn/linear_0/waight", "n_text_layer is 0, want 1"},
	} {
		changed := strings.Replace(string(weights), old, tt.put, 1)
		if changed == string(weights) {
			t.Fatalf("model.bin holds no %s", old)
		}
		if err := os.WriteFile(filepath.Join(dir, "model.bin"), []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := model.Open(t.Context(), dir); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error = %v, want %q", tt.put, err, tt.want)
		}
	}
}

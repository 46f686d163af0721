package model_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"verity/internal/formats/safetensors"
	"verity/internal/tensor"
	"verity/internal/testing/testmodel"
	"verity/model"
)

// tiny returns a checkpoint of a few hundred weights in memory, which tests modify. The
// settings are fields of config.json.
func tiny(t testing.TB) fstest.MapFS {
	t.Helper()
	s := testmodel.Spec{DType: "f32", Shards: 1, Config: []byte(tinyConfig)}
	return testmodel.FS(s)
}

const tinyConfig = `{"model_type": "whisper", "activation_function": "gelu", "vocab_size": 20, "num_mel_bins": 4,
	"max_source_positions": 50, "d_model": 6, "encoder_attention_heads": 2, "encoder_layers": 1, "encoder_ffn_dim": 5,
	"max_target_positions": 8, "decoder_attention_heads": 3, "decoder_layers": 2, "decoder_ffn_dim": 7,
	"decoder_start_token_id": 18, "eos_token_id": [17, 19], "pad_token_id": null, "suppress_tokens": [1, 2, 99, -1],
	"begin_suppress_tokens": [], "forced_decoder_ids": [[1, null], [2, 7]], "max_length": 8.0}`

var tinyDims = model.Dims{
	MelBins: 4, AudioPositions: 50, AudioWidth: 6, AudioHeads: 2, AudioLayers: 1, AudioFFN: 5,
	Vocab: 20, TextPositions: 8, TextWidth: 6, TextHeads: 3, TextLayers: 2, TextFFN: 7,
}

func file(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }

// entries returns the weights of the tiny checkpoint, to be changed and packed.
func entries() []safetensors.Entry {
	return testmodel.Spec{DType: "f32", Config: []byte(tinyConfig)}.Entries()
}

func pack(t testing.TB, entries []safetensors.Entry) *fstest.MapFile {
	t.Helper()
	var b bytes.Buffer
	if err := safetensors.Write(t.Context(), &b, entries...); err != nil {
		t.Fatal(err)
	}
	return &fstest.MapFile{Data: b.Bytes()}
}

func open(t testing.TB, fsys fs.FS) *model.Checkpoint {
	t.Helper()
	c, err := model.OpenFS(fsys, "dir")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// TestOldSettings checks that the settings of config.json count if it is alone.
func TestOldSettings(t *testing.T) {
	c := open(t, tiny(t))
	if diff := cmp.Diff(tinyDims, c.Dims); diff != "" {
		t.Errorf("Dims (-want +got):\n%s", diff)
	}
	want := model.Generation{
		SuppressTokens:      []int32{1, 2},
		BeginSuppressTokens: []int32{},
		DecoderStartToken:   18,
		EOSToken:            17,
		NoTimestampsToken:   model.NoToken,
		PrevSOTToken:        model.NoToken,
	}
	if diff := cmp.Diff(want, c.Generation); diff != "" {
		t.Errorf("Generation (-want +got):\n%s", diff)
	}
}

// TestNewSettings checks that generation_config.json replaces the lists of config.json,
// which then supplies only ids.
func TestNewSettings(t *testing.T) {
	fsys := tiny(t)
	fsys["generation_config.json"] = file(`{"lang_to_id": {"<|en|>": 10}, "task_to_id": {"transcribe": 11}, "no_timestamps_token_id": 12,
		"prev_sot_token_id": 13, "max_initial_timestamp_index": 50, "alignment_heads": [[1, 2], [0, 0]], "suppress_tokens": null,
		"begin_suppress_tokens": [3], "eos_token_id": 16, "forced_decoder_ids": null, "max_length": null, "transformers_version": "4.31"}`)
	fsys["preprocessor_config.json"] = file(`{"feature_size": 4, "chunk_length": 1.0, "nb_max_frames": 100, "padding_side": "right"}`)
	want := model.Generation{
		BeginSuppressTokens: []int32{3},
		LangToID:            map[string]int32{"<|en|>": 10},
		TaskToID:            map[string]int32{"transcribe": 11},
		DecoderStartToken:   18,
		EOSToken:            16,
		NoTimestampsToken:   12,
		PrevSOTToken:        13,
		AlignmentHeads:      [][2]int{{1, 2}, {0, 0}},
		Multilingual:        true,
	}
	if diff := cmp.Diff(want, open(t, fsys).Generation); diff != "" {
		t.Errorf("Generation (-want +got):\n%s", diff)
	}
}

// TestSettings opens the tiny checkpoint with one file replaced.
func TestSettings(t *testing.T) {
	replaced := func(old, new string) string { return strings.Replace(tinyConfig, old, new, 1) }
	tests := []struct {
		name, file, text string
		want             string // the whole error; empty if it opens
	}{
		{"a size as a float", "config.json", replaced(`"d_model": 6`, `"d_model": 6.0`), ""},
		{"no activation stated", "config.json", replaced(`"activation_function": "gelu",`, ``), ""},
		{"scaled embedding, which upstream ignores", "config.json", replaced(`{`, `{"scale_embedding": true,`), ""},
		{"another model", "config.json", replaced(`"whisper"`, `"wav2vec2"`), `dir/config.json: model_type is "wav2vec2", want "whisper"`},
		{"another activation", "config.json", replaced(`"gelu"`, `"relu"`), `dir/config.json: activation_function is "relu", want "gelu"`},
		{"size missing", "config.json", replaced(`"d_model": 6,`, ``), `dir/config.json: d_model is missing or no integer`},
		{"size zero", "config.json", replaced(`"decoder_layers": 2`, `"decoder_layers": 0`), `dir/config.json: decoder_layers is 0, want 1 … 128`},
		{"windows of ten minutes", "config.json", replaced(`"max_source_positions": 50`, `"max_source_positions": 30000`), `dir/config.json: max_source_positions is 30000, want 1 … 6000`},
		{"size negative", "config.json", replaced(`"d_model": 6`, `"d_model": -6`), `dir/config.json: d_model is -6, want 1 … 65536`},
		{"size absurd", "config.json", replaced(`20`, `2e9`), `dir/config.json: vocab_size is 2000000000, want 1 … 4194304`},
		{"size fractional", "config.json", replaced(`20`, `20.5`), `dir/config.json: vocab_size is missing or no integer`},
		{"size a string", "config.json", replaced(`20`, `"20"`), `dir/config.json: vocab_size is missing or no integer`},
		{"type of another kind", "config.json", replaced(`"whisper"`, `7`), `dir/config.json: model_type is a JSON number, want string`},
		{"heads", "config.json", replaced(`"encoder_attention_heads": 2`, `"encoder_attention_heads": 4`), `dir/config.json: encoder_attention_heads is 4, which does not divide d_model, 6`},
		{"a list", "config.json", `[1]`, `dir/config.json: reading JSON: got a JSON array, want an object`},
		{"no JSON", "config.json", ``, `dir/config.json: is no JSON: line 1, column 0: unexpected end of JSON input`},
		{"token outside the vocabulary", "generation_config.json", `{"no_timestamps_token_id": 20}`, `dir/generation_config.json: no_timestamps_token_id is token 20, the vocabulary has 20`},
		{"language outside the vocabulary", "generation_config.json", `{"lang_to_id": {"<|en|>": 20}}`, `dir/generation_config.json: lang_to_id is token 20, the vocabulary has 20`},
		{"no such alignment head", "generation_config.json", `{"alignment_heads": [[2, 0]]}`, `dir/generation_config.json: alignment_heads names layer 2, head 0; the decoder has 2 layers of 3 heads`},
		{"half an alignment head", "generation_config.json", `{"alignment_heads": [[1]]}`, `dir/generation_config.json: alignment_heads has a list of 1 numbers, want pairs`},
		{"token between two", "generation_config.json", `{"eos_token_id": 1.5}`, `dir/generation_config.json: eos_token_id is token 1.5, the vocabulary has 20`},
		{"token as text", "generation_config.json", `{"eos_token_id": "1"}`, `dir/generation_config.json: eos_token_id is a JSON string, want a number`},
		{"rate as text", "preprocessor_config.json", `{"sampling_rate": "16000"}`, `dir/preprocessor_config.json: sampling_rate is "16000", the network needs 16000`},
		{"empty generation config", "generation_config.json", ``, `dir/generation_config.json: is no JSON: line 1, column 0: unexpected end of JSON input`},
		{"stated to be English", "generation_config.json", `{"is_multilingual": false, "eos_token_id": []}`, ""},
		{"other bins", "preprocessor_config.json", `{"feature_size": 80}`, `dir/preprocessor_config.json: feature_size is 80, the network needs 4`},
		{"other window", "preprocessor_config.json", `{"chunk_length": 30}`, `dir/preprocessor_config.json: chunk_length is 30, the network needs 1`},
		{"other hop", "processor_config.json", `{"feature_extractor": {"hop_length": 320}}`, `dir/processor_config.json: hop_length is 320, the network needs 160`},
		{"transformers 5", "processor_config.json", `{"feature_extractor": {"hop_length": 160, "feature_size": 4}, "processor_class": "WhisperProcessor"}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fsys := tiny(t)
			fsys[tt.file] = file(tt.text)
			c, err := model.OpenFS(fsys, "dir")
			if tt.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				c.Close()
				return
			}
			if err == nil || !advised(err, tt.want) || !errors.Is(err, model.ErrConfig) {
				t.Errorf("error = %v\nwant    %s", err, tt.want)
			}
		})
	}
}

// TestTensorErrors breaks one weight of the tiny checkpoint.
func TestTensorErrors(t *testing.T) {
	const name = "model.decoder.layers.1.fc1.weight"
	i := slices.IndexFunc(entries(), func(e safetensors.Entry) bool { return e.Name == name })
	tests := []struct {
		name  string
		edit  func(e []safetensors.Entry) []safetensors.Entry
		want  string
		cause error
	}{
		{"missing", func(e []safetensors.Entry) []safetensors.Entry { return slices.Delete(e, i, i+1) },
			"dir/model.safetensors: tensor " + name + ": missing, want [7 6]", model.ErrMissing},
		{"transposed", func(e []safetensors.Entry) []safetensors.Entry { e[i].Shape = []int{6, 7}; return e },
			"dir/model.safetensors: tensor " + name + ": wrong shape: got [6 7] f32, want [7 6]", model.ErrShape},
		{"of one dimension more", func(e []safetensors.Entry) []safetensors.Entry { e[i].Shape = []int{7, 6, 1}; return e },
			"dir/model.safetensors: tensor " + name + ": wrong shape: got [7 6 1] f32, want [7 6]", model.ErrShape},
		{"of integers", func(e []safetensors.Entry) []safetensors.Entry {
			e[i] = safetensors.Of(name, tensor.Tensor{DType: tensor.I8, Shape: []int{7, 6}, Data: make([]byte, 42)})
			return e
		}, "dir/model.safetensors: tensor " + name + ": unsupported data type: got [7 6] int8, want f32, f16 or bf16", model.ErrDType},
		{"half an encoder", func(e []safetensors.Entry) []safetensors.Entry { return e[1:] },
			"dir/model.safetensors: tensor model.encoder.conv1.weight: missing, want [6 4 3]", model.ErrMissing},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fsys := tiny(t)
			fsys["model.safetensors"] = pack(t, tt.edit(entries()))
			_, err := model.OpenFS(fsys, "dir")
			var te *model.TensorError
			if !errors.As(err, &te) || !errors.Is(err, tt.cause) || !advised(err, tt.want) {
				t.Errorf("error = %v\nwant    %s", err, tt.want)
			}
		})
	}
}

func TestTensor(t *testing.T) {
	c := open(t, tiny(t))
	w, err := c.Weight("encoder.conv1.bias")
	if err != nil || !slices.Equal(w.Shape, []int{6}) {
		t.Errorf("without a shape: %v, %v, want [6]", w, err)
	}
	_, err = c.Weight("encoder.conv1.bias", 7)
	if !errors.Is(err, model.ErrShape) {
		t.Errorf("error = %v, want ErrShape", err)
	}
	_, err = c.Weight("encoder.conv3.bias", 7)
	if want := "dir/model.safetensors: tensor model.encoder.conv3.bias: missing, want [7]"; err == nil || !advised(err, want) {
		t.Errorf("error = %v, want %s", err, want)
	}
	for name, want := range map[string]bool{"encoder.": true, "encoder.conv1.bias": true, "encoder": false, "nothing.": false, "proj_out.weight": true} {
		if got := c.Has(name); got != want {
			t.Errorf("Has(%q) = %v", name, got)
		}
	}
	if c.DType() != tensor.F32 || c.Bytes() != 4*c.Params() || c.Params() != count(tinyDims) {
		t.Errorf("%v, %d bytes, %d parameters, want f32 and %d", c.DType(), c.Bytes(), c.Params(), count(tinyDims))
	}
}

func count(d model.Dims) (n int64) {
	add := func(_ string, shape []int) bool {
		p := 1
		for _, s := range shape {
			p *= s
		}
		n += int64(p)
		return true
	}
	d.EncoderWeights()(add)
	d.DecoderWeights()(add)
	return n
}

// TestHead checks that the vocabulary head is the token embedding unless they are untied.
func TestHead(t *testing.T) {
	head := safetensors.Of("proj_out.weight", tensor.FromFloat32(make([]float32, 120), 20, 6))
	fsys := tiny(t)
	fsys["model.safetensors"] = pack(t, append(entries(), head))
	c := open(t, fsys)
	if w, err := c.Weight("proj_out.weight", 20, 6); err != nil || w.Tensor().Float32()[0] == 0 {
		t.Errorf("tied: %v, %v, want the token embedding", w, err)
	}
	if slices.Contains(c.Names(), "proj_out.weight") || c.Params() != count(tinyDims) {
		t.Error("tied: the head counts as a weight of its own")
	}

	untied := file(strings.Replace(tinyConfig, `{`, `{"tie_word_embeddings": false,`, 1))
	fsys["config.json"] = untied
	if w, err := open(t, fsys).Weight("proj_out.weight", 20, 6); err != nil || w.Tensor().Float32()[0] != 0 {
		t.Errorf("untied: %v, %v, want the file's own", w, err)
	}

	fsys = tiny(t)
	fsys["config.json"] = untied
	_, err := model.OpenFS(fsys, "dir")
	if want := "dir/model.safetensors: tensor proj_out.weight: missing, want [20 6]"; err == nil || !advised(err, want) {
		t.Errorf("error = %v, want %s", err, want)
	}
}

// TestNames checks that the weights are the same under the names of both upstreams.
func TestNames(t *testing.T) {
	want := open(t, tiny(t))
	bare, openai := entries(), entries()
	for i, e := range entries() {
		bare[i].Name = strings.TrimPrefix(e.Name, "model.")
		openai[i].Name = openaiName(bare[i].Name)
	}
	if got := openai[len(openai)-1].Name; got != "decoder.ln.bias" {
		t.Fatalf("the test's own renaming gave %s", got)
	}
	for name, list := range map[string][]safetensors.Entry{"bare": bare, "openai": openai} {
		fsys := tiny(t)
		fsys["model.safetensors"] = pack(t, list)
		sameWeights(t, name, open(t, fsys), want)
	}

	fsys := tiny(t)
	fsys["model.safetensors"] = pack(t, append(entries(), bare[0]))
	_, err := model.OpenFS(fsys, "dir")
	if err == nil || !strings.Contains(err.Error(), "are both encoder.conv1.weight") {
		t.Errorf("error = %v for a weight under two names", err)
	}
}

// openaiName is the inverse of canonical, word by word.
func openaiName(name string) string {
	for _, p := range [][2]string{
		{".layers.", ".blocks."}, {"self_attn_layer_norm", "attn_ln"}, {"encoder_attn_layer_norm", "cross_attn_ln"},
		{"final_layer_norm", "mlp_ln"}, {"encoder.layer_norm", "encoder.ln_post"}, {"decoder.layer_norm", "decoder.ln"},
		{"self_attn.", "attn."}, {"encoder_attn.", "cross_attn."}, {"q_proj", "query"}, {"k_proj", "key"}, {"v_proj", "value"},
		{"out_proj", "out"}, {"fc1", "mlp.0"}, {"fc2", "mlp.2"}, {"embed_tokens", "token_embedding"},
		{"embed_positions.weight", "positional_embedding"},
	} {
		name = strings.Replace(name, p[0], p[1], 1)
	}
	return name
}

func sameWeights(t *testing.T, what string, got, want *model.Checkpoint) {
	t.Helper()
	if g, w := slices.Sorted(slices.Values(got.Names())), slices.Sorted(slices.Values(want.Names())); !slices.Equal(g, w) {
		t.Fatalf("%s: names %q, want %q", what, g, w)
	}
	for _, name := range want.Names() {
		gw, gotErr := got.Weight(name)
		ww, err := want.Weight(name)
		if err := errors.Join(gotErr, err); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		g, w := gw.Tensor(), ww.Tensor()
		if g.DType != w.DType || !slices.Equal(g.Shape, w.Shape) || !bytes.Equal(g.Data, w.Data) {
			t.Errorf("%s: %s differs: %v, want %v", what, name, g, w)
		}
	}
}

// TestOpen checks that weights are the same on disk and in memory, in one file and in
// three.
func TestOpen(t *testing.T) {
	s := testmodel.Spec{DType: "f32", Shards: 1, Config: []byte(tinyConfig)}
	want := open(t, testmodel.FS(s))
	for _, shards := range []int{1, 3} {
		s.Shards = shards
		dir := testmodel.Write(t, s)
		c, err := model.Open(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		sameWeights(t, fmt.Sprintf("%d files", shards), c, want)
		if c.Name != dir {
			t.Errorf("Name = %s, want %s", c.Name, dir)
		}
		if _, err := fs.Stat(c.FS(), "config.json"); err != nil {
			t.Error(err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestSharedEncoder opens an assistant without an encoder.
func TestSharedEncoder(t *testing.T) {
	fsys := tiny(t)
	fsys["model.safetensors"] = pack(t, slices.DeleteFunc(entries(), func(e safetensors.Entry) bool {
		return strings.HasPrefix(e.Name, "model.encoder.")
	}))
	if open(t, fsys).Has("encoder.") {
		t.Error("Has finds an encoder")
	}
}

func TestIndex(t *testing.T) {
	s := testmodel.Spec{DType: "f32", Shards: 2, Config: []byte(tinyConfig)}
	const index, first = "model.safetensors.index.json", "model-00001-of-00002.safetensors"
	tests := []struct {
		name string
		edit func(fsys fstest.MapFS)
		want string
	}{
		{"shard missing", func(f fstest.MapFS) { delete(f, first) },
			"dir/" + index + " lists " + first + ", which is not there: open " + first + ": file does not exist"},
		{"no map", func(f fstest.MapFS) { f[index] = file(`{}`) }, "dir/" + index + ": weight_map is missing or empty"},
		{"no JSON", func(f fstest.MapFS) { f[index] = file(`{`) }, "dir/" + index + ": is no JSON: line 1, column 1: unexpected end of JSON input"},
		{"a list", func(f fstest.MapFS) { f[index] = file(`[1]`) },
			"dir/" + index + ": reading JSON: got a JSON array, want an object"},
		{"shard cut off", func(f fstest.MapFS) { f[first].Data = f[first].Data[:5] },
			"dir/" + first + ": malformed safetensors file: 5 bytes, too short for a header"},
	}
	for _, name := range []string{"../a.safetensors", "/a.safetensors", `..\\a.safetensors`, "C:a.safetensors", "sub/a.safetensors", ".safetensors", "a.bin", ""} {
		tests = append(tests, struct {
			name string
			edit func(fsys fstest.MapFS)
			want string
		}{"file " + name, func(f fstest.MapFS) { f[index] = file(`{"weight_map": {"x": "` + name + `"}}`) },
			fmt.Sprintf("dir/%s: weight_map names the file %q, want a name in the same directory", index, strings.ReplaceAll(name, `\\`, `\`))})
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fsys := testmodel.FS(s)
			tt.edit(fsys)
			if _, err := model.OpenFS(fsys, "dir"); err == nil || !advised(err, tt.want) {
				t.Errorf("error = %v\nwant    %s", err, tt.want)
			}
		})
	}
}

// TestMistakes opens what people confuse with a checkpoint, and checks the errors.
func TestMistakes(t *testing.T) {
	tests := []struct {
		name  string
		files fstest.MapFS // below the directory
		open  string       // what is opened, below it too
		want  []string     // in the error
	}{
		{"nothing there", nil, "none", []string{"no such file or directory"}},
		{"PyTorch weights", fstest.MapFS{"config.json": file(tinyConfig), "pytorch_model.bin": file("")}, ".",
			[]string{"pytorch_model.bin", "save_pretrained"}},
		{"TensorFlow weights", fstest.MapFS{"config.json": file(tinyConfig), "tf_model.h5": file("")}, ".", []string{"tf_model.h5 is not read"}},
		{"no weights", fstest.MapFS{"config.json": file(tinyConfig)}, ".", []string{"no model.safetensors"}},
		{"no config", fstest.MapFS{"model.safetensors": file("")}, ".", []string{"no config.json", "model.bin (faster-whisper)"}},
		{"a cache of the hub", fstest.MapFS{"snapshots/abc/config.json": file(tinyConfig)}, ".", []string{"cache of the model hub", "snapshots/abc"}},
		{"a directory with ggml files", fstest.MapFS{"ggml-tiny.bin": file("")}, ".", []string{"ggml-tiny.bin is a ggml file"}},
		{"the weights themselves", fstest.MapFS{"model.safetensors": file("")}, "model.safetensors", []string{"name its directory"}},
		{"a directory with a PyTorch file", fstest.MapFS{"tiny.pt": file("")}, ".", []string{"name the file itself", "tiny.pt"}},
		{"a GGUF file", fstest.MapFS{"m.gguf": file("GGUF....")}, "m.gguf", []string{"GGUF", "llama.cpp", "ggml-"}},
		{"an HTML page", fstest.MapFS{"m.pt": file("<!doctype html>")}, "m.pt", []string{"HTML page"}},
		{"an empty file", fstest.MapFS{"m.pt": file("")}, "m.pt", []string{"the file is empty; download it again"}},
		{"faster-whisper without weights", fstest.MapFS{"config.json": file("{}"), "vocabulary.txt": file("x")}, ".", []string{"model.bin is missing"}},
		{"OpenVINO", fstest.MapFS{"openvino_encoder_model.xml": file("x")}, ".", []string{"of OpenVINO", "openai/whisper-base"}},
		{"OpenVINO with its configuration", fstest.MapFS{"config.json": file(tinyConfig), "openvino_encoder_model.xml": file("x")}, ".", []string{"of OpenVINO"}},
		{"ONNX", fstest.MapFS{"encoder_model.onnx": file("x")}, ".", []string{"of ONNX", "openai/whisper-base"}},
		{"CTranslate2's weights", fstest.MapFS{"model.bin": file("x")}, "model.bin", []string{"name its directory"}},
		{"another file", fstest.MapFS{"x.txt": file("text")}, "x.txt", []string{"want the directory of a Hugging Face or CTranslate2"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, tt.files); err != nil {
				t.Fatal(err)
			}
			_, err := model.Open(t.Context(), filepath.Join(dir, tt.open))
			checkMistake(t, err, tt.want, tt.open != "none")
		})
	}
	if _, err := model.Open(t.Context(), "large-v9"); errors.Is(err, model.ErrNotCheckpoint) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error = %v for what is not there", err)
	}
}

func checkMistake(t *testing.T, err error, want []string, layout bool) {
	t.Helper()
	if err == nil || errors.Is(err, model.ErrNotCheckpoint) != layout {
		t.Fatalf("error = %v; ErrNotCheckpoint: want %v", err, layout)
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error = %v, want %q in it", err, w)
		}
	}
}

// FuzzConfig feeds the JSON files: whatever opens has sizes that fit.
func FuzzConfig(f *testing.F) {
	f.Add(tinyConfig, `{"lang_to_id": {"<|en|>": 10}, "alignment_heads": [[1, 2]], "eos_token_id": [3]}`, `{"chunk_length": 1}`, `{"weight_map": {"x": "a.safetensors"}}`)
	f.Add(tinyConfig, `{"suppress_tokens": [], "forced_decoder_ids": [[1, null]], "max_initial_timestamp_index": -3}`, `{"feature_extractor": {}}`, `{"weight_map": {"x": "../a.safetensors"}}`)
	f.Add(`{"d_model": 1e9}`, `null`, `[]`, `{}`)
	f.Add(tinyConfig, "{\"alignment_heads\": [[1,\n2,\n3]]}", "{\"chunk_length\": [\n1]}", `{"weight_map": {"\u001b": "\u001b.safetensors"}}`)
	f.Add(tinyConfig, `{"is_multilingual": 1`+strings.Repeat("0", 5000)+`}`, `{"n_fft": [1,`+strings.Repeat(" \n", 5000)+`2]}`, `{"weight_map": {"`+strings.Repeat("a", 5000)+`": "a.safetensors"}}`)
	f.Add(tinyConfig+strings.Repeat("x", 5000), `null`, `[]`, `{"weight_map": {"model.\u001b": "a.safetensors", "\u001b": "a.safetensors"}}`)
	weights := pack(f, entries())
	f.Fuzz(func(t *testing.T, config, generation, preprocessor, index string) {
		for _, single := range []bool{true, false} {
			fsys := fstest.MapFS{"config.json": file(config), "generation_config.json": file(generation),
				"preprocessor_config.json": file(preprocessor), "model.safetensors.index.json": file(index), "a.safetensors": weights}
			if single {
				fsys["model.safetensors"] = weights
			}
			c, err := model.OpenFS(fsys, "fuzz")
			if err != nil {
				if len(err.Error()) > 1000 || strings.ContainsAny(err.Error(), "\n\x1b") {
					t.Fatalf("error %q is not a short line", err)
				}
				continue
			}
			d, g := c.Dims, c.Generation
			if d.AudioWidth%d.AudioHeads != 0 || d.TextWidth%d.TextHeads != 0 {
				t.Fatalf("opened with %+v", d)
			}
			for _, id := range slices.Concat(g.SuppressTokens, g.BeginSuppressTokens, slices.Collect(maps.Values(g.LangToID))) {
				if id < 0 || int(id) >= d.Vocab {
					t.Fatalf("token %d outside the vocabulary of %d", id, d.Vocab)
				}
			}
			c.Close()
		}
	})
}

// TestSurplusLayers states one layer fewer than there are weights.
func TestSurplusLayers(t *testing.T) {
	for _, field := range []string{"encoder_layers", "decoder_layers"} {
		fsys := tiny(t)
		layers := map[string]string{"encoder_layers": "1", "decoder_layers": "2"}[field]
		fewer := map[string]string{"encoder_layers": "0", "decoder_layers": "1"}[field]
		conf := strings.Replace(tinyConfig, `"`+field+`": `+layers, `"`+field+`": `+fewer, 1)
		fsys["config.json"] = file(conf)
		_, err := model.OpenFS(fsys, "m")
		var bad *model.ConfigError
		if !errors.As(err, &bad) || bad.Field != field {
			t.Errorf("%s one too few: error %v, want one about the field", field, err)
		}
	}
}

// remedies end every error about the content of a checkpoint.
var remedies = []string{
	"; correct it, or download it again", "; name a Whisper model", "; convert the model to float16 or float32",
	"; download or convert the model again, weights and config.json together", "; download or convert the model again",
}

// advised reports whether an error is a text followed by a remedy, and nothing else.
func advised(err error, text string) bool {
	rest, ok := strings.CutPrefix(err.Error(), text)
	return ok && slices.Contains(remedies, rest)
}

package testmodel

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/fstest"

	"verity/internal/formats/safetensors"
	"verity/internal/tensor"
	"verity/model"
)

// A Spec is one of the checkpoints; specs.json describes them all.
type Spec struct {
	Name           string
	Why            string // it exists
	Seed           int
	DType          string // "f32", "f16" or "bf16"
	Shards         int
	EndOfText      int             `json:"end_of_text"`
	FirstTimestamp int             `json:"first_timestamp"`
	Config         json.RawMessage // config.json
	Generation     json.RawMessage `json:"generation_config"`   // nil: no such file
	Preprocessor   json.RawMessage `json:"preprocessor_config"` // nil: no such file
}

//go:embed specs.json
var specsJSON []byte

// Specs returns every spec, in the order of the file.
var Specs = sync.OnceValue(func() []Spec {
	var specs []Spec
	if err := json.Unmarshal(specsJSON, &specs); err != nil {
		panic(err)
	}
	return specs
})

// Named returns the named spec: "multi", "english", "v3", "odd", "sharded",
// "bf16" or "f16". It panics on another.
func Named(name string) Spec {
	for _, s := range Specs() {
		if s.Name == name {
			return s
		}
	}
	panic("testmodel: no spec named " + name)
}

// Dims returns the sizes that the spec's config.json states.
func (s Spec) Dims() model.Dims {
	var config map[string]any
	if err := json.Unmarshal(s.Config, &config); err != nil {
		panic(err)
	}
	n := func(name string) int { return int(config[name].(float64)) }
	return model.Dims{
		MelBins: n("num_mel_bins"), AudioPositions: n("max_source_positions"), AudioWidth: n("d_model"),
		AudioHeads: n("encoder_attention_heads"), AudioLayers: n("encoder_layers"), AudioFFN: n("encoder_ffn_dim"),
		Vocab: n("vocab_size"), TextPositions: n("max_target_positions"), TextWidth: n("d_model"),
		TextHeads: n("decoder_attention_heads"), TextLayers: n("decoder_layers"), TextFFN: n("decoder_ffn_dim"),
	}
}

// Entries returns the weights in the spec's type, under Hugging Face's names
// with the prefix "model.", encoder first.
func (s Spec) Entries() []safetensors.Entry {
	dtype := map[string]tensor.DType{"f32": tensor.F32, "f16": tensor.F16, "bf16": tensor.BF16}[s.DType]
	var entries []safetensors.Entry
	add := func(name string, shape []int) bool {
		w := tensor.Convert(s.weight(name, shape), dtype, shape...)
		entries = append(entries, safetensors.Of("model."+name, w))
		return true
	}
	d := s.Dims()
	d.EncoderWeights()(add)
	d.DecoderWeights()(add)
	return entries
}

// FS returns the checkpoint in memory.
func FS(s Spec) fstest.MapFS {
	files := fstest.MapFS{"config.json": {Data: s.Config}}
	if s.Generation != nil {
		files["generation_config.json"] = &fstest.MapFile{Data: s.Generation}
	}
	if s.Preprocessor != nil {
		files["preprocessor_config.json"] = &fstest.MapFile{Data: s.Preprocessor}
	}
	entries := s.Entries()
	if s.Shards == 1 {
		files["model.safetensors"] = &fstest.MapFile{Data: encode(entries)}
		return files
	}
	// Deal the tensors out in turn, so that neighbours lie in different files.
	shards, index := make([][]safetensors.Entry, s.Shards), map[string]string{}
	file := func(i int) string { return fmt.Sprintf("model-%05d-of-%05d.safetensors", i+1, s.Shards) }
	for i, e := range entries {
		n := i % s.Shards
		shards[n] = append(shards[n], e)
		index[e.Name] = file(n)
	}
	for n, part := range shards {
		files[file(n)] = &fstest.MapFile{Data: encode(part)}
	}
	b, err := json.Marshal(map[string]any{"metadata": map[string]any{}, "weight_map": index})
	if err != nil {
		panic(err)
	}
	files["model.safetensors.index.json"] = &fstest.MapFile{Data: b}
	return files
}

func encode(entries []safetensors.Entry) []byte {
	var b bytes.Buffer
	if err := safetensors.Write(context.Background(), &b, entries...); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// Write writes the checkpoint to a directory that is removed after the test.
func Write(t testing.TB, s Spec) (dir string) {
	t.Helper()
	dir = t.TempDir()
	WriteFS(t, dir, FS(s))
	return dir
}

// Changed returns a flat checkpoint in memory with the bytes of one tensor changed.
func Changed(t testing.TB, files fs.FS, tensor string, change func(data []byte)) fstest.MapFS {
	t.Helper()
	names, err := fs.Glob(files, "*")
	if err != nil {
		t.Fatal(err)
	}
	changed, found := fstest.MapFS{}, false
	for _, name := range names {
		b, err := fs.ReadFile(files, name)
		if err != nil {
			t.Fatal(err)
		}
		changed[name] = &fstest.MapFile{Data: slices.Clone(b)}
		if filepath.Ext(name) != ".safetensors" {
			continue
		}
		entries, err := safetensors.Parse(changed[name].Data)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Name == tensor {
				change(e.Data)
				found = true
			}
		}
	}
	if !found {
		t.Fatalf("there is no tensor %s", tensor)
	}
	return changed
}

// WriteFS writes a flat file system to a directory.
func WriteFS(t testing.TB, dir string, files fs.FS) {
	t.Helper()
	if err := os.CopyFS(dir, files); err != nil {
		t.Fatal(err)
	}
}

// Open opens the named checkpoint in memory, and closes it after the test.
func Open(t testing.TB, name string) *model.Checkpoint {
	t.Helper()
	c, err := model.OpenFS(FS(Named(name)), name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

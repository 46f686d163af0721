package quantize

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"strings"

	"verity/internal/formats/safetensors"
	"verity/internal/input"
	"verity/internal/output"
	"verity/internal/quant"
)

// quantMethod is the method in the config of our checkpoints, under the key of
// transformers.
const quantMethod = "verity"

const weightsFile = "model.safetensors"

// mostJSON bounds the settings and the vocabulary of a checkpoint: tokenizer.json of large-v3
// has 2.5 MB.
const mostJSON = 64 << 20

// assemble writes the checkpoint, the weights last.
func (r *run) assemble(ctx context.Context, put output.FileWriter) error {
	var entries []safetensors.Entry
	for _, name := range r.from.Names() {
		if m := r.done[name]; m != nil {
			entries = append(entries, m.entries("model."+name)...)
			continue
		}
		w, err := r.from.Weight(name)
		if err != nil {
			return err
		}
		entries = append(entries, safetensors.Entry{Name: "model." + name, DType: w.DType, Shape: w.Shape, Data: func(to io.Writer) error {
			_, err := to.Write(w.Tensor().Data)
			w.Drop(0, w.Shape[0])
			return err
		}})
	}
	if err := r.config(put); err != nil {
		return err
	}
	if err := copyFiles(r.from.FS(), put); err != nil {
		return err
	}
	return put(weightsFile, func(w io.Writer) error { return safetensors.Write(ctx, w, entries...) })
}

// A coded weight is a quantised one.
type coded interface {
	entries(name string) []safetensors.Entry // of its parts in a file
}

type (
	grouped struct{ *quant.Matrix }
	byRow   struct{ *quant.RowMatrix }
)

func (m grouped) entries(name string) []safetensors.Entry {
	scales := "F16"
	if m.Format.ScaleBytes() == 1 {
		scales = "F8_E8M0"
	}
	all := []safetensors.Entry{
		part(name+"_packed", "U8", m.Codes, m.Rows, 1),
		part(name+"_scale", scales, m.Scales, m.Rows, m.Format.ScaleBytes()),
	}
	if len(m.Zeros) > 0 {
		all = append(all, part(name+"_zero", "U8", m.Zeros, m.Rows, 1))
	}
	return all
}

func (m byRow) entries(name string) []safetensors.Entry {
	return []safetensors.Entry{part(name, "I8", m.Codes, m.Rows, 1), part(name+"_scale", "F32", m.Scales, m.Rows, 4)}
}

// part returns a matrix of elements of size bytes.
func part(name, dtype string, data []byte, rows, size int) safetensors.Entry {
	return safetensors.Entry{Name: name, Type: dtype, Shape: []int{rows, len(data) / rows / size},
		Data: func(w io.Writer) error { _, err := w.Write(data); return err }}
}

// quantised reports whether a directory holds a checkpoint of this program.
func quantised(dir fs.FS) bool {
	b, err := input.ReadFS(dir, "config.json", mostJSON)
	var c struct {
		Quantization struct {
			Method string `json:"quant_method"`
		} `json:"quantization_config"`
	}
	return err == nil && json.Unmarshal(b, &c) == nil && c.Quantization.Method == quantMethod
}

// copyFiles copies the settings and the vocabulary of a checkpoint.
func copyFiles(from fs.FS, put output.FileWriter) error {
	for _, name := range []string{
		"generation_config.json", "preprocessor_config.json", "processor_config.json", "tokenizer.json",
		"tokenizer_config.json",
		"vocab.json", "merges.txt", "added_tokens.json", "special_tokens_map.json", "normalizer.json",
		"vocabulary.bin", // of a ggml file
	} {
		b, err := input.ReadFS(from, name, mostJSON)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = put(name, func(w io.Writer) error { _, err := w.Write(b); return err })
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// config writes config.json, with the quantisation in it.
func (r *run) config(put output.FileWriter) error {
	config := map[string]any{}
	b, err := input.ReadFS(r.from.FS(), "config.json", mostJSON)
	switch {
	case err == nil:
		d := json.NewDecoder(strings.NewReader(string(b)))
		d.UseNumber()
		if err := d.Decode(&config); err != nil {
			return fmt.Errorf("config.json: %w", input.JSON(b, err))
		}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if _, ok := config["num_mel_bins"]; !ok { // the checkpoint has another format than Hugging Face's
		maps.Copy(config, r.from.Settings())
	}
	method := Nearest
	if r.Calibrate != nil {
		method = GPTQ
	}
	config["quantization_config"] = map[string]any{
		"quant_method": quantMethod, "format": r.Format, "group_size": quant.Group, "method": method}
	b, err = json.MarshalIndent(config, "", " ")
	if err != nil {
		return err
	}
	return put("config.json", func(w io.Writer) error { _, err := w.Write(append(b, '\n')); return err })
}

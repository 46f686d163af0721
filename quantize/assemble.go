package quantize

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"verity/internal/input"
	"verity/internal/output"
	"verity/internal/quant"
	"verity/internal/safetensors"
)

// quantMethod is the method in the config of our checkpoints, under the key of
// transformers.
const quantMethod = "verity"

// mostJSON bounds the settings and the vocabulary of a checkpoint: tokenizer.json of large-v3
// has 2.5 MB.
const mostJSON = 64 << 20

// layers returns the results of all weights, in the order of the network.
func (r *run) layers() (all []Layer) {
	for name := range r.weights {
		if l, ok := r.journal.done[name]; ok {
			all = append(all, l)
		}
	}
	return all
}

// assemble writes the checkpoint and removes the journal. The weights come last: what is
// there without them is the start of a checkpoint of this program.
func (r *run) assemble(ctx context.Context) error {
	var entries []safetensors.Entry
	for _, name := range r.from.Names() {
		if _, ok := r.journal.done[name]; ok {
			more, err := r.packed(name)
			if err != nil {
				return err
			}
			entries = append(entries, more...)
			continue
		}
		entry, err := r.asStored(name)
		if err != nil {
			return err
		}
		entries = append(entries, entry)
	}
	if err := r.config(); err != nil {
		return err
	}
	if err := copyFiles(r.from.FS(), r.journal.dir); err != nil {
		return err
	}
	err := output.WriteIn(r.journal.dir, "model.safetensors", func(w io.Writer) error {
		return safetensors.WriteContext(ctx, w, entries...)
	})
	if err != nil {
		return err
	}
	return r.journal.remove()
}

// asStored returns the entry of a weight that stays as it is.
func (r *run) asStored(name string) (safetensors.Entry, error) {
	wt, err := r.from.Weight(name)
	if err != nil {
		return safetensors.Entry{}, err
	}
	return safetensors.Entry{Name: "model." + name, DType: wt.DType, Shape: wt.Shape, Data: func(w io.Writer) error {
		_, err := w.Write(wt.Tensor().Data)
		wt.Drop(0, wt.Shape[0])
		return err
	}}, nil
}

// packed returns the entries of a few-bit weight.
func (r *run) packed(name string) ([]safetensors.Entry, error) {
	wt, err := r.from.Weight(name)
	if err != nil {
		return nil, err
	}
	rows, cols := wt.Shape[0], wt.Shape[1]
	f, err := quant.Parse(r.journal.done[name].Format)
	if err != nil {
		return nil, err
	}
	part := func(suffix, dtype string, width int, of func(*quant.Matrix) []byte) safetensors.Entry {
		return safetensors.Entry{Name: "model." + name + suffix, Type: dtype, Shape: []int{rows, width},
			Data: func(w io.Writer) error {
				m, err := r.journal.get(name, rows, cols)
				if err == nil {
					_, err = w.Write(of(m))
				}
				return err
			}}
	}
	codes, scales, zeros := f.Sizes(cols)
	dtype := "F16"
	if f.ScaleBytes() == 1 {
		dtype = "F8_E8M0"
	}
	all := []safetensors.Entry{
		part("_packed", "U8", codes, func(m *quant.Matrix) []byte { return m.Codes }),
		part("_scale", dtype, scales/f.ScaleBytes(), func(m *quant.Matrix) []byte { return m.Scales }),
	}
	if zeros > 0 {
		all = append(all, part("_zero", "U8", zeros, func(m *quant.Matrix) []byte { return m.Zeros }))
	}
	return all, nil
}

// copyFiles copies the settings and the vocabulary of a checkpoint.
func copyFiles(from fs.FS, dir string) error {
	for _, name := range []string{
		"generation_config.json", "preprocessor_config.json", "processor_config.json", "tokenizer.json",
		"tokenizer_config.json",
		"vocab.json", "merges.txt", "added_tokens.json", "special_tokens_map.json", "normalizer.json",
	} {
		b, err := input.ReadFS(from, name, mostJSON)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = output.WriteFile(dir, name, b)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// config writes config.json, with the quantisation in it.
func (r *run) config() error {
	b, err := input.ReadFS(r.from.FS(), "config.json", mostJSON)
	if err != nil {
		return err
	}
	config := map[string]any{}
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.UseNumber()
	if err := d.Decode(&config); err != nil {
		return fmt.Errorf("config.json: %w", err)
	}
	method := Nearest
	if r.Calibrate != nil {
		method = GPTQ
	}
	q := map[string]any{"quant_method": quantMethod, "format": r.Format, "group_size": quant.Group, "method": method}
	if r.Head != "" {
		q["head"] = r.Head
	}
	config["quantization_config"] = q
	b, err = json.MarshalIndent(config, "", " ")
	if err != nil {
		return err
	}
	return output.WriteFile(r.journal.dir, "config.json", append(b, '\n'))
}

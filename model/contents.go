package model

import (
	"io/fs"
	"iter"
	"slices"
	"strings"

	"verity/internal/tensor"
)

// Weight returns a weight, not yet read, by its Hugging Face name without the leading "model.",
// such as "encoder.layers.0.self_attn.q_proj.weight". A shape, if given, must be
// the weight's. "proj_out.weight", the vocabulary head, is the token embedding
// unless the checkpoint unties them. The error is a *[TensorError].
func (c *Checkpoint) Weight(name string, shape ...int) (Weight, error) {
	return c.store.get(c.key(name), shape)
}

func (c *Checkpoint) key(name string) string {
	if name == headName && c.tied {
		return embedName
	}
	return name
}

// Has reports whether the files hold a tensor of this name, or, if the name ends in a
// dot, any tensor whose name begins with it: Has("encoder.") is false for an assistant
// that shares its target's encoder.
func (c *Checkpoint) Has(name string) bool {
	if strings.HasSuffix(name, ".") {
		return slices.ContainsFunc(c.store.order, func(n string) bool { return strings.HasPrefix(n, name) })
	}
	_, ok := c.store.weights[c.key(name)]
	return ok
}

// Names returns the names of all tensors in the order of the files, in the form that
// Tensor takes. A tied vocabulary head is not among them, even if a file holds it.
func (c *Checkpoint) Names() []string {
	return slices.DeleteFunc(slices.Clone(c.store.order), func(n string) bool { return c.key(n) != n })
}

// Files returns the names of the mapped files that hold the weights; none if they are in
// memory.
func (c *Checkpoint) Files() (names []string) {
	for _, f := range c.store.files {
		if f.Mapped() {
			names = append(names, f.Name())
		}
	}
	return names
}

// Settings returns the fields of Hugging Face's config.json, of which checkpoints in other formats
// have the values elsewhere.
func (c *Checkpoint) Settings() map[string]any {
	g := c.Generation
	settings := map[string]any{
		"model_type": "whisper", "activation_function": "gelu", "tie_word_embeddings": c.tied,
		"is_multilingual": g.Multilingual, "suppress_tokens": g.SuppressTokens,
		"begin_suppress_tokens": g.BeginSuppressTokens, "alignment_heads": g.AlignmentHeads,
	}
	for _, f := range c.Dims.fields() {
		settings[f.hf] = *f.value
	}
	return settings
}

// FS returns the directory, for the files that other packages read.
func (c *Checkpoint) FS() fs.FS { return c.fsys }

// DType returns the type that most weights are read as: for few-bit weights, the type
// that they expand to.
func (c *Checkpoint) DType() tensor.DType {
	return mostly(c, func(w Weight) tensor.DType { return w.DType })
}

// Quantised returns the format of most of the few-bit weights, as the file calls it, such
// as "int4" or "q5_0"; "" if there are none.
func (c *Checkpoint) Quantised() string {
	return mostly(c, func(w Weight) string {
		if w.Quantised() {
			return w.Type
		}
		return ""
	})
}

// mostly returns what a function returns of most of the weights, zeros not counted.
func mostly[K comparable](c *Checkpoint, of func(Weight) K) (best K) {
	params, none := map[K]int{}, best
	for w := range c.all() {
		if k := of(w); k != none {
			if params[k] += w.Len(); params[k] > params[best] {
				best = k
			}
		}
	}
	return best
}

// Params returns the number of weights, positions included.
func (c *Checkpoint) Params() (n int64) {
	for w := range c.all() {
		n += int64(w.Len())
	}
	return n
}

// Bytes returns how many bytes the weights take as stored.
func (c *Checkpoint) Bytes() (n int64) {
	for w := range c.all() {
		n += int64(w.Bytes())
	}
	return n
}

// all yields the weights of Names whose type the network can use.
func (c *Checkpoint) all() iter.Seq[Weight] {
	return func(yield func(Weight) bool) {
		for _, name := range c.Names() {
			if w, err := c.Weight(name); err == nil && !yield(w) {
				return
			}
		}
	}
}

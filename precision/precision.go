package precision

import (
	"fmt"
	"strings"
)

// A Precision is the formats of a network. The zero value leaves all of them to the
// loader: weights as in the checkpoint, and the others chosen to suit the weights.
type Precision struct {
	// Weights is the format of matrices. Auto means f16 if every weight survives that
	// exactly, else f32; few bits stay as in the file.
	Weights Format

	// Activations is the format that matrices are multiplied by. Auto means int8 for
	// integer weights, else f32. There is no other choice yet.
	Activations Format

	// Cache is the format of keys and values. Auto means int8 with int8 weights, f16 with
	// half-precision ones, else f32. An encoder without int8 keeps them in f32 in any
	// case: they stay in the processor's caches.
	Cache Format

	// Head is the format of the token embedding, which is the vocabulary head too. Auto
	// means that of the weights, or, in a checkpoint of few-bit weights, that of the
	// file.
	Head Format
}

// Of returns the precision whose weights have format f; the others suit it.
func Of(f Format) Precision { return Precision{Weights: f} }

// Parse reads what String writes: the format of the weights, then the other formats that
// are not automatic, each after a colon: "int8", "int8:cache=f16".
func Parse(s string) (Precision, error) {
	var p Precision
	parts := strings.Split(s, ":")
	var err error
	if p.Weights, err = ParseFormat(parts[0]); err != nil {
		return Precision{}, err
	}
	for _, part := range parts[1:] {
		key, value, _ := strings.Cut(part, "=")
		f, err := ParseFormat(value)
		switch {
		case key == "activations" && err == nil:
			p.Activations = f
		case key == "cache" && err == nil:
			p.Cache = f
		case key == "head" && err == nil:
			p.Head = f
		case key != "activations" && key != "cache" && key != "head":
			return Precision{}, fmt.Errorf("%q: want activations=FORMAT, cache=FORMAT or head=FORMAT", part)
		default:
			return Precision{}, fmt.Errorf("%s: %w", key, err)
		}
	}
	if err := p.Check(); err != nil {
		return Precision{}, err
	}
	return p, nil
}

// String returns the format of the weights, and the other formats where they differ from
// what suits the weights.
func (p Precision) String() string {
	suits := Of(p.Weights).Complete()
	s := p.Weights.String()
	if p.Activations != Auto && p.Activations != suits.Activations {
		s += ":activations=" + p.Activations.String()
	}
	if p.Cache != Auto && p.Cache != suits.Cache {
		s += ":cache=" + p.Cache.String()
	}
	if p.Head != Auto {
		s += ":head=" + p.Head.String()
	}
	return s
}

// Complete returns p with every Auto format replaced by one that suits the weights. If
// the weights are Auto themselves, it changes nothing: the checkpoint must decide first.
func (p Precision) Complete() Precision {
	k := p.Weights.kind()
	if p.Activations == Auto {
		p.Activations = k.activations
	}
	if p.Cache == Auto {
		p.Cache = k.cache
	}
	return p
}

// Check returns an error if the kernels cannot compute in p.
func (p Precision) Check() error {
	for _, f := range []Format{p.Weights, p.Activations, p.Cache, p.Head} {
		if !f.Known() {
			return fmt.Errorf("precision: unknown format %v: want %s", f, Names())
		}
	}
	switch c := p.Complete(); {
	case p.Weights == Auto && p.Head != Auto:
		return fmt.Errorf("precision: head in %v with automatic weights: name the format of the weights", p.Head)
	case p.Weights == Auto && p.Activations != Auto:
		return fmt.Errorf("precision: activations in %v with automatic weights: name the format of the weights",
			p.Activations)
	case p.Weights != Auto && c.Activations != Of(p.Weights).Complete().Activations:
		return fmt.Errorf("precision: activations in %v: got weights in %v, which are multiplied by %v",
			c.Activations, p.Weights, Of(p.Weights).Complete().Activations)
	case c.Cache != Auto && !c.Cache.kind().caches:
		return fmt.Errorf("precision: keys and values in %v: want f32, f16 or int8", c.Cache)
	}
	return nil
}

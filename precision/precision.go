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

	// Cache is the format of keys and values. Auto means int8 with int8 weights, f16 with
	// half-precision ones, else f32. An encoder without int8 keeps them in f32 in any
	// case: they stay in the processor's caches.
	Cache Format

	// Head is the format of the token embedding, which is the vocabulary head too. Auto
	// means that of the weights, or, in a checkpoint of few-bit weights, that of the
	// file.
	Head Format

	// Encoder is the format of the encoder's matrices. Auto is as of Head.
	Encoder Format
}

// Of returns the precision whose weights have format f; the others suit it.
func Of(f Format) Precision { return Precision{Weights: f} }

// Parse reads what String writes: the format of the weights, then the other formats that
// are not automatic, each after a colon: "int8", "int8:cache=f16", "int4:encoder=int8".
func Parse(s string) (Precision, error) {
	var p Precision
	parts := strings.Split(s, ":")
	var err error
	if p.Weights, err = ParseFormat(parts[0]); err != nil {
		return Precision{}, err
	}
	for _, part := range parts[1:] {
		key, value, _ := strings.Cut(part, "=")
		format := map[string]*Format{"cache": &p.Cache, "head": &p.Head, "encoder": &p.Encoder}[key]
		if format == nil {
			return Precision{}, fmt.Errorf("%q: want cache=FORMAT, head=FORMAT or encoder=FORMAT", part)
		}
		if *format, err = ParseFormat(value); err != nil {
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
	s := p.Weights.String()
	if p.Cache != Auto && p.Cache != p.Weights.kind().cache {
		s += ":cache=" + p.Cache.String()
	}
	if p.Head != Auto {
		s += ":head=" + p.Head.String()
	}
	if p.Encoder != Auto {
		s += ":encoder=" + p.Encoder.String()
	}
	return s
}

// Complete returns p with every Auto format replaced by one that suits the weights. If
// the weights are Auto themselves, it changes nothing: the checkpoint must decide first.
func (p Precision) Complete() Precision {
	if p.Cache == Auto {
		p.Cache = p.Weights.kind().cache
	}
	return p
}

// Check returns an error if the kernels cannot compute in p.
func (p Precision) Check() error {
	for _, f := range []Format{p.Weights, p.Cache, p.Head, p.Encoder} {
		if !f.known() {
			return fmt.Errorf("precision: unknown format %v: want %s", f, Names())
		}
	}
	switch {
	case p.Weights == Auto && p.Head != Auto:
		return fmt.Errorf("precision: head in %v with automatic weights: name the format of the weights", p.Head)
	case p.Weights == Auto && p.Encoder != Auto:
		return fmt.Errorf("precision: encoder in %v with automatic weights: name the format of the weights", p.Encoder)
	case p.Cache != Auto && !p.Cache.kind().caches:
		return fmt.Errorf("precision: keys and values in %v: want f32, f16 or int8", p.Cache)
	}
	return nil
}

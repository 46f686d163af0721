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
}

// Of returns the precision whose weights have format f; the others suit it.
func Of(f Format) Precision { return Precision{Weights: f} }

// Parse reads what String writes: the format of the weights, then that of keys and values unless it is
// automatic: "int8", "int8:cache=f16".
func Parse(s string) (Precision, error) {
	weights, rest, more := strings.Cut(s, ":")
	var p Precision
	var err error
	if p.Weights, err = ParseFormat(weights); err != nil {
		return Precision{}, err
	}
	if cache, ok := strings.CutPrefix(rest, "cache="); more && !ok {
		return Precision{}, fmt.Errorf("%q: want cache=FORMAT", rest)
	} else if more {
		if p.Cache, err = ParseFormat(cache); err != nil {
			return Precision{}, fmt.Errorf("cache: %w", err)
		}
	}
	if err := p.Check(); err != nil {
		return Precision{}, err
	}
	return p, nil
}

// String returns the format of the weights, and that of keys and values where it differs from
// what suits the weights.
func (p Precision) String() string {
	s := p.Weights.String()
	if p.Cache != Auto && p.Cache != p.Weights.kind().cache {
		s += ":cache=" + p.Cache.String()
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
	for _, f := range []Format{p.Weights, p.Cache} {
		if !f.known() {
			return fmt.Errorf("precision: unknown format %v: want %s", f, Names())
		}
	}
	if p.Cache != Auto && !p.Cache.kind().caches {
		return fmt.Errorf("precision: keys and values in %v: want f32, f16 or int8", p.Cache)
	}
	return nil
}

package kernel

import (
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"

	"verity/precision"
)

// A Tuning chooses between ways of doing a product where no property of the machine tells
// which is faster. No result depends on it. 0 is the default for this processor, and for
// everything that this machine has no choice of.
type Tuning struct {
	// Least rows for which weights are prefetched. Fewer rows leave that to the processor.
	AheadRows int `json:"prefetch_rows,omitempty"`

	// The cache that int8 weights are prefetched into for few rows: 1 or 2.
	Level int `json:"prefetch_level,omitempty"`

	// Least rows for which the tile unit (AMX) takes int8 weights from memory.
	TileRows int `json:"tile_rows,omitempty"`

	// Most rows whose products expand few-bit weights in registers. For more rows weights
	// are expanded once, into a cache.
	DirectRows int `json:"direct_rows,omitempty"`
}

// tuned is what SetTuning has set; nil is all defaults. A product may run meanwhile: its
// parts may differ in speed then.
var tuned atomic.Pointer[Tuning]

// tuning returns what kernels go by.
func tuning() *Tuning {
	if t := tuned.Load(); t != nil {
		return t
	}
	return &defaults
}

// A Knob is a number of a Tuning, with the values to choose from.
type Knob struct {
	Name   string  // as in JSON
	Values []int   // the default first
	Trials []Trial // products that take longer with the wrong value

	at    func(*Tuning) *int
	there func() bool // whether the implementations in use have the choice
}

var knobs = []Knob{
	{
		Name: "prefetch_rows", Values: []int{1, few}, Trials: []Trial{{precision.F16, 1}, {precision.Int8, 4}},
		at:    func(t *Tuning) *int { return &t.AheadRows },
		there: func() bool { return tiles.name != "ref" },
	},
	{
		Name: "prefetch_level", Values: []int{1, 2}, Trials: []Trial{{precision.Int8, few}},
		at:    func(t *Tuning) *int { return &t.Level },
		there: func() bool { return int8s.name == "amx" || int8s.name == "avx512" },
	},
	{
		Name: "tile_rows", Values: []int{8, manyRows}, Trials: []Trial{{precision.Int8, 8}, {precision.Int8, 16}},
		at:    func(t *Tuning) *int { return &t.TileRows },
		there: func() bool { return int8s.fn.stream },
	},
	{
		Name: "direct_rows", Values: []int{few, 10, 24}, Trials: []Trial{{precision.Int4, 8}, {precision.Int4, 16}},
		at:    func(t *Tuning) *int { return &t.DirectRows },
		there: func() bool { return fewBits.fn.expands },
	},
}

// Of returns the number in t.
func (k Knob) Of(t Tuning) int { return *k.at(&t) }

// Set sets the number in t.
func (k Knob) Set(t *Tuning, v int) { *k.at(t) = v }

// String names the knob with a value.
func (k Knob) String(v int) string { return k.Name + "=" + strconv.Itoa(v) }

// Knobs returns the knobs of this machine, with the implementations in use.
func Knobs() (there []Knob) {
	for _, k := range knobs {
		if k.there() {
			k.Values = first(k.Of(defaults), k.Values)
			there = append(there, k)
		}
	}
	return there
}

// first returns the values with v at the front.
func first(v int, values []int) []int {
	all := []int{v}
	for _, w := range values {
		if w != v {
			all = append(all, w)
		}
	}
	return all
}

// SetTuning sets the numbers for all products from now on. It is an error if one is not
// among the values of its knob: then nothing changes.
func SetTuning(t Tuning) error {
	set := defaults
	for _, k := range Knobs() {
		v := k.Of(t)
		if v == 0 {
			continue
		}
		if !slices.Contains(k.Values, v) {
			return fmt.Errorf("kernel: %s is %d: want one of %v", k.Name, v, k.Values)
		}
		k.Set(&set, v)
	}
	tuned.Store(&set)
	return nil
}

// CurrentTuning returns the numbers in use; 0 where this machine has no choice.
func CurrentTuning() (t Tuning) {
	for _, k := range Knobs() {
		k.Set(&t, k.Of(*tuning()))
	}
	return t
}

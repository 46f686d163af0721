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
	AheadRows  int `json:"prefetch_rows,omitempty"`  // least rows for which weights are prefetched: fewer are left to the processor's own prefetching
	Level      int `json:"prefetch_level,omitempty"` // the cache that int8 weights are prefetched into for few rows: 1 or 2
	TileRows   int `json:"tile_rows,omitempty"`      // least rows for which the tile unit (AMX) takes int8 weights from memory
	DirectRows int `json:"direct_rows,omitempty"`    // most rows whose products expand few-bit weights in registers; for more, they are expanded once into a cache
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

// A Knob is a number of a Tuning that this machine has a choice of.
type Knob struct {
	Name   string
	Values []int   // the default first
	Trials []Trial // products that take longer with the wrong value

	at func(*Tuning) *int
}

// Of returns the number in t.
func (k Knob) Of(t Tuning) int { return *k.at(&t) }

// Set sets the number in t.
func (k Knob) Set(t *Tuning, v int) { *k.at(t) = v }

// String names the knob with a value.
func (k Knob) String(v int) string { return k.Name + "=" + strconv.Itoa(v) }

// Knobs returns the knobs of this machine, with the implementations in use.
func Knobs() []Knob {
	tileUnit, vectors := int8s.fn.stream, int8s.name == "amx" || int8s.name == "avx512"
	all := []struct {
		there bool
		knob  Knob
	}{
		{tiles.name != "ref", Knob{"prefetch_rows", []int{1, few}, []Trial{{precision.F16, 1}, {precision.Int8, 4}},
			func(t *Tuning) *int { return &t.AheadRows }}},
		{vectors, Knob{"prefetch_level", []int{1, 2}, []Trial{{precision.Int8, few}},
			func(t *Tuning) *int { return &t.Level }}},
		{tileUnit, Knob{"tile_rows", []int{8, manyRows}, []Trial{{precision.Int8, 8}, {precision.Int8, 16}},
			func(t *Tuning) *int { return &t.TileRows }}},
		{fewBits.fn.expands, Knob{"direct_rows", []int{few, 10, 24}, []Trial{{precision.Int4, 8}, {precision.Int4, 16}},
			func(t *Tuning) *int { return &t.DirectRows }}},
	}
	var knobs []Knob
	for _, k := range all {
		if k.there {
			k.knob.Values = first(k.knob.Of(defaults), k.knob.Values)
			knobs = append(knobs, k.knob)
		}
	}
	return knobs
}

// first returns values with v at the front.
func first(v int, values []int) []int {
	return append([]int{v}, slices.DeleteFunc(values, func(w int) bool { return w == v })...)
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

package diarize

import (
	"math"
	"slices"
)

// Errors are the parts of the diarization error rate, in seconds of speech of one speaker: where two speak, each
// second counts twice.
type Errors struct {
	Total      float64 `json:"total"`       // of the reference
	Missed     float64 `json:"missed"`      // speech that was not found
	FalseAlarm float64 `json:"false_alarm"` // what was found, but is no speech
	Confusion  float64 `json:"confusion"`   // speech of another speaker
}

// Rate returns the diarization error rate. Without speech in the reference, it is 0 if nothing was found, else
// infinite.
func (e Errors) Rate() float64 {
	wrong := e.Missed + e.FalseAlarm + e.Confusion
	if wrong == 0 {
		return 0
	}
	return wrong / e.Total
}

// Add adds the errors of another clip.
func (e *Errors) Add(o Errors) {
	e.Total += o.Total
	e.Missed += o.Missed
	e.FalseAlarm += o.FalseAlarm
	e.Confusion += o.Confusion
}

// Scoring says what is counted.
type Scoring struct {
	// Collar leaves out this many seconds on either side of each boundary of the reference. 0.25 is usual.
	Collar float64

	// SkipOverlap leaves out where two speakers or more speak in the reference.
	SkipOverlap bool
}

// Score compares turns with the reference. Speakers of one are those of the other under the mapping with the
// fewest errors.
//
// Source: pyannote.metrics 4.2.0 DiarizationErrorRate, whose collar is the whole width, twice this one.
func (o Scoring) Score(reference, found []Turn) (e Errors) {
	spans := o.spans(reference, found)
	var refs, hyps int
	for _, s := range spans {
		refs, hyps = max(refs, maximum(s.ref)), max(hyps, maximum(s.hyp))
	}
	together := make([][]float64, refs)
	for r := range together {
		together[r] = make([]float64, hyps)
	}
	for _, s := range spans {
		for _, r := range s.ref {
			for _, h := range s.hyp {
				together[r-1][h-1] += s.length
			}
		}
	}
	partner := Assign(together)
	for _, s := range spans {
		r, h, right := len(s.ref), len(s.hyp), 0
		for _, x := range s.ref {
			if p := partner[x-1]; p >= 0 && slices.Contains(s.hyp, p+1) {
				right++
			}
		}
		e.Total += float64(r) * s.length
		e.Missed += float64(max(0, r-h)) * s.length
		e.FalseAlarm += float64(max(0, h-r)) * s.length
		e.Confusion += float64(min(r, h)-right) * s.length
	}
	return e
}

func maximum(x []int) (most int) {
	for _, v := range x {
		most = max(most, v)
	}
	return most
}

// A span is a stretch in which nobody begins or ends.
type span struct {
	length   float64
	ref, hyp []int // who speaks, each once
}

// spans cuts time at every boundary and returns the stretches that count.
func (o Scoring) spans(reference, found []Turn) (spans []span) {
	var times []float64
	for _, t := range slices.Concat(reference, found) {
		times = append(times, t.Start, t.End)
	}
	for _, t := range reference {
		for _, at := range [2]float64{t.Start, t.End} {
			times = append(times, at-o.Collar, at+o.Collar)
		}
	}
	slices.Sort(times)
	times = slices.Compact(times)
	for i := 1; i < len(times); i++ {
		middle := (times[i-1] + times[i]) / 2
		if o.Collar > 0 && slices.ContainsFunc(reference, func(t Turn) bool {
			return min(math.Abs(t.Start-middle), math.Abs(t.End-middle)) < o.Collar
		}) {
			continue
		}
		s := span{times[i] - times[i-1], speaking(reference, middle), speaking(found, middle)}
		if len(s.ref)+len(s.hyp) > 0 && !(o.SkipOverlap && len(s.ref) > 1) {
			spans = append(spans, s)
		}
	}
	return spans
}

// speaking returns who speaks at a time.
func speaking(turns []Turn, at float64) (who []int) {
	for _, t := range turns {
		if t.Start <= at && at < t.End && !slices.Contains(who, t.Speaker) {
			who = append(who, t.Speaker)
		}
	}
	return who
}

// Assign returns for each row of gain the column it is paired with, no column twice, so that the sum is as large
// as it can be; -1 for a row without one. gain must not be negative.
//
// It is the Hungarian method with potentials, of cubic time.
func Assign(gain [][]float64) (partner []int) {
	n := len(gain)
	for _, row := range gain {
		n = max(n, len(row))
	}
	cost := func(r, c int) float64 { // of rows and columns from 1; those that are missing cost nothing
		if r <= len(gain) && c <= len(gain[r-1]) {
			return -gain[r-1][c-1]
		}
		return 0
	}
	rows, columns := make([]float64, n+1), make([]float64, n+1)
	owner, way := make([]int, n+1), make([]int, n+1) // of columns
	for r := 1; r <= n; r++ {
		owner[0] = r
		at, least, seen := 0, make([]float64, n+1), make([]bool, n+1)
		for c := range least {
			least[c] = math.Inf(1)
		}
		for owner[at] != 0 {
			seen[at] = true
			from, delta, next := owner[at], math.Inf(1), 0
			for c := 1; c <= n; c++ {
				if seen[c] {
					continue
				}
				if d := cost(from, c) - rows[from] - columns[c]; d < least[c] {
					least[c], way[c] = d, at
				}
				if least[c] < delta {
					delta, next = least[c], c
				}
			}
			for c := range least {
				if seen[c] {
					rows[owner[c]] += delta
					columns[c] -= delta
				} else {
					least[c] -= delta
				}
			}
			at = next
		}
		for at != 0 {
			owner[at] = owner[way[at]]
			at = way[at]
		}
	}
	partner = slices.Repeat([]int{-1}, len(gain))
	for c := 1; c <= n; c++ {
		if r := owner[c]; r <= len(gain) && c <= len(gain[r-1]) {
			partner[r-1] = c - 1
		}
	}
	return partner
}

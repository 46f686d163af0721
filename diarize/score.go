package diarize

import (
	"cmp"
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
	together := make([][]float64, speakersIn(reference))
	for r := range together {
		together[r] = make([]float64, speakersIn(found))
	}
	o.eachSpan(reference, found, func(length float64, ref, hyp []int) {
		for _, r := range ref {
			for _, h := range hyp {
				together[r][h] += length
			}
		}
	})
	partner := Assign(together)
	o.eachSpan(reference, found, func(length float64, ref, hyp []int) {
		r, h, right := len(ref), len(hyp), 0
		for _, x := range ref {
			if slices.Contains(hyp, partner[x]) {
				right++
			}
		}
		e.Total += float64(r) * length
		e.Missed += float64(max(0, r-h)) * length
		e.FalseAlarm += float64(max(0, h-r)) * length
		e.Confusion += float64(min(r, h)-right) * length
	})
	return e
}

// speakersIn returns the largest number of a speaker.
func speakersIn(turns []Turn) (most int) {
	for _, t := range turns {
		most = max(most, t.Speaker)
	}
	return most
}

// eachSpan calls do for every stretch of time that counts and in which nobody begins or ends, with the speakers of both
// sides, from 0.
func (o Scoring) eachSpan(reference, found []Turn, do func(length float64, ref, hyp []int)) {
	type event struct {
		at     float64
		count  *int
		change int
	}
	var events []event
	add := func(count *int, start, end float64) {
		if start < end {
			events = append(events, event{start, count, 1}, event{end, count, -1})
		}
	}
	collars := 0 // how many reach here
	refs, hyps := make([]int, speakersIn(reference)), make([]int, speakersIn(found))
	for _, t := range reference {
		add(&refs[t.Speaker-1], t.Start, t.End)
		add(&collars, t.Start-o.Collar, t.Start+o.Collar)
		add(&collars, t.End-o.Collar, t.End+o.Collar)
	}
	for _, t := range found {
		add(&hyps[t.Speaker-1], t.Start, t.End)
	}
	slices.SortFunc(events, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	var ref, hyp []int
	for i, e := range events {
		*e.count += e.change
		if i+1 == len(events) || e.at == events[i+1].at || collars > 0 {
			continue
		}
		ref, hyp = positive(ref[:0], refs), positive(hyp[:0], hyps)
		if len(ref)+len(hyp) > 0 && !(o.SkipOverlap && len(ref) > 1) {
			do(events[i+1].at-e.at, ref, hyp)
		}
	}
}

// positive appends the indexes of positive counts.
func positive(indexes, counts []int) []int {
	for i, n := range counts {
		if n > 0 {
			indexes = append(indexes, i)
		}
	}
	return indexes
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

package diarize

import (
	"cmp"
	"fmt"
	"slices"

	"verity/internal/kernel"
)

const (
	clusterShare = 0.02 // of all windows, and
	clusterLeast = 3    // windows, are what a speaker needs
	rounds       = 3    // of new centroids
	sharpness    = 8    // of votes: e to the power of this times the cosine
)

// identify decides who speaks in each window.
func (d *Diarization) identify(vectors []float32, o Options) {
	var alone []float32 // vectors of windows in which one speaks
	for i, w := range d.windows {
		if !w.overlapped && w.end-w.start >= windowFrames/2 {
			alone = append(alone, vectors[i*voiceSize:][:voiceSize]...)
		}
	}
	if len(alone) == 0 {
		alone = vectors
	}
	n := len(alone) / voiceSize
	if n == 0 {
		return
	}
	least, most := o.bounds()
	small := max(clusterLeast, int(clusterShare*float64(n)))
	clusters, natural := groups(o.Pool, alone, least, most, small)
	d.Divided = len(clusters) > natural
	clusters, d.Names = nameVoices(clusters, o.Known, least)
	d.Voices = refine(alone, clusters)
	d.vote(vectors)
}

// refine returns the means of clusters after rounds in which each vector goes to the most similar mean.
func refine(vectors []float32, clusters []cluster) (means [][]float32) {
	for _, c := range clusters {
		means = append(means, c.voice())
	}
	for range rounds {
		next := make([]cluster, len(means))
		for i := range next {
			next[i].sum = make([]float32, voiceSize)
		}
		for i := range len(vectors) / voiceSize {
			best, most := 0, float32(-2)
			for s, m := range means {
				if c := cosine(m, vectors[i*voiceSize:][:voiceSize]); c > most {
					best, most = s, c
				}
			}
			next[best].members = append(next[best].members, i)
			kernel.Add(next[best].sum, vectors[i*voiceSize:][:voiceSize])
		}
		for s, c := range next {
			if len(c.members) > 0 {
				means[s] = c.voice()
			}
		}
	}
	return means
}

// vote sets the votes of each window, whose vectors are [n][192].
func (d *Diarization) vote(vectors []float32) {
	for i := range d.windows {
		votes := make([]float32, len(d.Voices))
		for s, v := range d.Voices {
			votes[s] = sharpness * cosine(v, vectors[i*voiceSize:][:voiceSize])
		}
		kernel.Softmax(votes)
		d.windows[i].votes = votes
	}
}

// cosine returns the product of unit vectors.
func cosine(a, b []float32) float32 {
	var q kernel.FourDots
	for i := range q.A {
		q.A[i], q.B[i] = a[i*voiceSize/4:][:voiceSize/4], b[i*voiceSize/4:][:voiceSize/4]
	}
	q.Dots()
	return (q.Sums[0] + q.Sums[1]) + (q.Sums[2] + q.Sums[3])
}

// votesAt adds the votes of the windows around a frame of 10 ms to sum, and returns the first window that later frames
// need. A window counts more in its middle than at its ends.
func (d *Diarization) votesAt(sum []float32, t, first int) int {
	for first < len(d.windows) && d.windows[first].end <= t-windowFrames {
		first++
	}
	for _, w := range d.windows[first:] {
		if w.start > t {
			break
		}
		weight := float32(max(0, min(t-w.start+1, w.end-t)))
		for s, v := range w.votes {
			sum[s] += float32(weight * v)
		}
	}
	return first
}

// turns returns the turns of each speaker. Where two speak, the second is whoever else speaks next or spoke last,
// the nearer of the two.
func (d *Diarization) turns(a *activity) []Turn {
	frames := len(a.speech)
	if len(d.Voices) == 0 {
		return nil
	}
	who, sum, first := make([]int, frames), make([]float32, len(d.Voices)), 0
	for _, s := range above(a.speech, speechThreshold, minFrames) {
		for i := s[0]; i < s[1]; i++ {
			t := int(100 * seconds(i))
			clear(sum)
			first = d.votesAt(sum, t, first)
			if _, best := kernel.Max(sum); sum[best] > 0 {
				who[i] = best + 1
			} else if i > 0 {
				who[i] = who[i-1]
			}
		}
	}
	var second []int
	if len(d.Voices) > 1 {
		second = nearestOther(a, who)
	}
	return d.number(collect(len(d.Voices), who, second))
}

// secondReach is how far away the second speaker may be, in frames: 5 s.
const secondReach = 300

// nearestOther returns the second speaker of each frame, 0 where there is none.
func nearestOther(a *activity, who []int) []int {
	second := make([]int, len(who))
	for _, s := range above(a.overlap, overlapThreshold, minFrames) {
		for i := s[0]; i < s[1]; i++ {
			if who[i] == 0 {
				continue
			}
			for near := 1; near < secondReach && second[i] == 0; near++ {
				for _, j := range [2]int{i - near, i + near} {
					if j >= 0 && j < len(who) && who[j] != 0 && who[j] != who[i] {
						second[i] = who[j]
						break
					}
				}
			}
		}
	}
	return second
}

// bridge is how many frames a pause within a turn may have: 0.6 s.
const bridge = 36

// collect joins frames of one speaker into turns.
func collect(speakers int, tracks ...[]int) (turns []Turn) {
	for s := 1; s <= speakers; s++ {
		start, last := -1, 0
		for i := range tracks[0] {
			if !slices.ContainsFunc(tracks, func(t []int) bool { return t != nil && t[i] == s }) {
				continue
			}
			if start >= 0 && i-last > bridge {
				turns = append(turns, Turn{max(0, seconds(start)), seconds(last + 1), s})
				start = -1
			}
			if start < 0 {
				start = i
			}
			last = i
		}
		if start >= 0 {
			turns = append(turns, Turn{max(0, seconds(start)), seconds(last + 1), s})
		}
	}
	sortTurns(turns)
	return turns
}

// sortTurns sorts turns by their starts.
func sortTurns(turns []Turn) {
	slices.SortStableFunc(turns, func(a, b Turn) int { return cmp.Compare(a.Start, b.Start) })
}

// number numbers speakers in the order of their first turns, in turns, voices and names. One without turns is
// dropped.
func (d *Diarization) number(turns []Turn) []Turn {
	order := make([]int, 0, len(d.Voices)) // old numbers from 0
	for i, t := range turns {
		at := slices.Index(order, t.Speaker-1)
		if at < 0 {
			at = len(order)
			order = append(order, t.Speaker-1)
		}
		turns[i].Speaker = at + 1
	}
	voices, names := make([][]float32, len(order)), make([]string, len(order))
	for to, from := range order {
		voices[to], names[to] = d.Voices[from], d.Names[from]
	}
	d.Voices, d.Names = voices, numbered(names)
	return turns
}

// numbered returns names with "Speaker 2" for the second if it has none, or the next number that is free.
func numbered(names []string) []string {
	all, next := slices.Clone(names), 0
	for i, name := range all {
		if next = max(next, i+1); name != "" {
			continue
		}
		for slices.Contains(names, Name(next)) {
			next++
		}
		all[i] = Name(next)
		next++
	}
	return all
}

// Name returns the name of a speaker whose voice is not known: "Speaker 1".
func Name(speaker int) string { return fmt.Sprintf("Speaker %d", speaker) }

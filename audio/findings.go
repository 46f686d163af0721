package audio

import (
	"fmt"
	"slices"
	"strings"
)

// A Gap is a stretch of a clip, in seconds, whose sound is damaged or lost in the file. Silence replaces it, if
// its length is known.
type Gap struct{ Start, End float64 }

// findings are what was found wrong with a file that could be read nevertheless.
type findings struct {
	cut       bool
	sentences []string // about sound that is missing at the end of a stream: the first maxListed, and the last
	gaps      []Gap
	why       error // of the first gap
	peak      float64
	opposed   []Gap // where channels cancel one another, and one is taken
}

// leastOpposed is how many seconds of channels that cancel one another are reported: music has moments of them.
const leastOpposed = 1

// maxListed is how many problems of a kind are listed.
const maxListed = 5

// add adds what mixing a stream has shown, which begins at base seconds.
func (f *findings) add(m *mixer, base float64) {
	f.peak = max(f.peak, m.peak)
	for _, g := range m.opposed {
		f.opposed = append(f.opposed, Gap{base + m.shape.seconds(g.from), base + m.shape.seconds(g.to)})
	}
	for _, g := range m.src.gaps {
		if f.why == nil {
			f.why = g.why
		}
		f.gaps = append(f.gaps, Gap{base + m.shape.seconds(g.from), base + m.shape.seconds(g.to)})
	}
}

// short adds a sentence about sound that is missing at the end of a stream.
func (f *findings) short(sentence string) {
	f.cut = true
	f.sentences = append(f.sentences[:min(len(f.sentences), maxListed)], sentence)
}

// warnings returns a sentence for each finding.
func (f findings) warnings() []string {
	list := slices.Clone(f.sentences)
	if len(f.gaps) > 0 {
		list = append(list, f.damage())
	}
	if f.peak > loud {
		list = append(list, fmt.Sprintf("samples reach %.3g, want -1 to 1: they are scaled down", f.peak))
	}
	total := 0.0
	for _, g := range f.opposed {
		total += g.End - g.Start
	}
	if total >= leastOpposed {
		list = append(list, "the channels cancel one another, so one of them is taken: "+places(f.opposed))
	}
	return list
}

// damage returns a sentence for the gaps.
func (f findings) damage() string {
	n, silence := len(f.gaps), ""
	if slices.ContainsFunc(f.gaps, func(g Gap) bool { return g.Start < g.End }) { // else the length is unknown
		silence = "; silence stands there"
	}
	why := detail(f.why)
	if n == 1 && silence == "" {
		return fmt.Sprintf("damaged %s: %s", places(f.gaps), why)
	}
	text := "damaged in one place: "
	if n > 1 {
		text = fmt.Sprintf("damaged in %d places: ", n)
	}
	return fmt.Sprintf("%s%s%s (first: %s)", text, places(f.gaps), silence, why)
}

// places lists the first gaps.
func places(gaps []Gap) string {
	var list []string
	for _, g := range gaps[:min(len(gaps), maxListed)] {
		place := fmt.Sprintf("%.2f to %.2f s", g.Start, g.End)
		if g.Start == g.End {
			place = fmt.Sprintf("before %.2f s", g.End)
		}
		list = append(list, place)
	}
	text := strings.Join(list, ", ")
	if len(gaps) > maxListed {
		text += " and so on"
	}
	return text
}

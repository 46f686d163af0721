package audio

import (
	"fmt"
	"slices"
	"strings"
)

// A Gap is a stretch of a clip, in seconds, whose sound is damaged or lost in the file. Silence replaces it, if
// its length is known.
type Gap struct{ Start, End float64 }

// Findings are what was found wrong with a file that could be read nevertheless.
type findings struct {
	cut       bool
	sentences []string // about sound that is missing at the end of a stream: the first maxListed, and the last
	gaps      []Gap
	why       error // of the first gap
	peak      float64
	opposed   bool // channels cancel one another in their mean
}

// maxListed is how many problems of a kind are listed.
const maxListed = 5

// add adds what mixing a stream has shown, which begins at base seconds.
func (f *findings) add(m *mixer, base float64) {
	f.peak = max(f.peak, m.peak)
	f.opposed = f.opposed || m.mean < m.power/1000 // 30 dB
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
		list = append(list, fmt.Sprintf("samples reach %.3g, want -1 to 1: the file may be scaled wrongly", f.peak))
	}
	if f.opposed {
		list = append(list, "the channels cancel one another: their mean is silent beside each of them; try channel 1 alone")
	}
	return list
}

// damage returns a sentence for the gaps.
func (f findings) damage() string {
	n, silence, places := len(f.gaps), "", []string{}
	for i, g := range f.gaps {
		place := fmt.Sprintf("%.2f to %.2f s", g.Start, g.End)
		if g.Start == g.End { // the length is unknown
			place = fmt.Sprintf("before %.2f s", g.End)
		} else {
			silence = "; silence stands there"
		}
		if i < maxListed {
			places = append(places, place)
		}
	}
	why := detail(f.why)
	if n == 1 && silence == "" {
		return fmt.Sprintf("damaged %s: %s", places[0], why)
	}
	text := "damaged in one place: "
	if n > 1 {
		text = fmt.Sprintf("damaged in %d places: ", n)
	}
	if text += strings.Join(places, ", "); n > maxListed {
		text += " and so on"
	}
	return fmt.Sprintf("%s%s (first: %s)", text, silence, why)
}

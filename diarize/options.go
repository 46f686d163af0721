package diarize

import (
	"fmt"
	"strconv"
	"strings"

	"verity/internal/option"
	"verity/parallel"
)

// MaxSpeakers is the largest number of speakers that may be asked for.
const MaxSpeakers = 100

// Options configures Clip. The zero value finds out how many speakers there are.
type Options struct {
	// Speakers is the number of speakers, if it is known. 0 means that it is not. The result has fewer
	// if fewer voices are found.
	Speakers int

	// Min and Max bound the number of speakers where Speakers is 0. 0 means no bound.
	Min, Max int

	// Known are speakers whose voices are known ([NewVoice]). A speaker found gets the name of the known voice
	// that is most similar, if it is similar enough; two that are most similar to the same become one, unless
	// Speakers or Min is then not reached. Others keep their numbers. Known voices that nobody has do no harm.
	Known []Voice

	// Pool runs the networks. Nil means the caller's thread.
	Pool *parallel.Pool

	// Progress, if not nil, is called with the share of the work that is done, from 0 to 1.
	Progress func(done float64)
}

// Parse reads how many speakers there are: voice (to find out), a number, or bounds of it, such as 2-4.
func Parse(text string) (Options, error) {
	first, second, bounded := strings.Cut(text, "-")
	if !bounded {
		second = first
	}
	least, err1 := strconv.Atoi(first)
	most, err2 := strconv.Atoi(second)
	switch {
	case text == "voice":
		return Options{}, nil
	case err1 != nil || err2 != nil || least < 1 || least > most || most > MaxSpeakers:
		return Options{}, fmt.Errorf("want voice, or how many speakers there are, from 1 to %d, as 3 or 2-4", MaxSpeakers)
	case bounded:
		return Options{Min: least, Max: most}, nil
	}
	return Options{Speakers: least}, nil
}

// Check returns an *option.Error if o cannot be used.
func (o Options) Check() error {
	for _, n := range []struct {
		field string
		got   int
	}{{"Speakers", o.Speakers}, {"Min", o.Min}, {"Max", o.Max}} {
		if n.got < 0 || n.got > MaxSpeakers {
			return option.New(n.field, n.got, fmt.Sprintf("want at most %d, or 0 to find the number", MaxSpeakers))
		}
	}
	switch {
	case o.Speakers > 0 && (o.Min > 0 || o.Max > 0):
		return option.New("Speakers", o.Speakers, "excludes Min and Max")
	case o.Max > 0 && o.Min > o.Max:
		return option.New("Min", o.Min, fmt.Sprintf("want at most Max, %d", o.Max))
	}
	return o.checkKnown()
}

// bounds returns the least and the largest number of speakers.
func (o Options) bounds() (least, most int) {
	if o.Speakers > 0 {
		return o.Speakers, o.Speakers
	}
	least, most = max(1, o.Min), o.Max
	if most == 0 {
		most = MaxSpeakers
	}
	return least, most
}

package transcribe

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"verity/decoder"
	"verity/internal/input"
	"verity/internal/option"
	"verity/transcript"
)

// A Term is a name or term that is likely to occur in the audio.
type Term struct {
	Text string // as it is to be written

	// SoundsLike is what the model writes in its place, if anything: whole words, whatever their case. In the
	// transcript they become Text, unless one segment ends and the next begins among them. Within a file, the prompts
	// of later windows have what was decoded; the prompts of live passes have Text.
	SoundsLike string

	// Weight multiplies how much likelier Text becomes. 0 means 1, and the maximum is 10. A negative weight
	// leaves the choice to the model: only SoundsLike is replaced.
	Weight float64
}

// Limits of terms.
const (
	MaxTerms      = 10000           // that ParseTerms reads
	maxAllTerms   = MaxTerms + 1000 // a file of them, and those that a request to a server adds
	MaxTermsText  = 1 << 20         // bytes that ParseTerms reads
	maxTermLength = 200             // bytes
	maxTermWeight = 10
)

// ParseTerms reads terms, one a line:
//
//	Kubernetes
//	Anneke Vos:2
//	cooper netties => Kubernetes
//
// A number after a colon is the weight; 0 means only to replace. An arrow (=>, -> or →) has on its left what the
// model writes, and on its right what to write in its place. Empty lines, and lines that begin with #, count for
// nothing. The error names the line.
func ParseTerms(text string) (list []Term, err error) {
	if len(text) > MaxTermsText {
		return nil, fmt.Errorf("got %d bytes, want at most %d", len(text), MaxTermsText)
	}
	weights := map[[2]string]float64{}
	for n, line := range input.Lines(text) {
		term, err := ParseTerm(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		key := [2]string{term.Text, term.SoundsLike}
		if weight, again := weights[key]; again && weight != term.Weight {
			return nil, fmt.Errorf("line %d: %s has another weight than before; want it once", n, term.Text)
		}
		weights[key] = term.Weight
		if list = append(list, term); len(list) > MaxTerms {
			return nil, fmt.Errorf("line %d: more than %d terms", n, MaxTerms)
		}
	}
	return list, nil
}

// ParseTerm reads a line of [ParseTerms] that is neither empty nor a comment.
func ParseTerm(line string) (term Term, err error) {
	if term, err = splitTerm(strings.TrimSpace(line)); err == nil {
		err = term.check()
	}
	if err == nil && term.Weight < 0 && term.SoundsLike == "" {
		err = errors.New("got weight 0, want one above 0; a term with 0 only replaces words, as in cooper netties => Kubernetes:0")
	}
	return term, err
}

// splitTerm divides a line into its parts.
func splitTerm(line string) (term Term, err error) {
	term.Text = line
	for _, arrow := range []string{"=>", "->", "→"} {
		if heard, written, ok := strings.Cut(line, arrow); ok {
			if term.SoundsLike, term.Text = strings.TrimSpace(heard), strings.TrimSpace(written); term.SoundsLike == "" {
				return term, fmt.Errorf("got no words before %s, want what the model writes, as in cooper netties => Kubernetes",
					arrow)
			}
			if strings.Contains(written, arrow) {
				return term, fmt.Errorf("got two arrows, want one, as in cooper netties => Kubernetes")
			}
			if term.Text == "" {
				return term, fmt.Errorf("got %q, want a term after %s, as in cooper netties => Kubernetes", line, arrow)
			}
			break
		}
	}
	colon := strings.LastIndexByte(term.Text, ':')
	if colon < 0 {
		return term, nil
	}
	number := strings.TrimSpace(term.Text[colon+1:])
	if slices.Contains([]string{"high", "low", "medium", "normal"}, strings.ToLower(number)) {
		return term, fmt.Errorf("got weight %s, want a number from 0 to %d, where 1 is usual", number, maxTermWeight)
	}
	if number == "" || strings.Trim(number, "0123456789.") != "" {
		return term, nil // a colon of the term
	}
	if term.Weight, err = strconv.ParseFloat(number, 64); err != nil || !(term.Weight <= maxTermWeight) {
		err = fmt.Errorf("got weight %s, want a number from 0 to %d", number, maxTermWeight)
		if before := term.Text[:colon]; strings.TrimRight(before, "0123456789") != before {
			err = fmt.Errorf("%w; a term that ends with a colon and a number needs a weight behind it, as in Genesis 12:30:1", err)
		}
		return term, err
	}
	if term.Text = strings.TrimSpace(term.Text[:colon]); term.Weight == 0 {
		term.Weight = -1
	}
	return term, nil
}

// check reports what is wrong with a term.
func (t Term) check() error {
	for _, text := range []string{t.Text, t.SoundsLike} {
		switch {
		case len(text) > maxTermLength:
			return fmt.Errorf("got a term of %d bytes, want at most %d", len(text), maxTermLength)
		case !utf8.ValidString(text):
			return errors.New("the text is not valid UTF-8; save the file as UTF-8")
		case strings.ContainsFunc(text, unicode.IsControl):
			return fmt.Errorf("%q holds a control character", text)
		case text != "" && strings.TrimSpace(text) == "":
			return errors.New("got only space, want a term")
		}
	}
	switch {
	case t.Text == "":
		return errors.New("got no term to write")
	case !(t.Weight <= maxTermWeight): // NaN too
		return fmt.Errorf("got weight %v, want at most %d", t.Weight, maxTermWeight)
	}
	return nil
}

// checkTerms reports the first unusable term.
func checkTerms(list []Term) error {
	if len(list) > maxAllTerms {
		return option.New("Terms", len(list), fmt.Sprintf("must be at most %d", maxAllTerms))
	}
	for _, t := range list {
		if err := t.check(); err != nil {
			return option.New("Terms", t.Text, err.Error())
		}
	}
	return nil
}

// biasOf returns what the decoder needs of terms.
func biasOf(terms []Term) (list []decoder.Term) {
	for _, t := range terms {
		list = append(list, decoder.Term{Text: t.Text, Weight: t.Weight})
	}
	return list
}

// replacerOf returns what replaces the phrases that terms sound like; nil if there are none.
func replacerOf(terms []Term) *transcript.Replacer {
	var list []transcript.Replacement
	for _, t := range terms {
		if t.SoundsLike != "" {
			list = append(list, transcript.Replacement{Heard: t.SoundsLike, Written: t.Text})
		}
	}
	return transcript.NewReplacer(list)
}

// Unfinished returns how many of the last words of a transcript by t may begin a phrase that a term replaces and that
// later words complete. Live text waits for these.
func (t *Transcriber) Unfinished(words []transcript.Word) int { return t.replacer.Unfinished(words) }

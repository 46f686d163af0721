package transcript

import (
	"cmp"
	"encoding/json"
	"reflect"
)

// Stats counts the work on a round of decoding, a window, a file, or many files.
type Stats struct {
	Work
	Drafts  Drafts  `json:"drafts"`  // counts of rounds and drafts
	Seconds Seconds `json:"seconds"` // time by stage

	// Why the assistant failed to draft; absent if it did not fail. The text is the same in either case.
	Broken string `json:"assistant_broken,omitempty"`

	Passes      Traffic `json:"passes"`       // of the model
	DraftPasses Traffic `json:"draft_passes"` // of the assistant's decoder, if it has one

	// Measured memory bandwidth of this machine in bytes per second; absent if it was not measured.
	Bandwidth float64 `json:"bandwidth,omitempty"`
}

// Work counts windows and tokens.
type Work struct {
	Windows  int `json:"windows"`  // decoded
	Silent   int `json:"silent"`   // of these, skipped as silence
	Stuck    int `json:"stuck"`    // of these, kept as one segment because timestamps did not advance
	Attempts int `json:"attempts"` // decodings; more than windows if the fallback was used
	Tokens   int `json:"tokens"`   // chosen in all attempts, end-of-text included
}

// Add adds the counts of o.
func (w *Work) Add(o Work) { addNumbers(w, o) }

// Traffic counts the memory that passes read: weights, keys and values. A pass that
// several streams share is divided among them.
type Traffic struct {
	Bytes   int64   `json:"bytes"`   // of weights, and of keys and values of earlier positions
	Seconds float64 `json:"seconds"` // that the passes took
}

// Add adds the traffic of o.
func (t *Traffic) Add(o Traffic) { addNumbers(t, o) }

// Rate returns bytes per second; 0 if nothing was read.
func (t Traffic) Rate() float64 { return Ratio(float64(t.Bytes), t.Seconds) }

// Ratio returns a/b, or 0 if b is 0.
func Ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// Add adds the counts and times of o.
func (s *Stats) Add(o Stats) {
	s.Work.Add(o.Work)
	s.Drafts.Add(o.Drafts)
	s.Seconds.Add(o.Seconds)
	s.Passes.Add(o.Passes)
	s.DraftPasses.Add(o.DraftPasses)
	s.Bandwidth = cmp.Or(o.Bandwidth, s.Bandwidth)
	s.Broken = cmp.Or(s.Broken, o.Broken)
}

// TokensPerSecond returns tokens per second of decoding, including drafting and rules.
func (s Stats) TokensPerSecond() float64 { return Ratio(float64(s.Tokens), s.Seconds.Decode) }

// MBU returns the memory bandwidth utilization of the model's passes: their read rate over the
// measured bandwidth. It is 0 without a measurement, and above 1 if the weights stay in a cache.
func (s Stats) MBU() float64 { return Ratio(s.Passes.Rate(), s.Bandwidth) }

// MarshalJSON adds the derived rates; null where nothing was measured.
func (s Stats) MarshalJSON() ([]byte, error) {
	type counts Stats
	known := func(v float64, n int) *float64 {
		if n == 0 {
			return nil
		}
		return &v
	}
	d := s.Drafts
	return json.Marshal(struct {
		counts
		TokensPerSecond *float64 `json:"tokens_per_second"` // tokens per second of decoding
		Agreement       *float64 `json:"alpha_agreement"`   // accepted over judged draft tokens
		Overlap         *float64 `json:"alpha_overlap"`     // mean of Σ min(p, q); null if not measured
		MBU             *float64 `json:"mbu"`               // memory bandwidth utilisation
	}{
		counts(s), known(s.TokensPerSecond(), s.Tokens), known(d.Agreement(), d.Accepted+d.Refused),
		known(d.MeanOverlap(), d.Compared), known(s.MBU(), int(s.Bandwidth)),
	})
}

// Drafts counts rounds and drafts. Plain decoding has rounds too, of one token each.
type Drafts struct {
	Rounds    int   `json:"rounds"`    // passes of the model over a draft, or without one
	Drafted   int   `json:"drafted"`   // tokens the assistant proposed
	Accepted  int   `json:"accepted"`  // of these, tokens that the model also chose
	Refused   int   `json:"refused"`   // refused tokens, at most one per round: the model judges none after it
	Tokens    int   `json:"kept"`      // tokens that rounds added to the text, end-of-text included
	Histogram []int `json:"histogram"` // rounds by number of accepted tokens

	// Rounds without a draft. The histogram counts them too, as rounds with no accepted
	// token. Older records did not count them.
	Empty int `json:"empty,omitempty"`

	// Rounds by the rows of their pass, from one row on. The first round of an attempt is not among them:
	// its pass reads the prompt as well.
	Passes []int `json:"rounds_by_rows,omitempty"`

	PassSeconds []float64 `json:"seconds_by_rows,omitempty"` // of these passes

	Prepared  int `json:"prepared,omitempty"`   // positions of windows that an assistant prepared for
	Written   int `json:"written,omitempty"`    // tokens of an assistant that transcribed first
	FromText  int `json:"from_text,omitempty"`  // of the accepted tokens, those that a text drafted
	TextLost  int `json:"text_lost,omitempty"`  // times that the output no longer matched the text
	TextFound int `json:"text_found,omitempty"` // times that it matched again

	// Positions at which the probabilities p of the model and q of the assistant were
	// compared; 0 unless requested.
	Compared int `json:"weighed"`

	// Sum of Σ min(p, q) over these positions.
	Overlap float64 `json:"overlap"`
}

// Count adds a round.
func (d *Drafts) Count(drafted, accepted, added int) {
	d.Rounds++
	d.Drafted += drafted
	d.Accepted += accepted
	d.Tokens += added
	if drafted == 0 {
		d.Empty++
	}
	// A fully accepted draft is followed by one more token, but an end-of-text is
	// followed by none, whatever was drafted.
	if accepted < drafted && added > accepted {
		d.Refused++
	}
	d.Histogram = addAt(d.Histogram, accepted, 1)
}

// Time adds the pass of a round that is not the first of its attempt.
func (d *Drafts) Time(rows int, seconds float64) {
	d.Passes = addAt(d.Passes, rows-1, 1)
	d.PassSeconds = addAt(d.PassSeconds, rows-1, seconds)
}

// addAt adds v at an index of a list, which grows to have it.
func addAt[T int | float64](list []T, at int, v T) []T {
	for len(list) <= at {
		list = append(list, 0)
	}
	list[at] += v
	return list
}

// Add adds the counts of o.
func (d *Drafts) Add(o Drafts) { addNumbers(d, o) }

// Rate returns the share of drafted tokens that were accepted; 0 if none were drafted.
func (d Drafts) Rate() float64 { return Ratio(float64(d.Accepted), float64(d.Drafted)) }

// Agreement returns the share of judged tokens that were accepted: the α of independent drafts. A
// draft is judged up to and including its first refused token. Rate is lower, since it counts all
// drafted tokens. Agreement is 0 if none were judged.
func (d Drafts) Agreement() float64 {
	return Ratio(float64(d.Accepted), float64(d.Accepted+d.Refused))
}

// MeanOverlap returns the mean of Σ min(p, q); 0 if that was not measured.
func (d Drafts) MeanOverlap() float64 { return Ratio(d.Overlap, float64(d.Compared)) }

// TokensPerRound returns the mean number of tokens that a round added; 0 without rounds.
func (d Drafts) TokensPerRound() float64 { return Ratio(float64(d.Tokens), float64(d.Rounds)) }

// Seconds is wall time by stage. It is the only part of a transcript that differs between runs.
type Seconds struct {
	Mel     float64 `json:"mel"`             // reading the sound, and its log-mel spectrogram
	Encode  float64 `json:"encode"`          // encoder
	CrossKV float64 `json:"cross_kv"`        // keys and values of cross-attention
	Decode  float64 `json:"decode"`          // all of decoding, including drafts and rules
	Draft   float64 `json:"draft"`           // drafting; part of decoding
	Opening float64 `json:"opening"`         // preparing for drafts, such as encoding a window or transcribing first; part of drafting
	Verify  float64 `json:"verify"`          // passes of the model, rules and choices; part of decoding
	Prefill float64 `json:"prefill"`         // the first pass of each attempt, which reads the prompt; part of verifying
	Rules   float64 `json:"rules"`           // rules and choices; part of verifying
	Words   float64 `json:"words,omitempty"` // computing the times of words
	Total   float64 `json:"total"`           // everything

	// Comparing probabilities, with --measure-alpha; not part of the other times.
	Measuring float64 `json:"measuring,omitempty"`
}

// ShareDecode scales the times of decoding and of word timing down to the rest of wall. Windows that
// are decoded at the same time each count all of that time, including waiting.
func (s *Seconds) ShareDecode(wall float64) {
	left, all := max(0, wall-s.Mel-s.Encode-s.CrossKV), s.Decode+s.Words
	if all > left {
		share := left / all
		for _, t := range []*float64{&s.Decode, &s.Draft, &s.Opening, &s.Verify, &s.Prefill, &s.Rules, &s.Words} {
			*t *= share
		}
	}
}

// Add adds the times of o.
func (s *Seconds) Add(o Seconds) { addNumbers(s, o) }

// FirstToken returns the seconds from the start of a window to its first token, on average; 0 if that is unknown.
func (s Seconds) FirstToken(w Work) float64 {
	if s.Prefill == 0 {
		return 0
	}
	return Ratio(s.Mel+s.Encode+s.CrossKV, float64(w.Windows)) + Ratio(s.Prefill, float64(w.Attempts))
}

// addNumbers adds every field of o to that of sum: numbers, and slices of counts element by element.
// It uses reflection so that a new field cannot be forgotten. A field of another kind panics.
func addNumbers[T any](sum *T, o T) {
	to, from := reflect.ValueOf(sum).Elem(), reflect.ValueOf(o)
	for i := range to.NumField() {
		switch a, b := to.Field(i), from.Field(i); a.Kind() {
		case reflect.Int, reflect.Int64:
			a.SetInt(a.Int() + b.Int())
		case reflect.Float64:
			a.SetFloat(a.Float() + b.Float())
		case reflect.Slice:
			switch x := a.Interface().(type) {
			case []int:
				a.Set(reflect.ValueOf(addCounts(x, b.Interface().([]int))))
			case []float64:
				a.Set(reflect.ValueOf(addCounts(x, b.Interface().([]float64))))
			default:
				panic("transcript: cannot add a " + a.Type().String())
			}
		default:
			panic("transcript: cannot add a " + a.Type().String())
		}
	}
}

// addCounts returns the sum of two histograms. The slice is new, since copies of the counters may
// share the old ones.
func addCounts[T int | float64](a, b []T) []T {
	if len(a) < len(b) {
		a, b = b, a
	}
	sum := append(make([]T, 0, len(a)), a...)
	for i, n := range b {
		sum[i] += n
	}
	return sum
}

package transcript

import (
	"maps"
	"slices"

	"verity/tokenizer"
)

// A Transcript is the text of one clip.
type Transcript struct {
	Name     string // of the clip, as the caller named it
	Text     string // of all segments
	Language string // a code such as "en"

	// LanguageProb is the probability of Language; 0 if the language was not detected.
	LanguageProb float64

	Duration float64 // of the clip
	Segments []Segment
	Stats    Stats

	// Turns are who speaks when, in order of their starts; only if speakers are identified by voice.
	Turns []Turn

	// Truncated reports that the file is shorter than its header says.
	Truncated bool

	// Damaged lists where silence replaces sound that is damaged or lost.
	Damaged []Gap

	// Warnings are sentences about what was wrong with the sound, such as channels that cancel one another.
	Warnings []string

	// Gaps lists speech that a detector heard and that no words cover.
	Gaps []Gap

	// Differences lists where a text that was aligned and the sound do not agree.
	Differences []Difference

	ChoiceHashes ChoiceHashes

	// MadeBy is the program, model and options that made the transcript; nil if unknown.
	MadeBy *Provenance
}

// A Gap is a stretch of a clip, in seconds: of lost sound, or of speech without words.
type Gap struct {
	Start float64 `json:"start"` // start
	End   float64 `json:"end"`   // end
}

// A Difference is where a text that was aligned and the sound do not agree. At least one of Text and Heard is not empty.
type Difference struct {
	Start float64 `json:"start"`           // s
	End   float64 `json:"end"`             // s
	Text  string  `json:"text,omitempty"`  // words of the text that were not said
	Heard string  `json:"heard,omitempty"` // words that were said and are not in the text
}

// Line returns d as a line of a report.
func (d Difference) Line() string {
	const most = 100 // characters
	short := func(text string) string {
		if all := []rune(inOneLine(text)); len(all) > most {
			text = string(all[:most]) + "…"
		}
		return text
	}
	at := formatTime(d.Start, false, ".") + " "
	switch {
	case d.Heard == "":
		return at + "in the text, not heard: " + short(d.Text)
	case d.Text == "":
		return at + "heard, not in the text: " + short(d.Heard)
	}
	return at + "in the text: " + short(d.Text) + "; heard: " + short(d.Heard)
}

// A Provenance records what made a transcript: the model and everything else that affects the text.
// Machine and Threads affect only the times.
type Provenance struct {
	Program   string `json:"program"`             // version of Verity
	Model     string `json:"model"`               // as the user named it
	ModelID   string `json:"model_id"`            // fingerprint of its weights
	Planted   bool   `json:"planted,omitempty"`   // the text is planted, whatever the audio
	Precision string `json:"precision"`           // format of weights, activations and cache
	Assistant string `json:"assistant,omitempty"` // the text does not depend on it

	// Precision of the assistant.
	AssistantPrecision string `json:"assistant_precision,omitempty"`

	// Flags that affect the text or the subtitles, with their values, if not the defaults.
	Options map[string]string `json:"options"`

	// Only in the records of a dataset:

	Dataset string `json:"dataset,omitempty"` // path as given
	Machine string `json:"machine,omitempty"` // system and processor
	Threads int    `json:"threads,omitempty"` // threads used
}

// FirstDifference compares what affects the text or the drafts. It returns the name of the first difference
// from want, with both values, or empty strings. Results of makers that differ must not be mixed.
func (m Provenance) FirstDifference(want Provenance) (thing, got, wanted string) {
	for _, x := range [][3]string{
		{"code", m.Program, want.Program}, {"model", m.Model, want.Model}, {"model id", m.ModelID, want.ModelID},
		{"assistant", m.Assistant, want.Assistant}, {"dataset", m.Dataset, want.Dataset},
	} {
		if x[1] != x[2] {
			return x[0], x[1], x[2]
		}
	}
	names := slices.AppendSeq(slices.Collect(maps.Keys(m.Options)), maps.Keys(want.Options))
	slices.Sort(names)
	for _, name := range names {
		if got, want := option(m.Options, name), option(want.Options, name); got != want {
			return "options", got, want
		}
	}
	return "", "", ""
}

// option formats an option as a flag.
func option(options map[string]string, name string) string {
	v, ok := options[name]
	if !ok {
		return "the default of --" + name
	}
	return "--" + name + "=" + v
}

// ChoiceHashes are two hashes over every choice of the decoder, in every attempt at every window,
// including silent windows. They are equal only if all these choices are the same bits.
type ChoiceHashes struct {
	Tokens   string `json:"tokens"`   // of all tokens, end-of-text included
	LogProbs string `json:"logprobs"` // of their log-probabilities, no-speech probabilities and temperatures
}

// A TokenOrigin records how a token was decoded.
type TokenOrigin struct {
	Round    int               // round that chose the token, from 0 in the transcript
	Accepted bool              // an accepted draft of the assistant
	Refused  []tokenizer.Token // tokens drafted from this position that the model rejected
	Resumed  bool              // drafting from a text resumes here, after the text was lost
}

// A Word is a word with its times. The JSON names are upstream's.
type Word struct {
	Word        string  `json:"word"`        // with the space before it, if there is one
	Start       float64 `json:"start"`       // s
	End         float64 `json:"end"`         // s
	Probability float64 `json:"probability"` // mean of its tokens

	// Name of the speaker, if speakers are identified by voice.
	Speaker string `json:"speaker,omitempty"`

	// What a [Replacer] replaced. Of several words in place of a phrase, the first has all that the model wrote.
	replaced bool
	heard    string
}

// A Turn is a stretch of speech of one speaker. Turns of two speakers overlap where both speak.
type Turn struct {
	Start   float64 `json:"start"`          // s
	End     float64 `json:"end"`            // s
	Speaker string  `json:"speaker"`        // name
	Text    string  `json:"text,omitempty"` // its words; begins with a space
}

// A Segment is text with a start and an end. The JSON names are upstream's.
type Segment struct {
	ID     int               `json:"id"`     // 0, 1, … in the transcript
	Seek   int               `json:"seek"`   // first frame of its window
	Start  float64           `json:"start"`  // s
	End    float64           `json:"end"`    // s
	Text   string            `json:"text"`   // the text
	Tokens []tokenizer.Token `json:"tokens"` // with timestamps, except where windows overlap or chunks meet; as decoded, even where terms replace text

	edits []edit // what a Replacer has replaced in the text

	LogProbs []float32 `json:"-"` // natural logarithms of the probabilities of Tokens

	// The words of the text with their times; absent unless requested.
	Words []Word `json:"words,omitzero"`

	// How each token was decoded; nil unless requested. JSON lists only which are accepted
	// drafts; upstream has no such field.
	Origins []TokenOrigin `json:"-"`

	// The text again, split where a round or its accepted drafts end ([Segment.RunsByRound]);
	// in records only.
	Runs []TextRun `json:"pieces,omitempty"`

	// Name of the speaker, if speakers are identified, by voice or by channel.
	Speaker string `json:"speaker,omitempty"`

	// Whether somebody made the segment as it is: it is one subtitle of Subtitles.Composed, and one paragraph.
	Fixed bool `json:"fixed,omitempty"`

	// The language of the window, if languages are detected per window
	// (transcribe.Options.Multilingual), or if it is not the transcript's. Upstream has no such fields.

	Language            string  `json:"language,omitempty"`             // code detected in the window, with --multilingual or if it differs
	LanguageProbability float64 `json:"language_probability,omitempty"` // of that language

	// The fields below belong to the window: all its segments have the same values.
	// Where windows overlap, they belong to the window of the first token.

	Temperature      float64 `json:"temperature"`       // of the attempt that was kept
	AvgLogProb       float64 `json:"avg_logprob"`       // mean natural logarithm over all tokens and end-of-text
	CompressionRatio float64 `json:"compression_ratio"` // bytes of text per byte compressed by zlib
	NoSpeechProb     float64 `json:"no_speech_prob"`    // 0 if the vocabulary has no such token
}

// A Cue is a stretch of text with its times, as in subtitles: one subtitle, one segment, or a whole text.
type Cue struct {
	Start, End float64 // seconds from the start of the clip; both 0 where the text has no times
	Text       string
	Speaker    string // the first voice of a WebVTT cue
}

// HasTimes reports whether the times of the cue are known.
func (c Cue) HasTimes() bool { return c.End > c.Start }

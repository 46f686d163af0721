package transcript

import "verity/tokenizer"

// A Transcript is the text of one clip.
type Transcript struct {
	Name     string // of the clip, as the caller named it
	Text     string // of all segments
	Language string // a code such as "en"

	// LanguageProb is the probability of Language; 0 if it was not detected but named,
	// or is the only one that the model knows.
	LanguageProb float64

	Duration float64 // of the clip
	Segments []Segment
	Stats    Stats

	// Truncated says that the file ended before its header says: what is missing
	// was not heard.
	Truncated bool
	Proof     Proof

	// By says what made the transcript; nil if unknown.
	By *Maker
}

// A Maker is what made a transcript: a model, and everything else that its text depends
// on.
type Maker struct {
	Program   string `json:"program"`             // version of Verity
	Model     string `json:"model"`               // as named by the user
	ModelID   string `json:"model_id"`            // fingerprint of its weights
	Precision string `json:"precision"`           // what the weights were held and computed in
	Assistant string `json:"assistant,omitempty"` // what drafted; the text does not depend on it

	// What the assistant was held in.
	AssistantPrecision string `json:"assistant_precision,omitempty"`

	// Flags that decide on the text or the subtitles, with their values, where those
	// are not the defaults.
	Options map[string]string `json:"options"`
}

// A Proof is two hashes over every choice of the decoder, in every attempt at every
// window, silent windows included. Two transcripts have equal proofs only if all of
// these choices are the same bits.
type Proof struct {
	Tokens   string `json:"tokens"`   // of all tokens, end-of-text included
	LogProbs string `json:"logprobs"` // of their log-probabilities, no-speech probabilities and temperatures
}

// A Mark is how decoding came to a token.
type Mark struct {
	Round   int               // that chose it, from 0 in the transcript
	Refused []tokenizer.Token // drafted at its place and behind, and refused for it
}

// A Word is a word with its times. The JSON names are upstream's.
type Word struct {
	Word        string  `json:"word"`        // with the space before it, if there is one
	Start       float64 `json:"start"`       // s
	End         float64 `json:"end"`         // s
	Probability float64 `json:"probability"` // mean of its tokens
}

// A Segment is text with a start and an end. The JSON names are upstream's.
type Segment struct {
	ID     int               `json:"id"`    // 0, 1, … in the transcript
	Seek   int               `json:"seek"`  // first frame of its window
	Start  float64           `json:"start"` // s
	End    float64           `json:"end"`   // s
	Text   string            `json:"text"`
	Tokens []tokenizer.Token `json:"tokens"` // timestamps included, except where windows overlap or lanes meet

	// Words are the words of Text with their times; nil unless asked for.
	Words []Word `json:"words,omitzero"`

	// Accepted says for each token whether it is a draft of the assistant that the
	// model accepted. It is empty unless asked for. Upstream has no such field.
	Accepted []bool `json:"accepted,omitempty"`

	// Marks say for each token which round chose it, where Accepted is asked for.
	Marks []Mark `json:"-"`

	// The language, where every window has its own (transcribe.Options.Multilingual).
	// Upstream has no such fields.

	Language            string  `json:"language,omitempty"`             // with --multilingual: code detected in the window
	LanguageProbability float64 `json:"language_probability,omitempty"` // of Language

	// The fields below are those of the window: all its segments have the same. Where
	// windows overlap, they are those of the window that the first token is from.

	Temperature      float64 `json:"temperature"`       // of the attempt that stands
	AvgLogProb       float64 `json:"avg_logprob"`       // natural logarithm, mean of all tokens and end-of-text
	CompressionRatio float64 `json:"compression_ratio"` // bytes of text per byte of zlib's
	NoSpeechProb     float64 `json:"no_speech_prob"`    // 0 if the vocabulary has no such token
}

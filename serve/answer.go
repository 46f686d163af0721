package serve

import (
	"bytes"
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"verity/tokenizer"
	"verity/transcribe"
	"verity/transcript"
)

// An answer writes a transcript in the format of its request: segment by segment to a stream, or all of it at the end.
type answer struct {
	w      http.ResponseWriter
	q      *request
	model  *transcribe.Model
	stream *stream   // or nil
	begun  bool      // the stream has text
	probs  []logProb // of all text so far, if the request asks for them

	speakers []string // those without a name who spoke so far, in order; only for diarized_json
}

// A logProb is OpenAI's log-probability of a token. The tokens of a list together are the text.
type logProb struct {
	Token   string  `json:"token"`
	LogProb float32 `json:"logprob"`
	Bytes   []int   `json:"bytes"` // numbers, not base64
}

// logProbs returns the log-probabilities of the segment that follows those of a.probs; nil unless the request asks for
// them.
func (a *answer) logProbs(s transcript.Segment) (list []logProb) {
	if !a.q.logProbs {
		return nil
	}
	for i, t := range s.Tokens {
		if t >= a.model.Tokenizer.EOT { // a timestamp, not text
			continue
		}
		text := a.model.Tokenizer.Bytes(t)
		if len(a.probs)+len(list) == 0 {
			text = bytes.TrimLeft(text, " ")
		}
		p := logProb{Token: string(text), LogProb: s.LogProbs[i], Bytes: []int{}}
		for _, b := range text {
			p.Bytes = append(p.Bytes, int(b))
		}
		list = append(list, p)
	}
	return list
}

// close ends the stream, if there is one.
func (a *answer) close() {
	if a.stream != nil {
		a.stream.end()
	}
}

// streamSegment streams the text of a segment, and its times if the request asks for times of segments or words.
func (a *answer) streamSegment(s transcript.Segment) {
	if a.stream == nil || s.Text == "" {
		return
	}
	text := s.Text
	if !a.begun {
		text = tokenizer.Strip(text)
	}
	a.begun = a.begun || text != ""
	delta := object{"delta": text}
	if probs := a.logProbs(s); probs != nil {
		delta["logprobs"] = probs
		a.probs = append(a.probs, probs...)
	}
	if a.q.format == diarizedJSON {
		delta["segment_id"] = segmentID(s)
	}
	a.stream.event("transcript.text.delta", delta)
	if len(a.q.granularities) == 0 && a.q.decoding.Speakers == nil {
		return
	}
	e := a.segment(s, text)
	e["speaker"] = s.Speaker // OpenAI's description requires it
	if a.q.format == diarizedJSON {
		e["text"], e["speaker"] = tokenizer.Strip(text), label(s.Speaker, a.q.knownNames, &a.speakers)
	}
	a.stream.event("transcript.text.segment", e)
}

func (a *answer) segment(s transcript.Segment, text string) object {
	e := object{"id": segmentID(s), "text": text, "start": transcript.RoundTime(s.Start), "end": transcript.RoundTime(s.End)}
	if a.q.words {
		e["words"] = wordsOf(s)
	}
	return e
}

// wordsOf returns the words of s in OpenAI's form.
func wordsOf(s transcript.Segment) []word {
	list := []word{}
	for _, x := range s.Rounded().Words {
		list = append(list, word{tokenizer.Strip(x.Word), x.Start, x.End, x.Speaker, 0})
	}
	return list
}

func marshal(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil { // only NaN and the like
		return []byte("null")
	}
	return bytes.TrimSpace(b.Bytes())
}

// finish writes the whole answer, or the end of a stream.
func (a *answer) finish(tr *transcript.Transcript) error {
	text, languages := tokenizer.Strip(tr.Text), languagesOf(tr)
	if a.stream != nil {
		all := object{
			"text": text, "usage": a.tokens(tr), "language": languageName(tr.Language), "languages": languages,
			"duration": tr.Duration,
		}
		if tr.Truncated {
			all["truncated"] = true
		}
		if tr.Damaged != nil {
			all["damaged"] = tr.Damaged
		}
		if tr.Gaps != nil {
			all["gaps"] = tr.Gaps
		}
		if tr.Differences != nil {
			all["differences"] = tr.Differences
		}
		if a.probs != nil {
			all["logprobs"] = a.probs
		}
		a.stream.event("transcript.text.done", all)
		a.stream.add("data: [DONE]\n\n")
		a.stream.end()
		return nil
	}
	http.NewResponseController(a.w).SetWriteDeadline(time.Now().Add(writeTime))
	if a.q.api.write != nil {
		if written, err := a.q.api.write(a, tr); written || err != nil {
			return err
		}
	}
	switch a.q.format {
	case "text":
		if a.q.decoding.Speakers != nil { // with their names
			return a.write(transcript.TXT, transcript.Options{}, tr)
		}
		writeText(a.w, text+"\n")
	case diarizedJSON:
		writeJSON(a.w, a.diarized(tr, text))
	case "srt", "vtt":
		return a.write(transcript.Format(a.q.format), transcript.Options{Subtitles: a.q.subtitles}, tr)
	case "verbose_json":
		writeJSON(a.w, a.verbose(tr, text))
	default:
		for _, s := range tr.Segments {
			a.probs = append(a.probs, a.logProbs(s)...)
		}
		writeJSON(a.w, struct {
			Text      string         `json:"text"`
			Languages []languageCode `json:"languages"`
			LogProbs  []logProb      `json:"logprobs,omitzero"`
			Usage     any            `json:"usage"`
			soundLoss
		}{text, languages, a.probs, a.usage(tr), lossOf(tr)})
	}
	return nil
}

// write writes tr as a file of a format.
func (a *answer) write(format transcript.Format, o transcript.Options, tr *transcript.Transcript) error {
	var b bytes.Buffer
	if err := o.Write(&b, format, tr); err != nil {
		return err
	}
	if format == transcript.VTT {
		a.w.Header().Set("Content-Type", "text/vtt; charset=utf-8")
	}
	writeText(a.w, b.String())
	return nil
}

// A usage is OpenAI's usage by duration: of whisper-1, and of verbose_json.
type usage struct {
	Type    string `json:"type"`
	Seconds int    `json:"seconds"`
}

// durationUsage returns the usage of some seconds of sound, rounded up, as OpenAI bills them.
func durationUsage(seconds float64) usage { return usage{"duration", int(math.Ceil(seconds))} }

// A tokenUsage is OpenAI's usage by tokens: of streams, and of models whose name begins with gpt.
type tokenUsage struct {
	Type    string       `json:"type"`
	Input   int          `json:"input_tokens"`
	Output  int          `json:"output_tokens"`
	Total   int          `json:"total_tokens"`
	Details inputDetails `json:"input_token_details"`
}

type inputDetails struct {
	Audio int `json:"audio_tokens"`
	Text  int `json:"text_tokens"`
}

// usesTokens reports whether the typed clients expect a usage by tokens from a model with that name.
func usesTokens(model string) bool { return strings.HasPrefix(model, "gpt-") }

// newTokenUsage counts the positions of the encoder, 50 a second, as tokens of sound.
func newTokenUsage(seconds float64, text, output int) tokenUsage {
	u := tokenUsage{Type: "tokens", Output: output, Details: inputDetails{int(math.Ceil(50 * seconds)), text}}
	u.Input = u.Details.Audio + u.Details.Text
	u.Total = u.Input + u.Output
	return u
}

// usage returns the usage of the request as its model has it.
func (a *answer) usage(tr *transcript.Transcript) any {
	if usesTokens(a.q.modelName) {
		return a.tokens(tr)
	}
	return durationUsage(tr.Duration)
}

// tokens returns the usage of the request by tokens.
func (a *answer) tokens(tr *transcript.Transcript) tokenUsage {
	prompt, output := a.q.decoding.Hotwords+a.q.decoding.InitialPrompt, 0
	for _, s := range tr.Segments {
		output += len(s.Tokens)
	}
	return newTokenUsage(tr.Duration, len(a.model.Tokenizer.Encode(prompt)), output)
}

// A languageCode is OpenAI's TranscriptionLanguage.
type languageCode struct {
	Code string `json:"code"`
}

// languagesOf returns the languages that were given or detected, each once; none if there is no text.
func languagesOf(tr *transcript.Transcript) []languageCode {
	list := []languageCode{}
	add := func(code string) {
		if one := (languageCode{code}); code != "" && !slices.Contains(list, one) {
			list = append(list, one)
		}
	}
	for i, s := range tr.Segments {
		if i == 0 {
			add(tr.Language)
		}
		add(s.Language)
	}
	return list
}

// A verboseTranscript is OpenAI's TranscriptionVerbose.
type verboseTranscript struct {
	Task     transcribe.Task      `json:"task"`
	Language string               `json:"language"` // by name, as OpenAI has it
	Duration float64              `json:"duration"`
	Text     string               `json:"text"`
	Segments []transcript.Segment `json:"segments,omitzero"`
	Words    []word               `json:"words,omitzero"`
	Usage    usage                `json:"usage"`
	Turns    []transcript.Turn    `json:"turns,omitempty"` // who speaks when, if asked for; OpenAI has no such field
	soundLoss
}

// A soundLoss says which sound is missing, which speech has no words, and where a text does not fit. OpenAI has no such fields.
type soundLoss struct {
	Truncated bool             `json:"truncated,omitempty"` // it ends before its header says
	Damaged   []transcript.Gap `json:"damaged,omitempty"`   // where it is damaged or lost
	Gaps      []transcript.Gap `json:"gaps,omitempty"`      // where speech has no words

	Differences []transcript.Difference `json:"differences,omitempty"` // where the text of the field align does not agree
}

func lossOf(tr *transcript.Transcript) soundLoss {
	return soundLoss{tr.Truncated, tr.Damaged, tr.Gaps, tr.Differences}
}

// A word is OpenAI's TranscriptionWord.
type word struct {
	Word  string  `json:"word"`
	Start float64 `json:"start"`
	End   float64 `json:"end"`

	// OpenAI has no such fields.
	Speaker     string  `json:"speaker,omitempty"`     // if asked for
	Probability float64 `json:"probability,omitempty"` // of live text
}

func (a *answer) verbose(tr *transcript.Transcript, text string) verboseTranscript {
	v := verboseTranscript{Task: a.q.decoding.Task, Language: languageName(tr.Language), Duration: tr.Duration, Text: text}
	v.Usage, v.soundLoss = durationUsage(tr.Duration), lossOf(tr)
	for _, t := range tr.Turns {
		v.Turns = append(v.Turns, transcript.Turn{
			Start: transcript.RoundTime(t.Start), End: transcript.RoundTime(t.End), Speaker: t.Speaker,
		})
	}
	if v.Task == transcribe.Translate {
		v.Language = "english"
	}
	if len(a.q.granularities) == 0 || slices.Contains(a.q.granularities, "segment") {
		v.Segments = []transcript.Segment{}
	}
	if a.q.words {
		v.Words = []word{}
	}
	for _, s := range tr.Segments {
		if v.Segments != nil {
			one := s.Rounded()
			one.Words = nil
			v.Segments = append(v.Segments, one)
		}
		if a.q.words {
			v.Words = append(v.Words, wordsOf(s)...)
		}
	}
	return v
}

// languageName returns the name of a language as OpenAI writes it. A code that only the checkpoint knows stays a code.
func languageName(code string) string {
	if l, known := tokenizer.FindLanguage(code); known {
		return strings.ToLower(l.Name)
	}
	return code
}

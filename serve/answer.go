package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"verity/tokenizer"
	"verity/transcribe"
	"verity/transcript"
)

// An answer writes a transcript in the form that a request asks for. It writes nothing
// before the end, unless it streams.
type answer struct {
	w      http.ResponseWriter
	q      *request
	model  *transcribe.Model
	stream *stream // nil without
	text   strings.Builder
	probs  []logProb // of all text so far, if asked for
}

// A logProb is OpenAI's log-probability of a token. Its texts together are the text.
type logProb struct {
	Token   string  `json:"token"`
	LogProb float32 `json:"logprob"`
	Bytes   []int   `json:"bytes"` // numbers, not base64
}

// logProbs returns those of the text of a segment, and keeps them; nil unless asked for.
func (a *answer) logProbs(s transcript.Segment) (list []logProb) {
	if !a.q.logProbs {
		return nil
	}
	for i, t := range s.Tokens {
		if t >= a.model.Tokenizer.EOT { // a time, which is no text
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
	a.probs = append(a.probs, list...)
	return list
}

// An sse is an event of a stream: OpenAI's names, and beyond them words, pieces, done,
// total, language and duration.
type sse struct {
	Type   string             `json:"type"`
	Delta  string             `json:"delta,omitzero"`
	ID     string             `json:"id,omitzero"`
	Start  *float64           `json:"start,omitzero"`
	End    *float64           `json:"end,omitzero"`
	Text   *string            `json:"text,omitzero"`
	Words  []word             `json:"words,omitzero"`
	Pieces []transcript.Piece `json:"pieces,omitzero"`
	Usage  *usage             `json:"usage,omitzero"`

	LogProbs []logProb `json:"logprobs,omitzero"`

	Done  *float64 `json:"done,omitzero"`
	Total *float64 `json:"total,omitzero"`
	Error *problem `json:"error,omitzero"`

	Language string  `json:"language,omitzero"` // of the end, with the duration
	Duration float64 `json:"duration,omitzero"`
}

// close ends the stream if there is one.
func (a *answer) close() {
	if a.stream != nil {
		a.stream.end()
	}
}

// segment streams a segment: its text, and its times if the request names segments or
// words.
func (a *answer) segment(s transcript.Segment) {
	if a.stream == nil || s.Text == "" {
		return
	}
	text := s.Text
	if a.text.Len() == 0 {
		text = tokenizer.Strip(text)
	}
	a.text.WriteString(text)
	a.stream.event(sse{Type: "transcript.text.delta", Delta: text, LogProbs: a.logProbs(s)})
	if len(a.q.asked) == 0 && !a.q.decoding.MarkAccepted {
		return
	}
	start, end := transcript.RoundTime(s.Start), transcript.RoundTime(s.End)
	e := sse{Type: "transcript.text.segment", ID: fmt.Sprintf("seg_%d", s.ID), Start: &start, End: &end, Text: &text}
	if a.q.words {
		e.Words = wordsOf(s)
	}
	if a.q.decoding.MarkAccepted {
		e.Pieces = a.pieces(s, text)
	}
	a.stream.event(e)
}

// pieces splits text, the text of s with or without surrounding space, into pieces.
func (a *answer) pieces(s transcript.Segment, text string) []transcript.Piece {
	list, skip := []transcript.Piece{}, strings.Index(s.Text, text)
	for _, p := range s.Drafted(a.model.Tokenizer) {
		n := min(skip, len(p.Text))
		skip -= n
		p.Text = p.Text[n:]
		p.Text = p.Text[:min(len(p.Text), len(text))]
		if text = text[len(p.Text):]; p.Text != "" {
			list = append(list, p)
		}
	}
	return list
}

// wordsOf returns the words of s as OpenAI has them.
func wordsOf(s transcript.Segment) []word {
	list := []word{}
	for _, x := range s.Words {
		list = append(list, word{tokenizer.Strip(x.Word), transcript.RoundTime(x.Start), transcript.RoundTime(x.End)})
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
	text, used := tokenizer.Strip(tr.Text), usage{"duration", int(math.Ceil(tr.Duration))} // rounded up, as OpenAI bills
	if a.stream != nil {
		a.stream.event(sse{Type: "transcript.text.done", Text: &text, Usage: &used, LogProbs: a.probs, Language: nameOf(a.model, tr.Language), Duration: tr.Duration})
		a.stream.add("data: [DONE]\n\n")
		a.stream.end()
		return nil
	}
	http.NewResponseController(a.w).SetWriteDeadline(time.Now().Add(5 * time.Minute))
	switch a.q.format {
	case "text":
		writeText(a.w, text+"\n")
	case "srt", "vtt":
		var b bytes.Buffer
		if err := transcript.Write(&b, transcript.Format(a.q.format), tr); err != nil {
			return err
		}
		if a.q.format == "vtt" {
			a.w.Header().Set("Content-Type", "text/vtt; charset=utf-8")
		}
		writeText(a.w, b.String())
	case "verbose_json":
		writeJSON(a.w, a.verbose(tr, text, used))
	default:
		for _, s := range tr.Segments {
			a.logProbs(s)
		}
		writeJSON(a.w, struct {
			Text     string    `json:"text"`
			LogProbs []logProb `json:"logprobs,omitzero"`
			Usage    usage     `json:"usage"`
		}{text, a.probs, used})
	}
	return nil
}

type usage struct {
	Type    string `json:"type"`
	Seconds int    `json:"seconds"`
}

// A verbose is OpenAI's TranscriptionVerbose.
type verbose struct {
	Task     transcribe.Task `json:"task"`
	Language string          `json:"language"` // by name, as OpenAI has it
	Duration float64         `json:"duration"`
	Text     string          `json:"text"`
	Segments []segment       `json:"segments,omitzero"`
	Words    []word          `json:"words,omitzero"`
	Usage    usage           `json:"usage"`

	// Truncated says that the sound ends before its header says. OpenAI has no such field.
	Truncated bool `json:"truncated,omitempty"`

	// Damaged says where sound is damaged or lost. OpenAI has no such field.
	Damaged []transcript.Gap `json:"damaged,omitempty"`
}

// A segment is OpenAI's TranscriptionSegment.
type segment struct {
	ID               int               `json:"id"`
	Seek             int               `json:"seek"`
	Start            float64           `json:"start"`
	End              float64           `json:"end"`
	Text             string            `json:"text"`
	Tokens           []tokenizer.Token `json:"tokens"`
	Temperature      float64           `json:"temperature"`
	AvgLogProb       float64           `json:"avg_logprob"`
	CompressionRatio float64           `json:"compression_ratio"`
	NoSpeechProb     float64           `json:"no_speech_prob"`

	// Pieces are the text split by what the assistant drafted, if asked for. OpenAI has
	// no such field.
	Pieces []transcript.Piece `json:"pieces,omitzero"`
}

// A word is OpenAI's TranscriptionWord.
type word struct {
	Word  string  `json:"word"`
	Start float64 `json:"start"`
	End   float64 `json:"end"`
}

func (a *answer) verbose(tr *transcript.Transcript, text string, u usage) verbose {
	v := verbose{Task: a.q.decoding.Task, Language: nameOf(a.model, tr.Language), Duration: tr.Duration, Text: text, Usage: u}
	v.Truncated, v.Damaged = tr.Truncated, tr.Damaged
	if v.Task == transcribe.Translate {
		v.Language = "english"
	}
	if len(a.q.asked) == 0 || slices.Contains(a.q.asked, "segment") {
		v.Segments = []segment{}
	}
	if a.q.words {
		v.Words = []word{}
	}
	for _, s := range tr.Segments {
		if v.Segments != nil {
			tokens := append([]tokenizer.Token{}, s.Tokens...) // [], not null
			var pieces []transcript.Piece
			if a.q.decoding.MarkAccepted {
				pieces = a.pieces(s, s.Text)
			}
			v.Segments = append(v.Segments, segment{
				s.ID, s.Seek, transcript.RoundTime(s.Start), transcript.RoundTime(s.End), s.Text, tokens, s.Temperature, s.AvgLogProb, s.CompressionRatio, s.NoSpeechProb, pieces,
			})
		}
		if a.q.words {
			v.Words = append(v.Words, wordsOf(s)...)
		}
	}
	return v
}

// nameOf returns the name of a language as OpenAI writes it.
func nameOf(m *transcribe.Model, code string) string {
	if l, ok := m.Tokenizer.Language(code); ok {
		return strings.ToLower(l.Name)
	}
	if code == "en" { // an English-only model has no list of languages
		return "english"
	}
	return code
}

package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
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
	w       http.ResponseWriter
	q       *request
	model   *transcribe.Model
	started bool
	text    strings.Builder
}

func (s *Server) newAnswer(w http.ResponseWriter, q *request) *answer {
	return &answer{w: w, q: q, model: s.model}
}

// progress streams the progress of the transcription.
func (a *answer) progress(done, total float64) {
	if a.q.progress && done > 0 { // a file that cannot be read gets an error instead
		a.event(map[string]any{"type": "verity.progress", "done": done, "total": total})
	}
}

// segment streams a segment: its text, and its times if the request names segments or
// words.
func (a *answer) segment(s transcript.Segment) {
	if !a.q.stream || s.Text == "" {
		return
	}
	text := s.Text
	if a.text.Len() == 0 {
		text = tokenizer.Strip(text)
	}
	a.text.WriteString(text)
	a.event(map[string]any{"type": "transcript.text.delta", "delta": text})
	if len(a.q.asked) == 0 && !a.q.decoding.MarkAccepted {
		return
	}
	e := map[string]any{
		"type": "transcript.text.segment", "id": fmt.Sprintf("seg_%d", s.ID), "start": s.Start, "end": s.End, "text": text,
	}
	if a.q.words {
		e["words"] = wordsOf(s)
	}
	if a.q.decoding.MarkAccepted {
		e["pieces"] = a.pieces(s, text)
	}
	a.event(e)
}

// pieces splits text, the text of s with or without surrounding space, into pieces.
func (a *answer) pieces(s transcript.Segment, text string) []transcript.Piece {
	list, skip := []transcript.Piece{}, strings.Index(s.Text, text)
	for _, p := range s.Pieces(a.model.Tokenizer) {
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
		list = append(list, word{tokenizer.Strip(x.Word), x.Start, x.End})
	}
	return list
}

// event writes and flushes one server-sent event.
func (a *answer) event(v any) {
	control := http.NewResponseController(a.w)
	if !a.started {
		a.started = true
		h := a.w.Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("Cache-Control", "no-store")
		h.Set("X-Accel-Buffering", "no") // proxies must not buffer
	}
	control.SetWriteDeadline(time.Now().Add(stall)) // for clients that do not read
	fmt.Fprintf(a.w, "data: %s\n\n", marshal(v))
	control.Flush()
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

// failed reports an error: as an event if the answer has begun.
func (a *answer) failed(err error) error {
	if !a.started {
		return err
	}
	a.event(map[string]any{"type": "error", "error": failed(http.StatusInternalServerError, "Transcription failed: %v", err)})
	return nil
}

// finish writes the whole answer, or the end of a stream.
func (a *answer) finish(tr *transcript.Transcript) error {
	http.NewResponseController(a.w).SetWriteDeadline(time.Now().Add(5 * time.Minute))
	text, used := tokenizer.Strip(tr.Text), usage{"duration", audioSeconds(tr)}
	if a.q.stream {
		a.event(struct {
			Type  string `json:"type"`
			Text  string `json:"text"`
			Usage usage  `json:"usage"`
		}{"transcript.text.done", text, used})
		fmt.Fprint(a.w, "data: [DONE]\n\n")
		return nil
	}
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
		writeJSON(a.w, struct {
			Text  string `json:"text"`
			Usage usage  `json:"usage"`
		}{text, used})
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
	v := verbose{Task: a.q.decoding.Task, Language: a.language(tr.Language), Duration: tr.Duration, Text: text, Usage: u}
	v.Truncated = tr.Truncated
	if a.q.wants("segment") {
		v.Segments = []segment{}
	}
	if a.q.words {
		v.Words = []word{}
	}
	for _, s := range tr.Segments {
		if v.Segments != nil {
			tokens := s.Tokens
			if tokens == nil {
				tokens = []tokenizer.Token{} // [], not null
			}
			var pieces []transcript.Piece
			if a.q.decoding.MarkAccepted {
				pieces = a.pieces(s, s.Text)
			}
			v.Segments = append(v.Segments, segment{
				s.ID, s.Seek, s.Start, s.End, s.Text, tokens, s.Temperature, s.AvgLogProb, s.CompressionRatio, s.NoSpeechProb, pieces,
			})
		}
		if a.q.words {
			v.Words = append(v.Words, wordsOf(s)...)
		}
	}
	return v
}

// language returns the name of a language as OpenAI writes it.
func (a *answer) language(code string) string {
	if l, ok := a.model.Tokenizer.Language(code); ok {
		return strings.ToLower(l.Name)
	}
	if code == "en" { // an English-only model has no list of languages
		return "english"
	}
	return code
}

// wants reports whether a granularity is asked for. The default is segments.
func (q *request) wants(granularity string) bool {
	if len(q.asked) == 0 {
		return granularity == "segment"
	}
	return slices.Contains(q.asked, granularity)
}

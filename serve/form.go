package serve

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"verity/audio/vad"
	"verity/internal/show"
	"verity/tokenizer"
	"verity/transcribe"
	"verity/transcribe/live"
	"verity/transcript"
)

const (
	maxParts = 64
	maxField = 64 << 10 // bytes
	maxDraft = 1 << 20  // bytes: the text of ten hours of speech
	maxForm  = 8 << 20  // bytes of a form without the file

	ignoredHeader = "X-Verity-Ignored"
	warningHeader = "X-Verity-Warning"
)

// A request is a parsed form.
type request struct {
	name          string // of the file according to the client, for messages only
	file          *spoolFile
	model         *modelSlot
	format        string
	stream        bool
	words         bool
	progress      bool // send progress events
	logProbs      bool // of each token
	granularities []string
	ignored       ignoredNames
	decoding      transcribe.Options
	draft         []transcript.Cue // the client's text of the sound: it affects speed, never the text
}

// Values of include[]: OpenAI's, and two of Verity's own.
const (
	withLogProbs = "logprobs"
	withProgress = "verity.progress" // events with the seconds that are done
	withAccepted = "verity.accepted" // which parts of a segment's text the assistant drafted
)

// formats are the values of response_format.
var formats = []string{"json", "text", "srt", "verbose_json", "vtt"}

// close removes the file of a request.
func (q *request) close() {
	if q.file != nil {
		q.file.remove()
	}
}

// parseForm reads the form of r until end at most, its parts in any order. The caller closes the request, also after
// an error.
func (s *Server) parseForm(
	w http.ResponseWriter, r *http.Request, task transcribe.Task, end time.Time,
) (*request, error) {
	q := &request{format: "json", model: s.models.slots[0], decoding: s.opt.Decoding}
	q.decoding.Task = task
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return q, clientError(http.StatusUnsupportedMediaType, "", "",
			"Content-Encoding: got %.80q: send the form as it is.", e)
	}
	body := &uploadBody{
		ReadCloser: r.Body, control: http.NewResponseController(w), stall: s.stall, end: end, timeout: s.opt.Timeout,
		limit: s.opt.MaxBytes + maxForm,
	}
	r.Body = body
	parts, err := r.MultipartReader()
	if err != nil {
		return q, badRequest("",
			"Could not parse multipart form: %v. Send multipart/form-data with a part named file.", err)
	}
	if r.ContentLength > body.limit {
		return q, body.tooLarge()
	}
	body.control.SetWriteDeadline(end.Add(10 * s.stall))
	if err := s.parseParts(parts, q); err != nil {
		return q, err
	}
	body.control.SetReadDeadline(time.Time{}) // the body has been read
	if q.file == nil {
		return q, badRequest("file", "The part named file is missing: it holds the sound.")
	}
	for _, name := range slices.Sorted(maps.Keys(r.URL.Query())) { // parameters belong in the form
		q.ignored.add("?" + name)
	}
	q.decoding = resolve(q.decoding, q.words)
	return q, nil
}

func (s *Server) parseParts(parts *multipart.Reader, q *request) error {
	for n := 0; ; n++ {
		part, err := parts.NextRawPart()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return formError(err)
		case n == maxParts:
			return badRequest("", "The form has more than %d parts.", maxParts)
		case part.FormName() == "file":
			err = s.saveFile(q, part)
		default:
			err = s.parseField(q, part)
		}
		if err != nil {
			return err
		}
	}
}

// saveFile writes the file to the spool.
func (s *Server) saveFile(q *request, part *multipart.Part) (err error) {
	if q.file != nil {
		return badRequest("file", "The form has two parts named file: send one request for each.")
	}
	if q.file, err = s.spool.create(s.opt.MaxBytes); err != nil {
		return err
	}
	q.name = part.FileName()
	if _, err = io.Copy(q.file, part); err != nil {
		return formError(err)
	}
	return nil
}

// formError returns the problem with a form that cannot be read, or is cut off.
func formError(err error) error {
	if p, ok := errors.AsType[*problem](err); ok {
		return p
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return badRequest("", "The form is cut off, or its boundary is not the one of the header Content-Type.")
	}
	return badRequest("", "Could not parse multipart form: %v", err)
}

// parseField reads a part that is not the file. An empty one is ignored: forms of browsers send every field.
func (s *Server) parseField(q *request, part *multipart.Part) error {
	name, limit := fmt.Sprintf("%.80s", part.FormName()), maxField // errors and the log repeat the name
	if name == "draft" {
		limit = maxDraft
	}
	value, err := io.ReadAll(io.LimitReader(part, int64(limit)+1))
	switch {
	case err != nil:
		return formError(err)
	case len(value) > limit:
		return badRequest(name, "%s: more than %d bytes", name, limit)
	case len(value) == 0:
		return nil
	}
	return s.setField(q, name, string(value))
}

// setField sets what a field asks for.
func (s *Server) setField(q *request, name, value string) (err error) {
	bad := func(want string) error {
		return badRequest(name, "%s: got %.80q, want %s", name, value, want)
	}
	switch name {
	case "model":
		if q.model = s.models.find(value); q.model == nil {
			return s.models.notFound(value)
		}
	case "language":
		q.decoding.Language = languageOf(value)
	case "prompt":
		q.decoding.InitialPrompt = value
	case "draft": // Verity's own: text or subtitles, which affect speed, never the text
		if q.draft, err = transcript.Read("draft", []byte(value)); err != nil {
			return badRequest(name, "%v", err)
		}
	case "response_format":
		if q.format = value; !slices.Contains(formats, value) {
			return bad("one of " + strings.Join(formats, ", "))
		}
	case "temperature":
		t, err := strconv.ParseFloat(value, 64)
		if err != nil || !(t >= 0 && t <= 1) {
			return bad("a number from 0 to 1")
		}
		if t > 0 { // 0 means the usual fallback, as OpenAI's reference says
			q.decoding.Temperatures = []float64{t}
		}
	case "stream":
		if q.stream, err = strconv.ParseBool(value); err != nil {
			return bad("true or false")
		}
	case "include[]", "include":
		switch value {
		case withProgress:
			q.progress = true
		case withAccepted:
			q.decoding.TokenOrigins = true
		case withLogProbs:
			q.logProbs = true
		default:
			q.ignored.add(name + "=" + value)
		}
	case "timestamp_granularities[]", "timestamp_granularities":
		if value != "word" && value != "segment" {
			return bad("word or segment")
		}
		q.words = q.words || value == "word"
		q.granularities = append(q.granularities, value)
	case "vad_filter": // of speaches and faster-whisper
		on, err := strconv.ParseBool(value)
		if err != nil {
			return bad("true or false")
		}
		q.setVAD(on)
	default:
		if strings.HasPrefix(name, "chunking_strategy") {
			return q.setChunking(name, value, bad)
		}
		return s.setExtra(q, name, value, bad)
	}
	return nil
}

// setVAD turns voice activity detection on, with the server's options for it, or off. Off also skips the check for
// speech in windows that the model doubts.
func (q *request) setVAD(on bool) {
	q.decoding.SkipSpeechCheck = !on
	if !on {
		q.decoding.VAD = nil
	} else if q.decoding.VAD == nil {
		q.decoding.VAD = new(vad.Options)
	}
}

// setChunking sets OpenAI's chunking_strategy: auto, or server_vad with its numbers. They come as one JSON object, or
// as one field each: chunking_strategy[threshold] or chunking_strategy.threshold.
func (q *request) setChunking(name, value string, bad func(string) error) error {
	member := strings.Trim(strings.TrimPrefix(name, "chunking_strategy"), "[].")
	var inner map[string]json.RawMessage
	isJSON := name == "chunking_strategy" && strings.HasPrefix(value, "{") && json.Unmarshal([]byte(value), &inner) == nil
	if isJSON && inner["type"] != nil {
		for _, m := range slices.Sorted(maps.Keys(inner)) {
			if err := q.setChunking(name+"."+m, strings.Trim(string(inner[m]), `"`), bad); err != nil {
				return err
			}
		}
		return nil
	}
	var v vad.Options
	if q.decoding.VAD != nil {
		v = *q.decoding.VAD
	}
	turns := live.DefaultTurns()
	var err error
	switch member {
	case "", "type":
		if value != "auto" && value != "server_vad" {
			return bad("auto, or server_vad with threshold, prefix_padding_ms and silence_duration_ms")
		}
	case "threshold":
		turns.Threshold, err = strconv.ParseFloat(value, 64)
		v.Threshold = turns.Threshold
	case "prefix_padding_ms":
		turns.PaddingMS, err = strconv.Atoi(value)
		v.SpeechPadMS = cmp.Or(turns.PaddingMS, -1) // 0 would mean the default
	case "silence_duration_ms":
		turns.SilenceMS, err = strconv.Atoi(value)
		v.MinSilenceDurationMS = turns.SilenceMS
	default:
		q.ignored.add(name)
		return nil
	}
	if err != nil {
		return bad("a number")
	}
	if err := turns.Check(); err != nil {
		return badRequest("chunking_strategy", "chunking_strategy: %v", err)
	}
	q.decoding.VAD = &v
	return nil
}

// setExtra sets one of [Options.Fields], such as beam_size. Unknown fields are not refused, since clients keep adding
// some, but the answer and the log name them.
func (s *Server) setExtra(q *request, name, value string, bad func(string) error) error {
	plain := strings.ReplaceAll(name, "-", "_")
	i := slices.IndexFunc(s.opt.Fields, func(f Field) bool { return f.Name == plain })
	if i < 0 {
		q.ignored.add(name)
		return nil
	}
	if err := s.opt.Fields[i].Set(&q.decoding, value); err != nil {
		return bad(err.Error())
	}
	return nil
}

// reportIgnored names in the answer and in the log what was sent but has no effect.
func (q *request) reportIgnored(w http.ResponseWriter, r *http.Request) {
	if len(q.ignored) == 0 {
		return
	}
	text := strings.Join(q.ignored, ", ")
	w.Header().Set(ignoredHeader, text)
	addLogFields(r, "ignored", text)
}

// ignoredNames are the first ten names, in ASCII, of what a client sent and the server does not know: fields, their
// members, parameters of the URL.
type ignoredNames []string

func (l *ignoredNames) add(name string) {
	if len(*l) < 10 {
		*l = append(*l, ascii(fmt.Sprintf("%.80s", name)))
	}
}

// ascii returns a text in a form that a header can hold.
func ascii(text string) string { return strings.Trim(strconv.QuoteToASCII(text), `"`) }

// String returns the client's name of the file for messages.
func (q *request) String() string {
	if q.name == "" {
		return "the upload"
	}
	return show.Name(fmt.Sprintf("%.80s", q.name))
}

// resolve settles options of the form and of the server that contradict each other: the form's win.
func resolve(o transcribe.Options, words bool) transcribe.Options {
	o.WordTimestamps = o.WordTimestamps || words
	o.Multilingual = o.Multilingual && o.Language == ""
	return o
}

// languageOf returns the language of a field. Some clients send a tag with a region, such as en-US; auto means none.
func languageOf(tag string) string {
	if strings.EqualFold(tag, "auto") {
		return ""
	}
	if i := strings.IndexAny(tag, "-_"); i > 0 && !tokenizer.IsKnownLanguage(tag) && tokenizer.IsKnownLanguage(tag[:i]) {
		return tag[:i]
	}
	return tag
}

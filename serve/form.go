package serve

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"verity/audio"
	"verity/audio/vad"
	"verity/diarize"
	"verity/internal/show"
	"verity/tokenizer"
	"verity/transcribe"
	"verity/transcribe/live"
	"verity/transcript"
)

const (
	maxParts = 4 * maxKeywords // an element of a list is a part
	maxField = 64 << 10        // bytes
	maxDraft = 1 << 20         // bytes: the text of ten hours of speech
	maxForm  = 8 << 20         // bytes of a form without the file

	ignoredHeader = "X-Verity-Ignored"
	warningHeader = "X-Verity-Warning"
)

// A request is a parsed form.
type request struct {
	api           *dialect
	name          string // of the file according to the client, for messages only
	file          *upload
	modelName     string // as the client called it
	format        string
	track         int // of several in the file; see audio.Input
	stream        bool
	words         bool
	progress      bool // send progress events
	early         bool // and events with segments before their speakers are known
	logProbs      bool // of each token
	granularities []string
	terms         []transcribe.Term // of keywords
	rawRate       int               // of samples without a header; 0 for a file
	language      string
	languages     []string // that the sound may have, if language is empty
	ignored       ignoredNames
	given         map[string]string // values of fields that a form holds once
	decoding      transcribe.Options
	temperature   float64
	increment     *float64         // of the temperature, for each further attempt
	speakers      *diarize.Options // nil: they are not identified
	knownNames    []string         // of speakers
	references    []*upload        // the sound of each
	draft         []transcript.Cue // the client's text of the sound: it affects speed, never the text
	text          []transcript.Cue // to align, in place of what is heard; nil without one
	subtitles     transcript.Subtitles
}

// Values of include[]: OpenAI's, and two of Verity's own.
const (
	withLogProbs = "logprobs"
	withProgress = "verity.progress" // events with the seconds that are done
	withEarly    = "verity.early"    // events with segments before their speakers are known
)

// close removes the files of a request.
func (q *request) close() {
	if q.file != nil {
		q.file.remove()
	}
	for _, f := range q.references {
		f.remove()
	}
}

// parseForm reads the form of r until end at most, its parts in any order. The caller closes the request, also after
// an error.
func (s *Server) parseForm(
	w http.ResponseWriter, r *http.Request, d *dialect, task transcribe.Task, end time.Time,
) (*request, error) {
	q := &request{api: d, format: d.format, decoding: s.opt.Decoding}
	q.decoding.Task = task
	if d.query {
		if err := s.parseQuery(q, r); err != nil {
			return q, err
		}
	}
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return q, clientError(http.StatusUnsupportedMediaType, "", "unsupported_encoding",
			"Content-Encoding: got %.80q: send the form as it is.", e)
	}
	limit := s.opt.MaxBytes + maxForm
	r.Body = http.MaxBytesReader(w, r.Body, limit)
	mendHeader(http.Header(r.Header), "Content-Type", unquotedBoundary, func(m []string) string { return m[1] + `"` + m[2] + `"` })
	parts, err := r.MultipartReader()
	if errors.Is(err, http.ErrMissingBoundary) {
		return q, badRequest("", "Content-Type: it has no boundary: do not set this header, but let the client do so.")
	}
	if err != nil {
		kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
		return q, badRequest("", "Content-Type: got %.80q, want multipart/form-data with a part named %s.", kind, d.file)
	}
	if r.ContentLength > limit {
		return q, s.formError(&http.MaxBytesError{Limit: limit})
	}
	control := http.NewResponseController(w)
	control.SetReadDeadline(end) // a telephone's upload may take an hour
	control.SetWriteDeadline(end.Add(writeTime))
	if err := s.parseParts(parts, q); err != nil {
		return q, err
	}
	control.SetReadDeadline(time.Time{}) // the body has been read, and what net/http reads next may come late
	if q.file == nil {
		text := fmt.Sprintf("The part named %s is missing: it holds the sound.", d.file)
		if len(q.ignored) > 0 {
			text += " There is no field " + strings.Join(q.ignored, ", ") + "."
		}
		return q, clientError(http.StatusBadRequest, d.file, "missing_required_parameter", "%s", text)
	}
	if !d.query {
		for _, name := range slices.Sorted(maps.Keys(r.URL.Query())) { // parameters belong in the form
			q.ignored.add("?" + name)
		}
	}
	q.settle()
	return q, q.settleSpeakers()
}

func (s *Server) parseParts(parts *multipart.Reader, q *request) error {
	for n := 0; ; n++ {
		part, err := parts.NextRawPart()
		if err == nil {
			mendHeader(http.Header(part.Header), "Content-Disposition", partNames, func(m []string) string {
				return mime.FormatMediaType("form-data", map[string]string{"name": m[1], "filename": m[2]})
			})
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return s.formError(err)
		case n == maxParts:
			return badRequest("", "The form has more than %d parts.", maxParts)
		case part.FormName() == "":
			return badRequest("", "The header of a part has no name that can be read: Content-Disposition: %.200q.",
				part.Header.Get("Content-Disposition"))
		case part.FormName() == q.api.file:
			err = s.saveFile(q, part)
		case strings.HasPrefix(part.FormName(), referenceField):
			err = s.saveReference(q, part)
		default:
			err = s.parseField(q, part)
		}
		if err != nil {
			return err
		}
	}
}

// Headers of forms that the standard library refuses: the name of a file with quotes inside, or without quotes around it,
// and a boundary without them.
var (
	partNames        = regexp.MustCompile(`(?is)^form-data;.*?\bname="?([^";]*)"?(?:;.*?filename="?(.*?)"?)?$`)
	unquotedBoundary = regexp.MustCompile(`(?i)^(multipart/form-data;\s*boundary=)([^"].*)$`)
)

// mendHeader replaces a header that cannot be parsed, but matches a pattern.
func mendHeader(h http.Header, name string, pattern *regexp.Regexp, mend func(match []string) string) {
	value := strings.ToValidUTF8(h.Get(name), "\ufffd")
	if _, _, err := mime.ParseMediaType(value); err == nil {
		return
	}
	if m := pattern.FindStringSubmatch(value); m != nil {
		h.Set(name, mend(m))
	}
}

// saveFile writes the file to the store of uploads.
func (s *Server) saveFile(q *request, part *multipart.Part) (err error) {
	if q.file != nil {
		return badRequest(q.api.file, "The form has two parts named %s: send one request for each.", q.api.file)
	}
	if q.file, err = s.uploads.create(s.opt.MaxBytes); err != nil {
		return err
	}
	q.name = part.FileName()
	if _, err = io.Copy(q.file, part); err != nil {
		return s.formError(err)
	}
	return nil
}

// formError returns the problem with a form that cannot be read, is cut off, too large or too slow.
func (s *Server) formError(err error) error {
	p, known := errors.AsType[*problem](err)
	large, isLarge := errors.AsType[*http.MaxBytesError](err)
	switch {
	case known:
		return p
	case isLarge:
		return clientError(http.StatusRequestEntityTooLarge, "", "file_too_large",
			"The form has more than %s: %s", mebibytes(large.Limit), smallerFile)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return clientError(http.StatusRequestTimeout, "", "request_timeout",
			"The upload took longer than %s, which is the limit of this server.", span(s.opt.Timeout))
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return badRequest("", "The form is cut off, or its boundary is not the one of the header Content-Type.")
	}
	return badRequest("", "Could not parse multipart form: %v", err)
}

// parseField reads a part that is not the file. An empty one is ignored: forms of browsers send every field.
func (s *Server) parseField(q *request, part *multipart.Part) error {
	name, limit := fmt.Sprintf("%.80s", part.FormName()), maxField // errors and the log repeat the name
	if name == "draft" || name == "align" {
		limit = maxDraft
	}
	value, err := io.ReadAll(io.LimitReader(part, int64(limit)+1))
	switch {
	case err != nil:
		return s.formError(err)
	case len(value) > limit && s.setterOf(q, name) == nil:
		return badRequest(name, "There is no field %s. The part named %s holds the sound.", name, q.api.file)
	case len(value) > limit:
		return badRequest(name, "%s: more than %d bytes", name, limit)
	case len(value) == 0:
		return nil
	}
	return s.setField(q, name, string(value))
}

// A formField is a part of a form that is not the file.
type formField struct {
	name  string // as the client wrote it
	value string
}

// bad returns the problem with the value of f.
func (f formField) bad(want string) error {
	return badRequest(f.name, "%s: got %.80q, want %s", f.name, f.value, want)
}

// list returns the elements of a list, which clients send as a field for each, as a JSON array, or with commas.
func (f formField) list() (list []string) {
	if strings.HasPrefix(f.value, "[") && json.Unmarshal([]byte(f.value), &list) == nil {
		return list
	}
	for one := range strings.SplitSeq(f.value, ",") {
		list = append(list, strings.TrimSpace(one))
	}
	return list
}

// A fieldSetter sets what a field asks for.
type fieldSetter func(q *request, f formField) error

// formFields are the fields of OpenAI's forms, and further ones that are not in [Options.Fields].
var formFields = map[string]fieldSetter{
	"model": func(q *request, f formField) error { q.modelName = f.value; return nil },
	"language": func(q *request, f formField) error {
		q.language = languageOf(f.value)
		q.decoding.Language = q.language
		return nil
	},
	"prompt": func(q *request, f formField) error {
		q.decoding.InitialPrompt = f.value
		return nil
	},
	"track": func(q *request, f formField) (err error) {
		if q.track, err = strconv.Atoi(cmp.Or(f.value, "0")); err != nil || q.track < 0 || q.track > audio.MaxTracks {
			return f.bad(fmt.Sprintf("the number of an audio track, from 1 to %d", audio.MaxTracks))
		}
		return nil
	},
	"draft": func(q *request, f formField) (err error) { // text or subtitles
		if q.draft, err = transcript.Read("draft", []byte(f.value)); err != nil {
			return badRequest(f.name, "%v", err)
		}
		return nil
	},
	"align": func(q *request, f formField) (err error) { // text or subtitles
		if q.text, err = transcript.ReadLines("align", []byte(f.value)); err != nil {
			return badRequest(f.name, "%v", err)
		}
		return nil
	},
	"response_format": func(q *request, f formField) error {
		if q.format = f.value; !slices.Contains(q.api.formats, f.value) {
			return f.bad("one of " + strings.Join(q.api.formats, ", "))
		}
		return nil
	},
	"temperature": setTemperature(func(q *request, t float64) { q.temperature = t }),
	"stream":      setSwitch(func(q *request, on bool) { q.stream = on }),
	"vad_filter":  setSwitch((*request).setVAD), // of speaches and faster-whisper
	"speakers":    setSpeakers,
}

// listFields are the fields that a form may hold more than once: name, name[] or name[0].
var listFields = map[string]fieldSetter{
	"include": func(q *request, f formField) error {
		for _, value := range f.list() {
			switch value {
			case withProgress:
				q.progress = true
			case withEarly:
				q.early = true
			case withLogProbs:
				q.logProbs = true
			default:
				q.ignored.add(f.name + "=" + value)
			}
		}
		return nil
	},
	"timestamp_granularities": func(q *request, f formField) error {
		for _, value := range f.list() {
			if value != "word" && value != "segment" {
				return f.bad("word or segment")
			}
			q.words = q.words || value == "word"
			q.granularities = append(q.granularities, value)
		}
		return nil
	},
	"keywords": func(q *request, f formField) error {
		var err error
		if q.terms, err = addKeywords(q.terms, f.list()); err != nil {
			return badRequest(f.name, "%s: %v", f.name, err)
		}
		return nil
	},
	"known_speaker_names": addKnownName, // their sound: saveReference
	"languages": func(q *request, f formField) error {
		for _, one := range f.list() {
			if one = languageOf(one); one != "" && !tokenizer.IsKnownLanguage(one) {
				return f.bad("codes of languages, such as en")
			}
			q.languages = append(q.languages, one)
		}
		return nil
	},
}

// setSwitch returns the setter of a field that is true or false.
func setSwitch(set func(q *request, on bool)) fieldSetter {
	return func(q *request, f formField) error {
		on, err := strconv.ParseBool(f.value)
		if err != nil {
			return f.bad("true or false")
		}
		set(q, on)
		return nil
	}
}

// setNumber returns the setter of a whole number; 0 sets nothing.
func setNumber(what string, set func(q *request, n int)) fieldSetter {
	return func(q *request, f formField) error {
		n, err := strconv.Atoi(f.value)
		if err != nil || n < 0 || n > 1e9 {
			return f.bad("a whole number of " + what)
		}
		if n > 0 {
			set(q, n)
		}
		return nil
	}
}

// setTemperature returns the setter of a temperature, or of a step between two.
func setTemperature(set func(q *request, t float64)) fieldSetter {
	return func(q *request, f formField) error {
		t, err := strconv.ParseFloat(f.value, 64)
		if err != nil || !(t >= 0 && t <= 1) {
			return f.bad("a number from 0 to 1")
		}
		set(q, t)
		return nil
	}
}

// setField sets what a field asks for.
func (s *Server) setField(q *request, name, value string) error {
	set, f := s.setterOf(q, name), formField{name, value}
	base, _, _ := strings.Cut(name, "[")
	if key := strings.ReplaceAll(cmp.Or(q.api.others[name], name), "-", "_"); set != nil && listFields[base] == nil {
		if before, again := q.given[key]; again && before != value {
			return f.bad(fmt.Sprintf("one value: the form also has %.80q", before))
		}
		if q.given == nil {
			q.given = map[string]string{}
		}
		q.given[key] = value
	}
	if set != nil {
		return set(q, f)
	}
	q.ignored.add(name) // not refused, since clients keep adding fields, but the answer and the log name them
	return nil
}

// setterOf returns what sets a field; nil for one that a form does not have.
func (s *Server) setterOf(q *request, name string) fieldSetter {
	name = cmp.Or(q.api.others[name], name)
	base, index, _ := strings.Cut(name, "[")
	plain := strings.ReplaceAll(name, "-", "_")
	extra := slices.IndexFunc(s.opt.Fields, func(o Field) bool { return o.Name == plain })
	switch {
	case q.api.fields[name] != nil:
		return q.api.fields[name]
	case formFields[name] != nil:
		return formFields[name]
	case strings.Trim(index, "0123456789]") == "" && listFields[base] != nil:
		return listFields[base]
	case strings.HasPrefix(name, "chunking_strategy"):
		return setChunking
	case extra >= 0: // such as beam_size
		return func(q *request, f formField) error {
			if err := s.opt.Fields[extra].Set(&q.decoding, f.value); err != nil {
				return f.bad(err.Error())
			}
			return nil
		}
	}
	return nil
}

// settle sets what several fields decide together.
func (q *request) settle() {
	switch {
	case q.languages != nil && q.language != "":
		q.ignored.add("languages")
	case q.languages != nil:
		q.decoding.Language = joinLanguages(q.languages)
	}
	q.decoding.Terms = slices.Concat(q.decoding.Terms, q.terms)
	switch {
	case q.increment != nil: // whisper.cpp's
		q.decoding.Temperatures = transcribe.Temperatures(q.temperature, *q.increment)
	case q.temperature > 0: // 0 means the usual fallback, as OpenAI's reference says
		q.decoding.Temperatures = []float64{q.temperature}
	}
	q.decoding = withDefaults(q.decoding, q.words)
}

// maxKeywords is how many terms a request may add to the server's.
const maxKeywords = 1000

// addKeywords adds OpenAI's keywords to terms: names and terms, each in the form of a line of a file of terms.
func addKeywords(terms []transcribe.Term, keywords []string) ([]transcribe.Term, error) {
	for _, word := range keywords {
		if strings.TrimSpace(word) == "" {
			continue
		}
		term, err := transcribe.ParseTerm(word)
		if err != nil {
			return nil, err
		}
		if terms = append(terms, term); len(terms) > maxKeywords {
			return nil, fmt.Errorf("got more than %d keywords", maxKeywords)
		}
	}
	return terms, nil
}

// joinLanguages returns the option for a list of languages that the sound may have. An empty element stands for all.
func joinLanguages(list []string) string {
	if slices.Contains(list, "") {
		return ""
	}
	return strings.Join(list, ",")
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
func setChunking(q *request, f formField) error {
	name, value := f.name, f.value
	member := strings.Trim(strings.TrimPrefix(name, "chunking_strategy"), "[].")
	var inner map[string]json.RawMessage
	isJSON := name == "chunking_strategy" && strings.HasPrefix(value, "{") && json.Unmarshal([]byte(value), &inner) == nil
	if isJSON && inner["type"] != nil {
		for _, m := range slices.Sorted(maps.Keys(inner)) {
			if err := setChunking(q, formField{name + "." + m, strings.Trim(string(inner[m]), `"`)}); err != nil {
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
			return f.bad("auto, or server_vad with threshold, prefix_padding_ms and silence_duration_ms")
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
		return f.bad("a number")
	}
	if err := turns.Check(); err != nil {
		return optionProblem(err, "chunking_strategy.", nil)
	}
	q.decoding.VAD = &v
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

// unnamed stands for a file that came without a name.
const unnamed = "the upload"

// String returns the client's name of the file for messages.
func (q *request) String() string {
	if q.name == "" {
		return unnamed
	}
	return show.Name(fmt.Sprintf("%.80s", q.name))
}

// withDefaults applies a request, which may want the times of words, over the server's options.
func withDefaults(o transcribe.Options, words bool) transcribe.Options {
	o.WordTimestamps = o.WordTimestamps || words
	o.Multilingual = o.Multilingual && o.Language == ""
	return o
}

// languageOf returns the language of a field; empty for the words by which clients name none.
func languageOf(tag string) string {
	tag = strings.TrimSpace(tag)
	if slices.Contains([]string{"auto", "detect", "none", "null", "undefined"}, strings.ToLower(tag)) {
		return ""
	}
	return tag
}

package serve

import (
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

	"verity/diarize"
	"verity/internal/show"
	"verity/transcribe"
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
			return badRequest("", "The form has more than %d parts: send fewer.", maxParts)
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
			"The upload took longer than %s: send a smaller file, such as Opus or MP3, or ask the operator for more (timeout).", span(s.opt.Timeout))
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
		return badRequest(name, "%s: more than %d bytes: send less", name, limit)
	case len(value) == 0:
		return nil
	}
	return s.setField(q, name, string(value))
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

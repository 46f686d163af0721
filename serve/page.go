package serve

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"

	"verity/transcript"
)

// maxTranscript is the bytes of a transcript that the page sends: more than six hours have.
const maxTranscript = 8 << 20

// handleWrite writes a transcript, as a user of the page has changed it, as a file of a format or, as rows, in JSON for the
// page's view of subtitles.
func handleWrite(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Format, Rules string
		Names         bool // in subtitles
		Transcript    transcript.Transcript
		transcript.Options
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxTranscript)).Decode(&q); err != nil {
		writeProblem(w, badRequest("", "The transcript cannot be read: %v", err))
		return
	}
	q.Subtitles, _ = transcript.Preset(q.Rules)
	q.Subtitles.Composed, q.Subtitles.Unnamed = true, !q.Names // also without a preset
	if q.Format == "rows" {
		writeJSON(w, q.Subtitles.Rows(&q.Transcript))
		return
	}
	var b bytes.Buffer
	if err := q.Write(&b, transcript.Format(q.Format), &q.Transcript); err != nil {
		writeProblem(w, badRequest("format", "%v", err))
		return
	}
	writeText(w, b.String())
}

// handleRead reads a transcript that was saved as SRT, VTT or JSON, for the page to go on with, and says what it lost.
func handleRead(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxTranscript))
	if err != nil {
		writeProblem(w, badRequest("", "The transcript cannot be read: %v", err))
		return
	}
	t, lost, err := transcript.Open(r.URL.Query().Get("name"), raw)
	if err != nil {
		writeProblem(w, badRequest("", "%v", err))
		return
	}
	writeJSON(w, object{"language": languageName(t.Language), "duration": t.Duration, "segments": t.Segments, "lost": lost})
}

package serve

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"verity/transcribe"
)

// handleModels lists the model of the server, or describes it under the id that the path has: it answers to any name.
func (s *Server) handleModels(w http.ResponseWriter, r *http.Request) {
	known := languages(s.model)
	m := modelObject{
		ID: cmp.Or(r.PathValue("id"), s.opt.Name), Root: s.opt.Name, Object: "model", Created: s.created.Unix(),
		OwnedBy: "verity", Translates: len(known) > 1, Languages: known,
	}
	if r.PathValue("id") == "" {
		writeJSON(w, modelList{Object: "list", Data: []modelObject{m}})
		return
	}
	writeJSON(w, m)
}

type modelObject struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`

	// Not OpenAI's.
	Root       string     `json:"root"` // the name of the model
	Translates bool       `json:"translates"`
	Languages  []language `json:"languages"`
}

type modelList struct {
	Object string        `json:"object"`
	Data   []modelObject `json:"data"`
}

// openAINames are OpenAI's models for transcription, of which there are also dated editions.
var openAINames = []string{
	"whisper-1", "gpt-transcribe", "gpt-live-transcribe", "gpt-realtime-whisper",
	"gpt-4o-transcribe", "gpt-4o-mini-transcribe", diarizingModel,
}

// diarizingModel makes a session identify speakers. In a form, the format or the field speakers does.
const diarizingModel = "gpt-4o-transcribe-diarize"

// isOpenAIName reports whether a name is one of OpenAI's transcription models, or a dated edition of one.
func isOpenAIName(model string) bool {
	return slices.ContainsFunc(openAINames, func(name string) bool {
		rest, ok := strings.CutPrefix(model, name)
		return ok && (rest == "" || strings.HasPrefix(rest, "-20"))
	})
}

// isConversational reports whether a name is one of OpenAI's models for spoken conversations, with which clients open
// a session whose input is to be transcribed.
func isConversational(model string) bool {
	return !isOpenAIName(model) && (strings.HasPrefix(model, "gpt-realtime") || strings.HasPrefix(model, "gpt-audio") ||
		strings.HasPrefix(model, "gpt-4o") && strings.Contains(model, "-realtime"))
}

// A language is one that a model knows.
type language struct {
	Code string `json:"code"`
	Name string `json:"name"`
}

func languages(m *transcribe.Model) (list []language) {
	for _, l := range m.Tokenizer.Languages() {
		list = append(list, language{l.Code, l.Name})
	}
	if len(list) == 0 || !m.Generation.Multilingual {
		return []language{{"en", "English"}}
	}
	return list
}

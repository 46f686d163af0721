package serve

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"verity/internal/option"
	"verity/internal/show"
	"verity/transcribe"
)

// A Source is a further model of a server, loaded when a request first names it. It stays loaded.
type Source struct {
	Name string
	Load func(context.Context) (*transcribe.Model, error)
}

// A modelPool holds the models of a server, the default first.
type modelPool struct {
	server *Server
	slots  []*modelSlot
}

// A modelSlot is a model of the pool, loaded or not.
type modelSlot struct {
	Source
	server  *Server
	loading sync.Mutex // held while the model is loaded
	loaded  atomic.Pointer[transcribe.Model]
}

func newModelPool(s *Server, first *transcribe.Model) *modelPool {
	p := &modelPool{server: s}
	for _, source := range append([]Source{{Name: s.opt.Name}}, s.opt.More...) {
		p.slots = append(p.slots, &modelSlot{Source: source, server: s})
	}
	p.slots[0].setLoaded(first)
	return p
}

// check refuses models that no request could use.
func (p *modelPool) check() error {
	for _, m := range p.slots {
		if p.find(m.Name) != m {
			return option.New("More", nil, fmt.Sprintf(
				"got two models that requests would call %q, want a name for each: rename one", m.Name))
		}
	}
	return nil
}

// setLoaded records that the model has been loaded.
func (m *modelSlot) setLoaded(model *transcribe.Model) {
	model.Batch.OnPass(func(sequences, _ int) { m.server.metrics.batch.Observe(float64(sequences)) })
	m.loaded.Store(model)
}

// languages returns those of the model; none before it is loaded.
func (m *modelSlot) languages() []language {
	if model := m.loaded.Load(); model != nil {
		return languages(model)
	}
	return nil
}

// find returns the model with a name that a request gives; nil if there is none. A single model answers to any name;
// the first of several also to published spellings of its name, OpenAI's model names, and an empty name.
func (p *modelPool) find(name string) *modelSlot {
	first, plain := p.slots[0], canonicalName(name)
	for _, m := range p.slots[1:] {
		if plain == canonicalName(m.Name) && name != first.Name {
			return m
		}
	}
	if len(p.slots) == 1 || name == "" || plain == canonicalName(first.Name) || isOpenAIName(name) {
		return first
	}
	return nil
}

// model returns the model, after loading it if need be. If that fails, the next request tries again.
func (m *modelSlot) model(ctx context.Context) (*transcribe.Model, error) {
	m.loading.Lock()
	defer m.loading.Unlock()
	if model := m.loaded.Load(); model != nil {
		return model, nil
	}
	began, log := time.Now(), m.server.opt.Log
	model, err := m.Load(context.WithoutCancel(ctx)) // others may wait for it
	if err != nil {
		log.Error("a model cannot be loaded", "model", m.Name, "error", err)
		return nil, serverError(http.StatusServiceUnavailable,
			"The model %q cannot be loaded. The server's log has the reason.", m.Name)
	}
	log.Info("a model is loaded", "model", m.Name, "took", time.Since(began))
	m.setLoaded(model)
	return model, nil
}

// notFound returns the problem with a name that no model has.
func (p *modelPool) notFound(name string) *problem {
	var names []string
	for _, m := range p.slots {
		names = append(names, fmt.Sprintf("%q", m.Name))
	}
	return clientError(http.StatusNotFound, "model", "model_not_found",
		"The model %.80q does not exist here: use %s, or leave it out.",
		name, show.JoinOr(append(names, "whisper-1")))
}

// handle lists the models, or describes the one that the path names.
func (p *modelPool) handle(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	switch m := p.find(id); {
	case id == "":
		writeJSON(w, p.listing())
	case m == nil:
		writeProblem(w, p.notFound(id))
	default:
		writeJSON(w, p.describe(id, m))
	}
}

// listing describes all models.
func (p *modelPool) listing() modelList {
	all := modelList{Object: "list"}
	for _, m := range p.slots {
		all.Data = append(all.Data, p.describe(m.Name, m))
	}
	return all
}

// describe describes m under an id.
func (p *modelPool) describe(id string, m *modelSlot) modelObject {
	known := m.languages()
	return modelObject{
		ID: id, Root: m.Name, Object: "model", Created: p.server.created.Unix(), OwnedBy: "verity",
		Loaded: known != nil, Translates: len(known) > 1, Languages: known,
	}
}

type modelObject struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`

	// Not OpenAI's. The fields after Loaded are empty until the model is first loaded.
	Root       string     `json:"root"` // the name of the model
	Loaded     bool       `json:"loaded"`
	Translates bool       `json:"translates"`
	Languages  []language `json:"languages,omitzero"`
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

// canonicalName returns small for openai/whisper-small, Systran/faster-whisper-small, ggml-small.bin and small.pt.
// large and turbo become the models that they stand for.
func canonicalName(model string) string {
	name := strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	for _, affix := range []string{"faster-", "ggml-", "whisper-"} {
		name = strings.TrimPrefix(name, affix)
	}
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".bin"), ".pt")
	switch name {
	case "large":
		return "large-v3"
	case "turbo":
		return "large-v3-turbo"
	}
	return name
}

// A language is one that a model knows.
type language struct {
	Code string `json:"code"`
	Name string `json:"name"`
}

func languages(m *transcribe.Model) []language {
	list := []language{}
	for _, l := range m.Tokenizer.Languages() {
		list = append(list, language{l.Code, l.Name})
	}
	if len(list) == 0 || !m.Generation.Multilingual {
		return []language{{"en", "English"}}
	}
	return list
}

package serve

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"verity/internal/option"
	"verity/internal/show"
	"verity/transcribe"
)

// A Source is a further model of a server, loaded when a request first names it.
type Source struct {
	Name  string
	Bytes int64 // approximate memory of the loaded model
	Load  func(context.Context) (m *transcribe.Model, unload func(), err error)
}

// A modelPool holds the models of a server. The first stays loaded; others are loaded on demand, and unloaded when they
// have not been used for some time or when another needs their memory.
type modelPool struct {
	server   *Server
	idleTime time.Duration
	slots    []*modelSlot

	mu sync.Mutex // guards the slots
}

// A modelSlot is a model of the pool, loaded or not.
type modelSlot struct {
	Source
	pool *modelPool

	// The pool's mutex guards these fields.
	loading   chan struct{}     // closed when loading has ended; nil otherwise
	model     *transcribe.Model // nil while it is not loaded
	unload    func()
	users     int
	lastUsed  time.Time
	expiry    *time.Timer
	languages []language // of the model; kept after unloading
}

// defaultIdleTime is how long an unused model stays loaded.
const defaultIdleTime = 15 * time.Minute

func newModelPool(s *Server, first *transcribe.Model) *modelPool {
	p := &modelPool{server: s, idleTime: defaultIdleTime}
	for _, source := range append([]Source{{Name: s.opt.Name}}, s.opt.More...) {
		p.slots = append(p.slots, &modelSlot{Source: source, pool: p})
	}
	p.setLoaded(p.slots[0], first, nil)
	return p
}

// check refuses models that no request could use.
func (p *modelPool) check() error {
	limit := p.server.opt.MaxMemory
	for _, m := range p.slots {
		switch {
		case p.find(m.Name) != m:
			return option.New("More", nil, fmt.Sprintf(
				"got two models that requests would call %q, want a name for each: rename one", m.Name))
		case limit > 0 && m.Bytes > limit:
			return option.New("MaxMemory", nil, fmt.Sprintf(
				"got %d MiB, want at least %d, for the weights of %s", limit>>20, (m.Bytes+1<<20-1)>>20, m.Name))
		}
	}
	return nil
}

// setLoaded records that a model has been loaded.
func (p *modelPool) setLoaded(m *modelSlot, model *transcribe.Model, unload func()) {
	m.model, m.unload, m.languages = model, unload, languages(model)
	model.Batch.OnPass(func(sequences, _ int) { p.server.metrics.batch.Observe(float64(sequences)) })
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

// acquire returns a model, loading it if need be. It stays loaded until release.
func (p *modelPool) acquire(ctx context.Context, m *modelSlot) (model *transcribe.Model, release func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for m.model == nil {
		if err := p.load(ctx, m); err != nil {
			return nil, nil, err
		}
	}
	m.users++
	return m.model, sync.OnceFunc(func() { p.release(m) }), nil
}

// load loads a model, or waits while another request loads it. It unlocks p meanwhile.
func (p *modelPool) load(ctx context.Context, m *modelSlot) error {
	if wait := m.loading; wait != nil {
		p.mu.Unlock()
		defer p.mu.Lock()
		select {
		case <-wait:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if !p.makeRoom(m.Bytes) {
		return rateLimited("model_busy",
			"There is no memory for the model %q while others are used: try again later.", m.Name)
	}
	began := time.Now()
	model, unload, err := p.callLoad(ctx, m)
	if err != nil {
		p.server.opt.Log.Error("a model cannot be loaded", "model", m.Name, "error", err)
		return serverError(http.StatusServiceUnavailable,
			"The model %q cannot be loaded. The server's log has the reason.", m.Name)
	}
	p.server.opt.Log.Info("a model is loaded", "model", m.Name, "took", time.Since(began))
	p.setLoaded(m, model, unload)
	return nil
}

// callLoad calls m.Load with p unlocked. If that fails, the next request that waits for the model tries again.
func (p *modelPool) callLoad(ctx context.Context, m *modelSlot) (model *transcribe.Model, unload func(), err error) {
	m.loading = make(chan struct{})
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		close(m.loading)
		m.loading = nil
	}()
	return m.Load(context.WithoutCancel(ctx)) // others may wait for it
}

// release records that a request no longer uses a model.
func (p *modelPool) release(m *modelSlot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m.lastUsed = time.Now()
	if m.users--; m.users > 0 || m.unload == nil {
		return
	}
	if m.expiry != nil {
		m.expiry.Stop()
	}
	m.expiry = time.AfterFunc(p.idleTime, p.server.safely(m.Name, func(error) {}, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if m.model != nil && m.users == 0 && time.Since(m.lastUsed) >= p.idleTime {
			p.unload(m)
		}
	}))
}

// makeRoom reports whether there is memory for bytes more. It unloads unused models, the least recently used first.
func (p *modelPool) makeRoom(bytes int64) bool {
	limit := p.server.opt.MaxMemory
	if limit == 0 {
		return true
	}
	var unused []*modelSlot
	for _, m := range p.slots[1:] {
		if m.model == nil && m.loading == nil {
			continue
		}
		bytes += m.Bytes
		if m.model != nil && m.users == 0 {
			unused = append(unused, m)
		}
	}
	slices.SortFunc(unused, func(a, b *modelSlot) int { return a.lastUsed.Compare(b.lastUsed) })
	for _, m := range unused {
		if bytes <= limit {
			break
		}
		p.unload(m)
		bytes -= m.Bytes
	}
	return bytes <= limit
}

func (p *modelPool) unload(m *modelSlot) {
	m.unload()
	m.model, m.unload = nil, nil // the function refers to the weights, too
	runtime.GC()                 // what lies in a sync.Pool, or has a finalizer, is freed by the second collection
	debug.FreeOSMemory()
	p.server.opt.Log.Info("a model is unloaded", "model", m.Name)
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
		p.mu.Lock()
		object := p.describe(id, m)
		p.mu.Unlock() // a slow client must not hold the lock
		writeJSON(w, object)
	}
}

// listing describes all models.
func (p *modelPool) listing() modelList {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := modelList{Object: "list"}
	for _, m := range p.slots {
		all.Data = append(all.Data, p.describe(m.Name, m))
	}
	return all
}

// describe describes m under an id. The caller holds the lock.
func (p *modelPool) describe(id string, m *modelSlot) modelObject {
	return modelObject{
		ID: id, Root: m.Name, Object: "model", Created: p.server.created.Unix(), OwnedBy: "verity",
		Loaded: m.model != nil, Translates: len(m.languages) > 1, Languages: m.languages,
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

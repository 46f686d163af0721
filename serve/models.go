package serve

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"verity/internal/show"
	"verity/transcribe"
)

// A Source is a further model of a server. It is loaded when a request first names it.
type Source struct {
	Name  string
	Bytes int64 // of memory that it takes, about
	Load  func(context.Context) (m *transcribe.Model, unload func(), err error)
}

// models are those of a server: the first is loaded always, others while they are used
// and for some time after that.
type modelPool struct {
	server   *Server
	idleTime time.Duration
	slots    []*modelSlot // all there will be

	mu sync.Mutex // guards what is in the list
}

// A held model is one of a server.
type modelSlot struct {
	Source
	models *modelPool

	// The fields below are guarded by mu of models.
	model     *transcribe.Model // nil while it is not loaded
	unload    func()
	loading   chan struct{} // closed when loading has ended; nil otherwise
	users     int
	lastUsed  time.Time
	expiry    *time.Timer
	languages []language // of when it was last loaded
	assisted  bool
}

// idleModel is how long a model stays that nobody uses.
const defaultIdleTime = 15 * time.Minute

func newModelPool(s *Server, first *transcribe.Model) *modelPool {
	m := &modelPool{server: s, idleTime: defaultIdleTime}
	h := &modelSlot{Source: Source{Name: s.opt.Name}, models: m}
	m.setLoaded(h, first, nil)
	m.slots = []*modelSlot{h}
	for _, more := range s.opt.More {
		m.slots = append(m.slots, &modelSlot{Source: more, models: m})
	}
	return m
}

// check refuses models that no request could ever have.
func (m *modelPool) check() error {
	for _, h := range m.slots {
		most := m.server.opt.MaxMemory
		switch {
		case m.find(h.Name) != h:
			return fmt.Errorf("--model: got two models that requests would call %q, want a name for each: rename one", h.Name)
		case most > 0 && h.Bytes > most:
			return fmt.Errorf("--model-memory: got %d MiB, want at least %d, for the weights of %s", most>>20, (h.Bytes+1<<20-1)>>20, h.Name)
		}
	}
	return nil
}

// keep records that a model has been loaded.
func (m *modelPool) setLoaded(h *modelSlot, model *transcribe.Model, unload func()) {
	h.model, h.unload, h.languages, h.assisted = model, unload, languages(model), model.Assisted()
	model.Batch.OnPass(func(sequences, _ int) { m.server.metrics.batch.Observe(float64(sequences)) })
}

// find returns the model that a request may call by a name; nil if there is none. The first
// has its own in any of the forms in which models of Whisper are published, those of OpenAI's
// hosted models, which clients send by default, aliases, and none.
func (m *modelPool) find(name string) *modelSlot {
	first := m.slots[0]
	for _, h := range m.slots[1:] { // before the aliases of the first, of which one may be any name
		if canonicalName(name) == canonicalName(h.Name) && name != first.Name {
			return h
		}
	}
	aliases := m.server.opt.Aliases
	if name == "" || canonicalName(name) == canonicalName(first.Name) || isOpenAIName(name) || slices.Contains(aliases, name) || slices.Contains(aliases, "*") {
		return first
	}
	return nil
}

// take returns a model, which it loads if need be, and keeps it loaded until release.
func (m *modelPool) acquire(ctx context.Context, h *modelSlot) (model *transcribe.Model, release func(), err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for h.model == nil {
		if err := m.load(ctx, h); err != nil {
			return nil, nil, err
		}
	}
	h.users++
	return h.model, sync.OnceFunc(func() { m.release(h) }), nil
}

// load loads a model, or waits for who does. It unlocks m meanwhile.
func (m *modelPool) load(ctx context.Context, h *modelSlot) error {
	if wait := h.loading; wait != nil {
		m.mu.Unlock()
		defer m.mu.Lock()
		select {
		case <-wait:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if !m.makeRoom(h.Bytes) {
		return rateLimited("model_busy", 10*time.Second, "There is no memory for the model %q while others are used: try again later.", h.Name)
	}
	began := time.Now()
	model, unload, err := m.callLoad(ctx, h)
	if err != nil {
		m.server.opt.Log.Error("a model cannot be loaded", "model", h.Name, "error", err)
		return serverError(http.StatusServiceUnavailable, "The model %q cannot be loaded. The server's log has the reason.", h.Name)
	}
	m.server.opt.Log.Info("a model is loaded", "model", h.Name, "took", time.Since(began))
	m.setLoaded(h, model, unload)
	return nil
}

// call calls Load of h, with m unlocked. A panic of it goes on to who asked for the model: others
// that wait for it try for themselves.
func (m *modelPool) callLoad(ctx context.Context, h *modelSlot) (model *transcribe.Model, unload func(), err error) {
	h.loading = make(chan struct{})
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		close(h.loading)
		h.loading = nil
	}()
	return h.Load(context.WithoutCancel(ctx)) // others may wait for it
}

// release records that somebody needs a model no more.
func (m *modelPool) release(h *modelSlot) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h.lastUsed = time.Now()
	if h.users--; h.users > 0 || h.unload == nil {
		return
	}
	if h.expiry != nil {
		h.expiry.Stop()
	}
	h.expiry = time.AfterFunc(m.idleTime, m.server.safely(h.Name, func(error) {}, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if h.model != nil && h.users == 0 && time.Since(h.lastUsed) >= m.idleTime {
			m.unload(h)
		}
	}))
}

// room reports whether there is memory for so many bytes more. It drops models that
// nobody uses, those first that were used longest ago.
func (m *modelPool) makeRoom(bytes int64) bool {
	most := m.server.opt.MaxMemory
	if most == 0 {
		return true
	}
	var unused []*modelSlot
	for _, h := range m.slots[1:] {
		if h.model == nil && h.loading == nil {
			continue
		}
		bytes += h.Bytes
		if h.model != nil && h.users == 0 {
			unused = append(unused, h)
		}
	}
	slices.SortFunc(unused, func(a, b *modelSlot) int { return a.lastUsed.Compare(b.lastUsed) }) // by the clock that is never set
	for _, h := range unused {
		if bytes <= most {
			break
		}
		m.unload(h)
		bytes -= h.Bytes
	}
	return bytes <= most
}

// drop unloads a model.
func (m *modelPool) unload(h *modelSlot) {
	h.unload()
	h.model = nil
	debug.FreeOSMemory()
	m.server.opt.Log.Info("a model is unloaded", "model", h.Name)
}

// loaded is how many models are.
func (m *modelPool) loaded() (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, h := range m.slots {
		if h.model != nil {
			n++
		}
	}
	return n
}

// unknown is the problem with a name that no model has.
func (m *modelPool) notFound(name string) *problem {
	var names []string
	for _, h := range m.slots {
		names = append(names, fmt.Sprintf("%q", h.Name))
	}
	return clientError(http.StatusNotFound, "model", "model_not_found", "The model %.80q does not exist here: use %s, or leave it out.",
		name, show.JoinOr(append(names, "whisper-1")))
}

// serve lists the models, or describes the one that is named.
func (m *modelPool) handle(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	switch h := m.find(id); {
	case id == "":
		writeJSON(w, m.listing())
	case h == nil:
		writeProblem(w, m.notFound(id))
	default:
		m.mu.Lock()
		object := m.describe(id, h)
		m.mu.Unlock() // before the client has to read
		writeJSON(w, object)
	}
}

// objects lists the models by their names, and the first by its aliases.
func (m *modelPool) listing() modelList {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := modelList{Object: "list"}
	for _, h := range m.slots {
		all.Data = append(all.Data, m.describe(h.Name, h))
	}
	for _, alias := range m.server.opt.Aliases {
		if alias != "*" {
			all.Data = append(all.Data, m.describe(alias, m.slots[0]))
		}
	}
	return all
}

// object describes h, with m locked.
func (m *modelPool) describe(id string, h *modelSlot) modelObject {
	return modelObject{ID: id, Root: h.Name, Object: "model", Created: m.server.created.Unix(), OwnedBy: "verity", Loaded: h.model != nil,
		Assisted: h.assisted, Translates: len(h.languages) > 1, Languages: h.languages}
}

type modelObject struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`

	// Not OpenAI's. What follows Loaded is known once a model has been loaded.
	Root       string     `json:"root"` // of an alias, what it stands for
	Loaded     bool       `json:"loaded"`
	Assisted   bool       `json:"assisted"` // whether drafts can be marked
	Translates bool       `json:"translates"`
	Languages  []language `json:"languages,omitzero"`
}

type modelList struct {
	Object string        `json:"object"`
	Data   []modelObject `json:"data"`
}

// hosted reports whether a name is one of OpenAI's models of transcription, or a dated
// edition of one.
func isOpenAIName(model string) bool {
	for _, name := range []string{"whisper-1", "gpt-4o-transcribe", "gpt-4o-mini-transcribe"} {
		if rest, ok := strings.CutPrefix(model, name); ok && (rest == "" || strings.HasPrefix(rest, "-20")) {
			return true
		}
	}
	return false
}

// plainName returns small of openai/whisper-small, Systran/faster-whisper-small,
// ggml-small.bin and small.pt; large and turbo are the models that they stand for.
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

// A language is one that the model knows.
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

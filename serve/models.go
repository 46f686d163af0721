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
type models struct {
	server *Server
	idle   time.Duration
	list   []*held // all there will be

	mu sync.Mutex // guards what is in the list
}

// A held model is one of a server.
type held struct {
	Source
	models *models

	// The fields below are guarded by mu of models.
	model     *transcribe.Model // nil while it is not loaded
	unload    func()
	loading   chan struct{} // closed when loading has ended; nil otherwise
	users     int
	used      time.Time
	forget    *time.Timer
	languages []language // of when it was last loaded
	assisted  bool
}

// idleModel is how long a model stays that nobody uses.
const idleModel = 15 * time.Minute

func newModels(s *Server, first *transcribe.Model) *models {
	m := &models{server: s, idle: idleModel}
	h := &held{Source: Source{Name: s.opt.Name}, models: m}
	m.keep(h, first, nil)
	m.list = []*held{h}
	for _, more := range s.opt.More {
		m.list = append(m.list, &held{Source: more, models: m})
	}
	return m
}

// check refuses models that no request could ever have.
func (m *models) check() error {
	for _, h := range m.list {
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
func (m *models) keep(h *held, model *transcribe.Model, unload func()) {
	h.model, h.unload, h.languages, h.assisted = model, unload, languagesOf(model), model.Assisted()
	model.Batch.OnPass(func(sequences, _ int) { m.server.metrics.batch.Observe(float64(sequences)) })
}

// find returns the model that a request may call by a name; nil if there is none. The first
// has its own in any of the forms in which models of Whisper are published, those of OpenAI's
// hosted models, which clients send by default, aliases, and none.
func (m *models) find(name string) *held {
	first := m.list[0]
	for _, h := range m.list[1:] { // before the aliases of the first, of which one may be any name
		if plainName(name) == plainName(h.Name) && name != first.Name {
			return h
		}
	}
	aliases := m.server.opt.Aliases
	if name == "" || plainName(name) == plainName(first.Name) || hosted(name) || slices.Contains(aliases, name) || slices.Contains(aliases, "*") {
		return first
	}
	return nil
}

// take returns a model, which it loads if need be, and keeps it loaded until release.
func (m *models) take(ctx context.Context, h *held) (model *transcribe.Model, release func(), err error) {
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
func (m *models) load(ctx context.Context, h *held) error {
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
	if !m.room(h.Bytes) {
		return full("model_busy", 10*time.Second, "There is no memory for the model %q while others are used: try again later.", h.Name)
	}
	began := time.Now()
	model, unload, err := m.call(ctx, h)
	if err != nil {
		m.server.opt.Log.Error("a model cannot be loaded", "model", h.Name, "error", err)
		return failed(http.StatusServiceUnavailable, "The model %q cannot be loaded. The server's log has the reason.", h.Name)
	}
	m.server.opt.Log.Info("a model is loaded", "model", h.Name, "took", time.Since(began))
	m.keep(h, model, unload)
	return nil
}

// call calls Load of h, with m unlocked. A panic of it goes on to who asked for the model: others
// that wait for it try for themselves.
func (m *models) call(ctx context.Context, h *held) (model *transcribe.Model, unload func(), err error) {
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
func (m *models) release(h *held) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h.used = time.Now()
	if h.users--; h.users > 0 || h.unload == nil {
		return
	}
	if h.forget != nil {
		h.forget.Stop()
	}
	h.forget = time.AfterFunc(m.idle, m.server.safely(h.Name, func(error) {}, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if h.model != nil && h.users == 0 && time.Since(h.used) >= m.idle {
			m.drop(h)
		}
	}))
}

// room reports whether there is memory for so many bytes more. It drops models that
// nobody uses, those first that were used longest ago.
func (m *models) room(bytes int64) bool {
	most := m.server.opt.MaxMemory
	if most == 0 {
		return true
	}
	var unused []*held
	for _, h := range m.list[1:] {
		if h.model == nil && h.loading == nil {
			continue
		}
		bytes += h.Bytes
		if h.model != nil && h.users == 0 {
			unused = append(unused, h)
		}
	}
	slices.SortFunc(unused, func(a, b *held) int { return a.used.Compare(b.used) }) // by the clock that is never set
	for _, h := range unused {
		if bytes <= most {
			break
		}
		m.drop(h)
		bytes -= h.Bytes
	}
	return bytes <= most
}

// drop unloads a model.
func (m *models) drop(h *held) {
	h.unload()
	h.model = nil
	debug.FreeOSMemory()
	m.server.opt.Log.Info("a model is unloaded", "model", h.Name)
}

// loaded is how many models are.
func (m *models) loaded() (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, h := range m.list {
		if h.model != nil {
			n++
		}
	}
	return n
}

// unknown is the problem with a name that no model has.
func (m *models) unknown(name string) *problem {
	var names []string
	for _, h := range m.list {
		names = append(names, fmt.Sprintf("%q", h.Name))
	}
	return wrong(http.StatusNotFound, "model", "model_not_found", "The model %.80q does not exist here: use %s, or leave it out.",
		name, show.JoinOr(append(names, "whisper-1")))
}

// serve lists the models, or describes the one that is named.
func (m *models) serve(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	switch h := m.find(id); {
	case id == "":
		writeJSON(w, m.objects())
	case h == nil:
		writeProblem(w, m.unknown(id))
	default:
		m.mu.Lock()
		object := m.object(id, h)
		m.mu.Unlock() // before the client has to read
		writeJSON(w, object)
	}
}

// objects lists the models by their names, and the first by its aliases.
func (m *models) objects() modelList {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := modelList{Object: "list"}
	for _, h := range m.list {
		all.Data = append(all.Data, m.object(h.Name, h))
	}
	for _, alias := range m.server.opt.Aliases {
		if alias != "*" {
			all.Data = append(all.Data, m.object(alias, m.list[0]))
		}
	}
	return all
}

// object describes h, with m locked.
func (m *models) object(id string, h *held) modelObject {
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
func hosted(model string) bool {
	for _, name := range []string{"whisper-1", "gpt-4o-transcribe", "gpt-4o-mini-transcribe"} {
		if rest, ok := strings.CutPrefix(model, name); ok && (rest == "" || strings.HasPrefix(rest, "-20")) {
			return true
		}
	}
	return false
}

// plainName returns small of openai/whisper-small, Systran/faster-whisper-small,
// ggml-small.bin and small.pt; large and turbo are the models that they stand for.
func plainName(model string) string {
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

func languagesOf(m *transcribe.Model) []language {
	list := []language{}
	for _, l := range m.Tokenizer.Languages() {
		list = append(list, language{l.Code, l.Name})
	}
	if len(list) == 0 || !m.Generation.Multilingual {
		return []language{{"en", "English"}}
	}
	return list
}

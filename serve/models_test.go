package serve

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	"verity/model"
	"verity/model/digits"
	"verity/transcribe"
)

// sources are further models: two copies of the demo model, and a broken one.
type sources struct{ loads, unloads atomic.Int32 }

func (s *sources) list() (list []Source) {
	load := func(ctx context.Context) (*transcribe.Model, func(), error) {
		s.loads.Add(1)
		time.Sleep(20 * time.Millisecond)
		c, err := model.OpenFS(digits.Target(), "more")
		if err != nil {
			return nil, nil, err
		}
		m, err := transcribe.Load(ctx, c, transcribe.LoadOptions{Threads: 1})
		return m, func() { s.unloads.Add(1); m.Close(); c.Close() }, err
	}
	return []Source{{"whisper-second", 10, load}, {"third", 10, load},
		{"broken", 1, func(context.Context) (*transcribe.Model, func(), error) {
			return nil, nil, errors.New("broken")
		}}}
}

// listed returns which models are loaded.
func listed(t *testing.T, s *Server) (loaded string) {
	t.Helper()
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/v1/models", nil))
	var all modelList
	if err := json.Unmarshal(w.Body.Bytes(), &all); err != nil || len(all.Data) != 4 {
		t.Fatalf("%v: %s", err, w.Body)
	}
	for _, m := range all.Data {
		if m.Loaded {
			loaded += m.ID + " "
		}
	}
	return strings.TrimSpace(loaded)
}

// TestModelConflicts: a model that no request could use is refused at the start.
func TestModelConflicts(t *testing.T) {
	_, s := newServer(t, Options{})
	for want, o := range map[string]Options{
		`two models that requests would call "whisper-base"`: {
			Name: "whisper-base", More: []Source{{"whisper-base", 1, nil}},
		},
		`two models that requests would call "large-v3"`: {
			Name: "base", More: []Source{{"large", 1, nil}, {"large-v3", 1, nil}},
		},
		`got 3 MiB, want at least 4, for the weights of big`: {
			Name: "base", More: []Source{{"big", 3<<20 + 1, nil}}, MaxMemory: 3 << 20,
		},
		"": {Name: "whisper-base", More: []Source{{"faster-whisper-base", 3 << 20, nil}}, MaxMemory: 3 << 20},
	} {
		_, err := New(s.models.slots[0].model, o)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// useModel returns a session.update that sets the model.
func useModel(name string) string {
	return `{"type":"session.update","session":{"audio":{"input":{"transcription":{"model":"` + name + `"}}}}}`
}

// TestModels: the first request for a model loads it. It stays loaded while it is used. Then it makes room for
// another, or is unloaded after some time.
func TestModels(t *testing.T) {
	var more sources
	h, s := newServer(t, Options{More: more.list(), MaxMemory: 15, Turns: 8})
	defer func() { // unload the rest
		for _, h := range s.models.slots[1:] {
			if h.expiry != nil {
				h.expiry.Stop()
			}
			if h.model != nil {
				h.unload()
			}
		}
	}()
	ask := func(model string, status int, param, problem string) {
		t.Helper()
		r, body := post(t, h.URL+transcriptions, wav(t), field{"model", model})
		if status != 200 {
			checkProblem(t, r, body, status, param, problem)
		} else if r.StatusCode != 200 || !strings.Contains(body, strings.TrimSpace(want().Text)) {
			t.Errorf("%s: %s %s", model, r.Status, body)
		}
	}
	see := func(loads int32, loaded string) {
		t.Helper()
		if got := listed(t, s); got != loaded || more.loads.Load() != loads {
			t.Errorf("loaded %q after %d loads, want %q after %d", got, more.loads.Load(), loaded, loads)
		}
	}
	see(0, "whisper")
	ask("", 200, "", "")
	ask("whisper-1", 200, "", "")
	see(0, "whisper")
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() { ask("second", 200, "", "") })
	}
	all.Wait()
	see(1, "whisper whisper-second")
	ask("third", 200, "", "")
	see(2, "whisper third")
	ask("nothing", 404, "model", `use "whisper", "whisper-second", "third", "broken" or whisper-1`)
	ask("broken", 503, "", `The model "broken" cannot be loaded`)

	c := call(t, h, "?model=third", nil)
	c.until("session.created")
	ask("second", 429, "", `no memory for the model "whisper-second"`)
	c.send(useModel("whisper-second"))
	if e := c.until("error"); !strings.Contains(e.Error.Message, "no memory") {
		t.Errorf("got %+v, want an error about memory", e)
	}
	c.send(useModel("whisper-1"))
	c.until("session.updated")
	c.conn.CloseNow()
	settle(t, s)
	for free := false; !free; { // a session is no longer counted when it releases its models
		s.models.mu.Lock()
		free = s.models.slots[2].users == 0
		s.models.mu.Unlock()
	}
	ask("second", 200, "", "")
	see(3, "whisper whisper-second")

	s.models.idleTime = 10 * time.Millisecond
	ask("whisper-second", 200, "", "")
	for more.unloads.Load() < 3 {
		time.Sleep(time.Millisecond)
	}
	see(3, "whisper")
}

// TestUnloadedMemory: nothing refers to a model that has been unloaded.
func TestUnloadedMemory(t *testing.T) {
	var loaded weak.Pointer[transcribe.Model]
	var more sources
	source := more.list()[0]
	load := source.Load
	source.Load = func(ctx context.Context) (*transcribe.Model, func(), error) {
		m, unload, err := load(ctx)
		loaded = weak.Make(m)
		return m, func() { unload(); runtime.KeepAlive(m) }, err // refers to the model, as m.Close would
	}
	h, s := newServer(t, Options{More: []Source{source}})
	if r, body := post(t, h.URL+transcriptions, wav(t), field{"model", "second"}); r.StatusCode != 200 {
		t.Fatalf("%s %s", r.Status, body)
	}
	settleModels(s)
	if s.models.mu.Lock(); loaded.Value() == nil {
		t.Error("the model is not loaded")
	}
	s.models.slots[1].expiry.Stop()
	s.models.unload(s.models.slots[1])
	s.models.mu.Unlock()
	for i := 0; loaded.Value() != nil; i++ {
		if i == 100 {
			t.Fatal("the unloaded model is still in memory")
		}
		time.Sleep(time.Millisecond) // goroutines of the request may still end
		runtime.GC()
	}
}

// settleModels waits until no request uses a model.
func settleModels(s *Server) {
	for used := true; used; {
		s.models.mu.Lock()
		used = slices.ContainsFunc(s.models.slots, func(m *modelSlot) bool { return m.users > 0 })
		s.models.mu.Unlock()
	}
}

// TestPanicOfLoad: a panic while a model is loaded fails the requests for that model, not the server.
func TestPanicOfLoad(t *testing.T) {
	h, s := newServer(t, Options{More: []Source{{"bad", 1, func(context.Context) (*transcribe.Model, func(), error) {
		time.Sleep(20 * time.Millisecond)
		panic("bad weights")
	}}}})
	var all sync.WaitGroup
	for range 3 { // one loads, others wait for it
		all.Go(func() {
			r, body := post(t, h.URL+transcriptions, wav(t), field{"model", "bad"})
			if r.StatusCode != http.StatusInternalServerError {
				t.Errorf("%s %s", r.Status, body)
			}
		})
	}
	all.Wait()
	if r, body := post(t, h.URL+transcriptions, wav(t)); r.StatusCode != http.StatusOK {
		t.Errorf("afterwards: %s %s", r.Status, body)
	}
	if s.models.slots[1].model != nil {
		t.Error("the model is loaded")
	}
}

// TestSlowModel: a session can end while its update loads a model.
func TestSlowModel(t *testing.T) {
	loading, proceed := make(chan struct{}), make(chan struct{})
	h, s := newServer(t, Options{More: []Source{{"slow", 1, func(context.Context) (*transcribe.Model, func(), error) {
		close(loading)
		<-proceed
		return nil, nil, errors.New("too late")
	}}}})
	c := call(t, h, "", nil)
	c.until("session.created")
	c.send(useModel("slow"))
	<-loading
	s.Drain()
	if e := c.until("error"); !strings.Contains(e.Error.Message, "shutting down") {
		t.Errorf("the session ends with %+v", e)
	}
	close(proceed)
	settle(t, s)
}

package serve

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"verity/model"
	"verity/model/digits"
	"verity/transcribe"
)

// sources are further models: two copies of the demo model, and a broken one.
type sources struct {
	t     *testing.T
	loads atomic.Int32
}

func (s *sources) list() (list []Source) {
	load := func(ctx context.Context) (*transcribe.Model, error) {
		s.loads.Add(1)
		time.Sleep(20 * time.Millisecond)
		c, err := model.OpenFS(digits.Target(), "more")
		if err != nil {
			return nil, err
		}
		m, err := transcribe.Load(ctx, c, transcribe.LoadOptions{Threads: 1})
		s.t.Cleanup(func() { m.Close(); c.Close() })
		return m, err
	}
	return []Source{{"whisper-second", load}, {"third", load},
		{"broken", func(context.Context) (*transcribe.Model, error) { return nil, errors.New("broken") }}}
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
			Name: "whisper-base", More: []Source{{"whisper-base", nil}},
		},
		`two models that requests would call "large-v3"`: {
			Name: "base", More: []Source{{"large", nil}, {"large-v3", nil}},
		},
		"": {Name: "whisper-base", More: []Source{{"faster-whisper-base", nil}}},
	} {
		_, err := New(s.models.slots[0].loaded.Load(), o)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// useModel returns a session.update that sets the model.
func useModel(name string) string {
	return `{"type":"session.update","session":{"audio":{"input":{"transcription":{"model":"` + name + `"}}}}}`
}

// TestModels: the first request for a model loads it, and it stays loaded.
func TestModels(t *testing.T) {
	more := sources{t: t}
	h, s := newServer(t, Options{More: more.list(), Turns: 8})
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
	see(2, "whisper whisper-second third")
	ask("nothing", 404, "model", `use "whisper", "whisper-second", "third", "broken" or whisper-1`)
	ask("broken", 503, "", `The model "broken" cannot be loaded`)
	c := call(t, h, "?model=third", nil)
	c.until("session.created")
	c.send(useModel("broken"))
	if e := c.until("error"); !strings.Contains(e.Error.Message, "cannot be loaded") {
		t.Errorf("got %+v, want an error about the model", e)
	}
	c.send(useModel("whisper-second"))
	c.until("session.updated")
	c.conn.CloseNow()
	settle(t, s)
	see(2, "whisper whisper-second third")
}

// TestPanicOfLoad: a panic while a model is loaded fails the requests for that model, not the server.
func TestPanicOfLoad(t *testing.T) {
	h, s := newServer(t, Options{More: []Source{{"bad", func(context.Context) (*transcribe.Model, error) {
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
	if s.models.slots[1].loaded.Load() != nil {
		t.Error("the model is loaded")
	}
}

// TestSlowModel: a session can end while its update loads a model.
func TestSlowModel(t *testing.T) {
	loading, proceed := make(chan struct{}), make(chan struct{})
	h, s := newServer(t, Options{More: []Source{{"slow", func(context.Context) (*transcribe.Model, error) {
		close(loading)
		<-proceed
		return nil, errors.New("too late")
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

package serve

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"verity/assistant"
	"verity/model"
	"verity/model/digits"
	"verity/transcribe"
	"verity/transcript"
)

func constant() assistant.Policy { return assistant.Constant(4) }

// assistedServer is newServer with the assistant of the demo model.
func assistedServer(t *testing.T) *httptest.Server {
	t.Helper()
	target, err := model.OpenFS(digits.Target(), "demo")
	if err != nil {
		t.Fatal(err)
	}
	draft, err := model.OpenFS(digits.Assistant(), "assistant")
	if err != nil {
		t.Fatal(err)
	}
	m, err := transcribe.Load(t.Context(), target, transcribe.LoadOptions{
		Threads: 1, Assistant: transcribe.AssistantOptions{Checkpoint: draft},
		Policy: constant, // the automatic one depends on time, and may not draft at all
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(m, Options{})
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s)
	t.Cleanup(func() {
		h.Close()
		m.Close()
		draft.Close()
		target.Close()
	})
	return h
}

// TestAccepted: segments have their text in pieces, some of which were drafted. The text is that of plain decoding.
func TestAccepted(t *testing.T) {
	h := assistedServer(t)
	joined := func(pieces []transcript.TextRun) (text string, drafted bool) {
		for i, p := range pieces {
			if i > 0 && p.Accepted == pieces[i-1].Accepted {
				t.Errorf("pieces that should be one: %+v", pieces)
			}
			text, drafted = text+p.Text, drafted || p.Accepted
		}
		return text, drafted
	}
	_, body := post(t, h.URL+transcriptions, wav(t), field{"response_format", "verbose_json"},
		field{"include[]", withAccepted})
	var v verboseTranscript
	if err := json.Unmarshal([]byte(body), &v); err != nil || v.Text != strings.TrimSpace(want().Text) {
		t.Fatalf("%v: %s", err, body)
	}
	any := false
	for _, s := range v.Segments {
		text, drafted := joined(s.Runs)
		if any = any || drafted; text != s.Text {
			t.Errorf("got the pieces %q, want %q", text, s.Text)
		}
	}
	if !any {
		t.Error("no draft was accepted")
	}
	segments, done := 0, 0.0
	_, body = post(t, h.URL+transcriptions, wav(t), field{"stream", "true"}, field{"include[]", withAccepted},
		field{"include[]", withProgress}, field{"timestamp_granularities[]", "word"})
	for line := range strings.SplitSeq(body, "\n") {
		var e struct {
			Type, Text  string
			Pieces      []transcript.TextRun
			Words       []word
			Done, Total float64
		}
		data, _ := strings.CutPrefix(line, "data: ")
		if json.Unmarshal([]byte(data), &e) != nil {
			continue // an empty line, [DONE]
		}
		switch e.Type {
		case "verity.progress":
			if e.Done <= done || e.Done > e.Total || e.Total != want().Duration {
				t.Errorf("progress %v of %v after %v", e.Done, e.Total, done)
			}
			done = e.Done
		case "transcript.text.segment":
			segments++
			if text, _ := joined(e.Pieces); text != e.Text || len(e.Words) != len(strings.Fields(e.Text)) {
				t.Errorf("%q: pieces %+v, words %+v", e.Text, e.Pieces, e.Words)
			}
		}
	}
	if segments == 0 || done < want().Duration-0.01 { // progress counts frames of 10 ms
		t.Errorf("%d segments, progress to %v of %v", segments, done, want().Duration)
	}
}

// TestExtensionRefused: an extension that the server or the format does not have is an error.
func TestExtensionRefused(t *testing.T) {
	plain, _ := newServer(t, Options{})
	assisted := assistedServer(t)
	for _, tt := range []struct{ url, value, format, what string }{
		{plain.URL, withAccepted, "verbose_json", "without one"},
		{assisted.URL, withAccepted, "text", "verbose_json"},
		{assisted.URL, withProgress, "verbose_json", "stream=true"},
	} {
		r, body := post(t, tt.url+transcriptions, wav(t), field{"include[]", tt.value}, field{"response_format", tt.format})
		if r.StatusCode != 400 || !strings.Contains(body, tt.what) || !strings.Contains(body, `"param":"include[]"`) {
			t.Errorf("%+v: %s %s", tt, r.Status, body)
		}
	}
	for url, want := range map[string]string{plain.URL: `"assisted":false`, assisted.URL: `"assisted":true`} {
		r, err := plain.Client().Get(url + "/v1/models")
		if err != nil {
			t.Fatal(err)
		}
		var list json.RawMessage
		err = json.NewDecoder(r.Body).Decode(&list)
		r.Body.Close()
		if err != nil || !strings.Contains(string(list), want) {
			t.Errorf("%v: %s, want %s", err, list, want)
		}
	}
}

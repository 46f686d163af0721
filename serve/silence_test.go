package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"verity/audio"
	"verity/audio/vad"
	"verity/transcribe"
)

// TestVADFields: every spelling of the fields for voice activity detection has its effect.
func TestVADFields(t *testing.T) {
	m, serverVAD := loaded(t), &vad.Options{Threshold: 0.4, SpeechPadMS: -1, MinSilenceDurationMS: 700}
	for _, tt := range []struct {
		why    string
		server *vad.Options
		fields []field
		want   *vad.Options
		wrong  bool
	}{
		{"nothing", nil, nil, nil, false},
		{"the server's", serverVAD, nil, serverVAD, false},
		{"auto", nil, []field{{"chunking_strategy", "auto"}}, &vad.Options{}, false},
		{"auto is the server's", serverVAD, []field{{"chunking_strategy", "auto"}}, serverVAD, false},
		{"off", serverVAD, []field{{"vad_filter", "false"}}, nil, false},
		{"speaches", nil, []field{{"vad_filter", "True"}}, &vad.Options{}, false},
		{"JSON", nil, []field{
			{"chunking_strategy", `{"type":"server_vad","threshold":0.4,"prefix_padding_ms":0,"silence_duration_ms":700}`},
		}, serverVAD, false},
		{"brackets", nil, []field{{"chunking_strategy[type]", "server_vad"}, {"chunking_strategy[threshold]", "0.4"},
			{"chunking_strategy[prefix_padding_ms]", "0"}, {"chunking_strategy[silence_duration_ms]", "700"}}, serverVAD, false},
		{"dots", nil, []field{{"chunking_strategy.type", "auto"}, {"chunking_strategy.threshold", "0.3"}},
			&vad.Options{Threshold: 0.3}, false},
		{"within itself", nil, []field{{"chunking_strategy", `{"type":"auto","":{"type":"auto"}}`}}, nil, true},
		{"another kind", nil, []field{{"chunking_strategy", "semantic"}}, nil, true},
		{"no number", nil, []field{{"chunking_strategy[threshold]", "loud"}}, nil, true},
		{"days", nil, []field{{"chunking_strategy[silence_duration_ms]", "86400000"}}, nil, true},
	} {
		s := must(New(m, Options{Decoding: transcribe.Options{VAD: tt.server}}))
		q := &request{api: openAI, decoding: s.opt.Decoding}
		var failure error
		for _, f := range tt.fields {
			if err := s.setField(q, f.name, f.value); err != nil {
				failure = err
			}
		}
		if (failure != nil) != tt.wrong {
			t.Errorf("%s: %v", tt.why, failure)
		} else if d := cmp.Diff(tt.want, q.decoding.VAD); d != "" && !tt.wrong {
			t.Errorf("%s: %s", tt.why, d)
		} else if skip := tt.want == nil && len(tt.fields) > 0; q.decoding.SkipSpeechCheck != skip && !tt.wrong {
			t.Errorf("%s: SkipSpeechCheck is %v", tt.why, !skip)
		}
	}
}

// TestSilence: with voice activity detection, sound without speech has no text.
func TestSilence(t *testing.T) {
	var b bytes.Buffer
	log := slog.New(slog.NewTextHandler(&b, nil))
	h, _ := newServer(t, Options{Decoding: transcribe.Options{Log: log}})
	quiet := make([]float32, 3*audio.SampleRate)
	for i := range quiet {
		quiet[i] = 0.001 * float32(i%7-3)
	}
	for _, f := range []field{{"chunking_strategy", "auto"}, {"vad_filter", "true"}} {
		r, body := post(t, h.URL+transcriptions, field{"file", string(wavOf(quiet))}, f,
			field{"response_format", "verbose_json"})
		var v verboseTranscript
		if json.Unmarshal([]byte(body), &v); r.StatusCode != 200 || v.Text != "" || len(v.Segments) > 0 || v.Duration != 3 {
			t.Errorf("%s: %s %s", f.name, r.Status, body)
		}
		r, body = post(t, h.URL+transcriptions, wav(t), f, field{"response_format", "text"})
		if !strings.Contains(body, "three five") {
			t.Errorf("%s: speech: %s %s", f.name, r.Status, body)
		}
	}
	if n := strings.Count(b.String(), "speech found"); n != 4 {
		t.Errorf("voice activity ran %d times, want 4", n)
	}
}

// TestIgnored: the answer and the log name every part of a request that has no effect.
func TestIgnored(t *testing.T) {
	var b bytes.Buffer
	h, _ := newServer(t, Options{Log: slog.New(slog.NewTextHandler(&b, nil))})
	r, body := post(t, h.URL+transcriptions, wav(t), field{"user", "me"}, field{"known_speaker_names[]", "Ann"},
		field{"évil", "x"},
		field{"include[]", "speakers"}, field{"empty", ""})
	want := `user, \u00e9vil, include[]=speakers, known_speaker_names[]`
	if got := r.Header.Get(ignoredHeader); r.StatusCode != 200 || got != want {
		t.Errorf("%s, %q, want %q: %s", r.Status, got, want, body)
	}
	if !strings.Contains(b.String(), "known_speaker_names") || strings.Contains(b.String(), "Ann") {
		t.Errorf("the log: %s", b.String())
	}
	b.Reset()
	r, body = post(t, h.URL+transcriptions+"?model=nope&foo=bar", wav(t),
		field{"chunking_strategy", `{"type":"server_vad","foo":7,"threshold":0.4}`})
	want = "chunking_strategy.foo, ?foo, ?model"
	if got := r.Header.Get(ignoredHeader); r.StatusCode != 200 || got != want || !strings.Contains(b.String(), want) ||
		strings.Contains(b.String(), "nope") {
		t.Errorf("%s, %q, want %q: %s; the log: %s", r.Status, got, want, body, b.String())
	}
	r, _ = post(t, h.URL+transcriptions, wav(t), field{"model", "whisper-1"},
		field{"chunking_strategy", `{"type":"auto"}`})
	if r.Header.Get(ignoredHeader) != "" {
		t.Errorf("a plain request: %q", r.Header.Get(ignoredHeader))
	}
}

// TestLongValues: long values are not kept, and no error or log line repeats them.
func TestLongValues(t *testing.T) {
	var b bytes.Buffer
	h, s := newServer(t, Options{Log: slog.New(slog.NewTextHandler(&b, nil))})
	long := strings.Repeat("x", maxField)
	many := []field{wav(t)}
	for range 62 {
		many = append(many, field{"include[]", long})
	}
	body, kind := form(t, many...)
	r := httptest.NewRequest("POST", transcriptions, body)
	r.Header.Set("Content-Type", kind)
	q, err := s.parseForm(httptest.NewRecorder(), r, openAI, transcribe.Transcribe, time.Now().Add(patience))
	defer q.close()
	if kept := len(fmt.Sprint(q.ignored)); err != nil || kept == 0 || kept > 1000 {
		t.Errorf("%d bytes of the names of ignored values are kept, error %v", kept, err)
	}
	for _, f := range []field{
		{"response_format", long}, {"temperature", long}, {"language", long}, {"beam_size", long},
		{"chunking_strategy", long}, {"timestamp_granularities[]", long},
	} {
		b.Reset()
		r, body := post(t, h.URL+transcriptions, wav(t), f)
		if r.StatusCode < 400 || len(body) > 1000 || b.Len() > 2000 {
			t.Errorf("%s: %s, an error of %d bytes, a log of %d", f.name, r.Status, len(body), b.Len())
		}
	}
	for _, value := range []string{"1", long + "x"} {
		b.Reset()
		r, body := post(t, h.URL+transcriptions, field{long, value}, wav(t))
		if n := len(r.Header.Get(ignoredHeader)); len(body) > 1000 || n > 100 || b.Len() > 2000 {
			t.Errorf("a long name: %s, an answer of %d bytes, a header of %d, a log of %d", r.Status, len(body), n, b.Len())
		}
	}
}

// TestFields: the fields of Options are set. The answer names others, which are ignored.
func TestFields(t *testing.T) {
	h, _ := newServer(t, Options{})
	for _, tt := range []struct {
		name, value string
		status      int
		ignored     bool
	}{
		{"hotwords", "seven", 200, false}, {"beam_size", "2", 200, false}, {"beam_size", "many", 400, false},
		{"beam-size", "2", 200, false}, {"prefix", "one", 200, true}, {"listen", ":1", 200, true},
	} {
		r, body := post(t, h.URL+transcriptions, wav(t), field{tt.name, tt.value})
		if r.StatusCode != tt.status || (r.Header.Get(ignoredHeader) != "") != tt.ignored {
			t.Errorf("%s=%s: %s, ignored %q: %s", tt.name, tt.value, r.Status, r.Header.Get(ignoredHeader), body)
		}
		if tt.status == 400 {
			checkProblem(t, r, body, 400, tt.name, tt.name+": got")
		}
	}
}

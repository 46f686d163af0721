// Package clients holds what OpenAI's own clients expect of verity serve. It is a module
// of its own, so that none of it is near the program: make clients runs it.
package clients

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/realtime"
)

const root = "../.."

// sound says five digits and more.
var sound = filepath.Join(root, "model/digits/digits.wav")

// program builds verity once.
func program(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "verity")
	c := exec.Command("go", "build", "-tags", "nomodel", "-o", name, "./cmd/verity")
	c.Dir = root
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return name
}

// start serves the small model of the tests and returns its address.
func start(t *testing.T, verity string, flags ...string) string {
	t.Helper()
	c := exec.Command(verity, append([]string{"serve", "--model", filepath.Join(root, "model/digits/target"), "--listen", "127.0.0.1:0"}, flags...)...)
	lines, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Process.Signal(os.Interrupt)
		if err := c.Wait(); err != nil && c.ProcessState.ExitCode() > 0 {
			t.Errorf("the server ended with %v", err)
		}
	})
	said, in := "", bufio.NewScanner(lines)
	for in.Scan() {
		said += in.Text() + "\n"
		if _, address, ok := strings.Cut(in.Text(), " on http://"); ok {
			go io.Copy(io.Discard, lines) // the rest of the log
			return "http://" + address
		}
	}
	t.Fatalf("the server does not say where it listens (%v):\n%s", in.Err(), said)
	return ""
}

// transcript is what the command line writes.
func transcript(t *testing.T, verity, format string) string {
	t.Helper()
	out, err := exec.Command(verity, "transcribe", "--quiet", "--model", filepath.Join(root, "model/digits/target"), "--output-format", format, sound).Output()
	if err != nil {
		t.Fatalf("%v: %s", err, err.(*exec.ExitError).Stderr)
	}
	return string(out)
}

func TestOpenAI(t *testing.T) {
	verity := program(t)
	keys := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(keys, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	base := start(t, verity, "--api-key-file", keys)
	client := openai.NewClient(option.WithBaseURL(base+"/v1"), option.WithAPIKey("secret"), option.WithMaxRetries(0))
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	want := strings.Join(strings.Fields(transcript(t, verity, "txt")), " ")
	params := func(t *testing.T) openai.AudioTranscriptionNewParams {
		f, err := os.Open(sound)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return openai.AudioTranscriptionNewParams{File: f, Model: openai.AudioModelWhisper1}
	}

	t.Run("json", func(t *testing.T) {
		r, err := client.Audio.Transcriptions.New(ctx, params(t))
		if err != nil || r.Text != want || r.Usage.Seconds != 10 {
			t.Errorf("%v, %+v, want %q", err, r, want)
		}
	})
	for _, format := range []string{"text", "srt", "vtt"} {
		t.Run(format, func(t *testing.T) {
			p := params(t)
			p.ResponseFormat = openai.AudioResponseFormat(format)
			var raw []byte
			if _, err := client.Audio.Transcriptions.New(ctx, p, option.WithResponseBodyInto(&raw)); err != nil {
				t.Fatal(err)
			}
			got, expect := string(raw), want+"\n"
			if format != "text" {
				expect = transcript(t, verity, format)
			}
			if got != expect {
				t.Errorf("got %q, want %q", got, expect)
			}
		})
	}
	t.Run("verbose_json", func(t *testing.T) {
		p := params(t)
		p.ResponseFormat, p.TimestampGranularities = openai.AudioResponseFormatVerboseJSON, []string{"word", "segment"}
		p.Language, p.Prompt, p.Temperature = openai.String("en"), openai.String("digits"), openai.Float(0)
		r, err := client.Audio.Transcriptions.New(ctx, p)
		if err != nil {
			t.Fatal(err)
		}
		v := r.AsTranscriptionVerbose()
		if len(v.Segments) == 0 || len(v.Words) != len(strings.Fields(v.Text)) || v.Language != "english" || v.Duration < 9 {
			t.Errorf("%+v", v)
		}
	})
	t.Run("stream", func(t *testing.T) {
		s := client.Audio.Transcriptions.NewStreaming(ctx, params(t))
		deltas, done := "", ""
		for s.Next() {
			switch e := s.Current(); e.Type {
			case "transcript.text.delta":
				deltas += e.Delta
			case "transcript.text.done":
				done = e.Text
			}
		}
		if s.Err() != nil || strings.Join(strings.Fields(deltas), " ") != want || done != deltas {
			t.Errorf("%v, deltas %q, done %q, want %q", s.Err(), deltas, done, want)
		}
	})
	t.Run("translation", func(t *testing.T) {
		r, err := client.Audio.Translations.New(ctx, openai.AudioTranslationNewParams{File: params(t).File, Model: openai.AudioModelWhisper1})
		if err != nil || r.Text == "" {
			t.Errorf("%v, %+v", err, r)
		}
	})
	t.Run("models", func(t *testing.T) {
		list, err := client.Models.List(ctx)
		if err != nil || len(list.Data) != 1 {
			t.Fatalf("%v, %+v", err, list)
		}
		if m, err := client.Models.Get(ctx, list.Data[0].ID); err != nil || m.ID != list.Data[0].ID {
			t.Errorf("%v, %+v", err, m)
		}
	})
	t.Run("errors", func(t *testing.T) {
		noise := params(t)
		noise.File = strings.NewReader("this is no sound")
		for why, check := range map[string]struct {
			call   func() error
			status int
			param  string
		}{
			"no sound": {func() error { _, err := client.Audio.Transcriptions.New(ctx, noise); return err }, 400, "file"},
			"a wrong key": {func() error {
				_, err := client.Audio.Transcriptions.New(ctx, params(t), option.WithAPIKey("guess"))
				return err
			}, 401, ""},
		} {
			var api *openai.Error
			if err := check.call(); !errors.As(err, &api) || api.StatusCode != check.status || api.Param != check.param || api.Message == "" {
				t.Errorf("%s: %v, want %d about %q", why, err, check.status, check.param)
			}
		}
	})
	t.Run("realtime", func(t *testing.T) { live(t, ctx, client) })
}

// live speaks into a realtime session.
func live(t *testing.T, ctx context.Context, client openai.Client) {
	c, err := client.Realtime.Connect(ctx, realtime.RealtimeConnectionOptions{}, option.WithQuery("intent", "transcription"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SendRaw(ctx, json.RawMessage(`{"type":"session.update","session":{"type":"transcription","audio":{"input":{
		"format":{"type":"audio/pcm","rate":16000},"transcription":{"model":"whisper-1","language":"en"},"turn_detection":null}}}}`)); err != nil {
		t.Fatal(err)
	}
	wav, err := os.ReadFile(sound)
	if err != nil {
		t.Fatal(err)
	}
	for pcm := wav[44:]; len(pcm) > 0; { // 16 kHz, 16 bits, one channel
		n := min(len(pcm), 32000)
		if err := c.Send(ctx, realtime.RealtimeClientEventParamOfInputAudioBufferAppend(base64.StdEncoding.EncodeToString(pcm[:n]))); err != nil {
			t.Fatal(err)
		}
		pcm = pcm[n:]
	}
	if err := c.Send(ctx, realtime.RealtimeClientEventUnionParam{OfInputAudioBufferCommit: &realtime.InputAudioBufferCommitEventParam{}}); err != nil {
		t.Fatal(err)
	}
	deltas := ""
	for {
		e, err := c.Recv(ctx)
		if err != nil {
			t.Fatal(err)
		}
		switch e := e.AsAny().(type) {
		case realtime.ConversationItemInputAudioTranscriptionDeltaEvent:
			deltas += e.Delta
		case realtime.RealtimeErrorEvent:
			t.Fatal(e.Error.Message)
		case realtime.ConversationItemInputAudioTranscriptionCompletedEvent:
			if e.Transcript == "" || e.Transcript != deltas || len(strings.Fields(deltas)) < 5 {
				t.Errorf("deltas %q, completed %q", deltas, e.Transcript)
			}
			if s := e.Usage.AsConversationItemInputAudioTranscriptionCompletedEventUsageTranscriptTextUsageDuration(); s.Seconds < 9 {
				t.Errorf("usage %+v", s)
			}
			return
		}
	}
}

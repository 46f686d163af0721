package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"verity/audio"
	"verity/cmd/internal/cli"
	"verity/model/digits"
)

// TestPipe: requests get the segments and the transcript of transcribe, or an error with its kind; the last ones end
// with the input.
func TestPipe(t *testing.T) {
	dir := t.TempDir()
	sound, text := filepath.Join(dir, "digits.wav"), filepath.Join(dir, "text.wav")
	for name, data := range map[string][]byte{sound: digits.Sample(), text: []byte("no sound at all")} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, want, _ := program(t, nil, "transcribe", "-f", "json", sound)
	in, requests := io.Pipe()
	answers, out := io.Pipe()
	status := make(chan int, 1)
	var stderr strings.Builder
	go func() {
		status <- run(t.Context(), cli.Env{In: in, Out: out, Err: &stderr}, []string{"pipe", "--threads=1", "--batch=2"})
		out.Close()
	}()
	lines := bufio.NewScanner(answers)
	lines.Buffer(nil, 1<<20)
	type answer struct {
		ID                               int
		Ready, Info, Segment, Transcript map[string]any
		Formats                          map[string][]byte
		Error                            *struct{ Kind, Message string }
	}
	next := func() (a answer) {
		t.Helper()
		if !lines.Scan() {
			t.Fatalf("the output ends: %v, %s", lines.Err(), stderr.String())
		}
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			t.Fatalf("%s: %v", lines.Bytes(), err)
		}
		return a
	}
	if first := next(); first.Ready["model"] != "digits" || first.Ready["multilingual"] != true {
		t.Errorf("got %v, want the model first", first)
	}
	id, joined, info := 0, "", map[string]any{}
	request := func(rest string) (a answer) {
		id++
		fmt.Fprintf(requests, "{\"id\":%d,%s}\n", id, rest)
		for joined = ""; ; {
			if a = next(); a.ID != id {
				t.Fatalf("got an answer to %d, want to %d", a.ID, id)
			}
			switch {
			case a.Info != nil && joined == "":
				info = a.Info
			case a.Segment == nil:
				return a
			default:
				joined += a.Segment["text"].(string)
			}
		}
	}
	path, _ := json.Marshal(sound)
	var whole struct {
		Text, Language string
		Duration       float64
		Probability    float64 `json:"language_probability"`
	}
	if err := json.Unmarshal([]byte(want), &whole); err != nil {
		t.Fatal(err)
	}
	if a := request(fmt.Sprintf(`"file":%s,"temperatures":[0]`, path)); a.Transcript["text"] != whole.Text || joined != whole.Text || a.Formats != nil {
		t.Errorf("got %q in segments of %q, want %q", a.Transcript["text"], joined, whole.Text)
	}
	if whole.Language != info["language"] || whole.Duration != info["duration"] || whole.Probability != info["language_probability"] {
		t.Errorf("got info %v, want that of %+v", info, whole)
	}
	_, srt, _ := program(t, nil, "transcribe", "-f", "srt", sound)
	if a := request(fmt.Sprintf(`"file":%s,"temperatures":[0],"flags":["--output-format=srt,docx"]`, path)); len(a.Formats) != 2 || string(a.Formats["srt"]) != srt || !strings.HasPrefix(string(a.Formats["docx"]), "PK") {
		t.Errorf("got formats %q, want docx and srt, %q", a.Formats, srt)
	}
	for _, x := range []struct{ file, rest, kind, message string }{
		{filepath.Join(dir, "nowhere.wav"), ``, "missing", "there is no such"},
		{text, ``, "audio", "text.wav"},
		{sound, `,"flags":["--beam-size=many"]`, "usage", "--beam-size many: want a whole number"},
		{sound, `,"flags":["--output-format=doc"]`, "usage", "--output-format doc: want txt"},
		{sound, `,"flags":["--output-dir=x"]`, "usage", "there is no flag --output-dir"},
		{sound, `,"flags":["--speakers=channels","--channel=1"]`, "usage", "--speakers channels cannot be combined"},
		{sound, `,"flags":["--language=nl"]`, "usage", "--language nl: the model does not know it"},
		{sound, `,"flags":["--clip-timestamps=100,200"]`, "usage", "--clip-timestamps 100 begins after the end"},
		{sound, `,"temperatures":[5]`, "usage", "--temperature 5: must be from 0 to 2"},
		{sound, `,"vad":{"threshold":-1}`, "usage", "--vad"},
		{"-", ``, "usage", "standard input has the requests"},
	} {
		path, _ := json.Marshal(x.file)
		a := request(fmt.Sprintf(`"file":%s%s`, path, x.rest))
		if a.Error == nil || a.Error.Kind != x.kind || !strings.Contains(a.Error.Message, x.message) {
			t.Errorf("%s%s: got %+v, want %s: %s", x.file, x.rest, a.Error, x.kind, x.message)
		}
	}
	copied := filepath.Join(dir, "copied.wav")
	if err := os.WriteFile(copied, digits.Sample(), 0o600); err != nil {
		t.Fatal(err)
	}
	if path, _ := json.Marshal(copied); request(fmt.Sprintf(`"file":%s,"temporary":true`, path)).Transcript["text"] != whole.Text {
		t.Error("a temporary file has another text")
	}
	if _, err := os.Stat(copied); err == nil {
		t.Error("a temporary file stays")
	}
	fmt.Fprintf(requests, "{\"id\":99,\"file\":%s}\n{\"cancel\":99}\n", path)
	a := next()
	if a.Info != nil {
		a = next()
	}
	if a.ID != 99 || a.Error == nil || a.Error.Kind != "canceled" {
		t.Errorf("a canceled request: got %+v", a)
	}
	// The output is not read yet, so that the first of these requests still runs when the second comes.
	fmt.Fprintf(requests, "{\"id\":98,\"file\":%s}\n{\"id\":98,\"file\":%s}\n", path, path)
	for refused, done := 0, false; !done || refused < 1; {
		switch a := next(); {
		case a.ID == 0 && a.Error != nil && a.Error.Kind == "usage" && strings.HasPrefix(a.Error.Message, "id 98: want"):
			refused++
		case a.ID == 98 && a.Transcript != nil:
			done = a.Transcript["text"] == whole.Text
		case a.ID != 98 || a.Segment == nil && a.Info == nil:
			t.Fatalf("an id that is in use: got %+v", a)
		}
	}
	for _, low := range []int{0, -1} {
		fmt.Fprintf(requests, "{\"id\":%d,\"file\":%s}\n", low, path)
		if a := next(); a.ID != 0 || a.Error == nil || !strings.HasPrefix(a.Error.Message, fmt.Sprintf("id %d: want", low)) {
			t.Errorf("id %d: got %+v", low, a)
		}
	}
	requests.Close()
	if code := <-status; code != 0 || lines.Scan() {
		t.Errorf("status %d, %s%s", code, stderr.String(), lines.Text())
	}
	if code, _, stderr := program(t, strings.NewReader("{\"file\"\n"), "pipe", "--threads=1"); code != 1 || !strings.Contains(stderr, "no request") {
		t.Errorf("a line that is no request: status %d, %s", code, stderr)
	}
	if _, out, _ := program(t, nil, "decode", sound); len(out) != 4*int(whole.Duration*audio.SampleRate+0.5) {
		t.Errorf("decode writes %d bytes for %v s, want four for each sample at 16 kHz", len(out), whole.Duration)
	}
	if code, _, stderr := program(t, nil, "decode", text); code != 1 || !strings.Contains(stderr, "text.wav") {
		t.Errorf("decode of a text: status %d, %s", code, stderr)
	}
	if code, out, _ := program(t, nil, "pipe", "--model=nowhere"); code != 2 || !strings.Contains(out, `"kind":"missing"`) {
		t.Errorf("a model that is missing: status %d, %s", code, out)
	}
}

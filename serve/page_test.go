package serve

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"verity/model"
	"verity/models/whisper"
	"verity/transcribe"
)

// TestPageServed: the page and its parts are there, and may load nothing from elsewhere.
func TestPageServed(t *testing.T) {
	h, _ := newServer(t, Options{})
	for path, kind := range map[string]string{"/": "text/html", "/page/page.js": "text/javascript", "/page/worklet.js": "text/javascript"} {
		r, err := http.Get(h.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		policy := r.Header.Get("Content-Security-Policy")
		if r.StatusCode != 200 || !strings.HasPrefix(r.Header.Get("Content-Type"), kind) || !strings.Contains(policy, "default-src 'none'; script-src 'self';") {
			t.Errorf("%s: %s %v", path, r.Status, r.Header)
		}
	}
}

// TestPage drives Chromium: it speaks into the microphone, drops a file, takes pictures
// and has axe-core look. VERITY_PAGE names a directory for the pictures, and VERITY_AXE
// the file axe.min.js; make page sets them.
func TestPage(t *testing.T) {
	out := os.Getenv("VERITY_PAGE")
	if out == "" {
		t.Skip("VERITY_PAGE is not set: make page runs this")
	}
	program, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("*** SKIPPED: chromium is not installed ***")
	}
	if whisper.Base() == nil {
		t.Skip("*** SKIPPED: built without a model ***")
	}
	h := whisperServer(t, transcribe.Assistant{Method: transcribe.NGram})
	spoken := jfkWAV(t)
	b := browse(t, program, spoken)
	b.open(h.URL)
	b.wait(time.Minute, `!$("mark").disabled`)
	b.axe("empty")
	b.pictures(out, "empty")

	t.Run("microphone", func(t *testing.T) {
		b.t = t
		b.do(`$("listen").click()`)
		b.wait(2*time.Minute, `$("tentative").textContent.length > 20`)
		b.pictures(out, "listening")
		b.axe("listening")
		b.wait(3*time.Minute, `/do for your country\W*$/.test($("text").textContent) && $("tentative").textContent === ""`)
		b.do(`$("stop").click()`)
		b.wait(time.Minute, `!$("listen").disabled`)
		sentence(t, b.text(`$("text").textContent`))
		if n := b.text(`String($("player").hidden)`); n != "false" {
			t.Error("what was heard cannot be heard again")
		}
		b.clickWord("country")
		b.pictures(out, "heard")
		b.axe("heard")
	})
	t.Run("file", func(t *testing.T) {
		b.t = t
		raw, err := os.ReadFile(spoken)
		if err != nil {
			t.Fatal(err)
		}
		b.do(`$("mark").click();
			window.bars = [];
			new MutationObserver(() => bars.push([$("progress").hidden, $("progress").value])).observe($("progress"), {attributes: true});
		(() => {
			const bytes = Uint8Array.from(atob("` + base64.StdEncoding.EncodeToString(raw) + `"), c => c.charCodeAt(0));
			const data = new DataTransfer();
			data.items.add(new File([bytes], "jfk.wav", {type: "audio/wav"}));
			document.dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true, cancelable: true}));
		})()`)
		b.wait(2*time.Minute, `$("status").textContent.startsWith("Done") || $("status").classList.contains("bad")`)
		sentence(t, b.text(`$("text").textContent`))
		if srt := b.text(`formats.srt()`); !strings.Contains(srt, "00:00:00,000 --> ") || !strings.Contains(srt, "country") {
			t.Errorf("srt: %q", srt)
		}
		b.clickWord("country")
		if n := b.text(`String($("text").querySelectorAll("[role=button]").length)`); n != "22" {
			t.Errorf("%s words can be clicked, want 22", n)
		}
		if marked := b.text(`[...document.querySelectorAll(".accepted")].map(m => m.textContent).join("|") + getComputedStyle($("text").querySelector(".accepted")).textDecorationLine`); !strings.HasSuffix(marked, "underline") {
			t.Errorf("accepted drafts are not underlined: %q", marked)
		}
		if bars := b.text(`JSON.stringify([bars.some(([hidden, value]) => !hidden && value === 1), $("progress").hidden])`); bars != "[true,true]" {
			t.Errorf("the bar came to its end, and went: %s", bars)
		}
		b.pictures(out, "file")
		b.axe("file")
	})
	t.Run("keyboard", func(t *testing.T) {
		b.t = t
		b.do(`document.activeElement.blur(); document.body.focus()`)
		var seen []string
		for range 12 {
			b.press("Tab", 9)
			seen = append(seen, b.text(`document.activeElement.id || document.activeElement.tagName`))
		}
		for _, id := range []string{"file", "language", "task", "listen"} {
			if !strings.Contains(" "+strings.Join(seen, " ")+" ", " "+id+" ") {
				t.Errorf("Tab does not reach %s: %v", id, seen)
			}
		}
		b.do(`$("text").querySelector("[role=button]").focus()`)
		b.press("End", 35)
		b.press("Home", 36)
		b.press("ArrowRight", 39)
		if word := b.text(`document.activeElement.textContent + $("text").querySelectorAll("[tabindex='0']").length`); word != "so1" && word != "so,1" {
			t.Errorf("the second word is reached as %q", word)
		}
	})
	t.Run("no assistant", func(t *testing.T) {
		b.t = t
		plain, _ := newServer(t, Options{})
		b.open(plain.URL)
		b.wait(time.Minute, `$("why").textContent.includes("without an assistant")`)
		if state := b.text(`String($("mark").disabled)`); state != "true" {
			t.Error("drafts can be asked for where there are none")
		}
	})
}

// sentence wants what is said in the recording.
func sentence(t *testing.T, text string) {
	t.Helper()
	bare := strings.Join(strings.Fields(regexp.MustCompile(`[^a-z ]+`).ReplaceAllString(strings.ToLower(text), " ")), " ")
	for _, part := range []string{"my fellow americans", "ask not what your country can do for you", "ask what you can do for your country"} {
		if !strings.Contains(bare, part) {
			t.Errorf("the page says %q", text)
			return
		}
	}
}

// whisperServer serves the model of the program.
func whisperServer(t *testing.T, a transcribe.Assistant) *httptest.Server {
	t.Helper()
	c, err := model.OpenFS(whisper.Base(), "base")
	if err != nil {
		t.Fatal(err)
	}
	m, err := transcribe.Load(t.Context(), c, transcribe.LoadOptions{Assistant: a, Policy: constant})
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(m, Options{Spool: t.TempDir(), Decoding: transcribe.Options{Language: "en"}})
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s)
	t.Cleanup(func() {
		h.CloseClientConnections()
		h.Close()
		s.sockets.giveUp()
		s.sockets.all.Wait()
		m.Close()
		c.Close()
	})
	return h
}

// jfkWAV writes the recording as a file that Chromium takes for a microphone.
func jfkWAV(t *testing.T) string {
	t.Helper()
	pcm := soundOf(t, "../models/whisper/jfk.flac")
	pcm = append(pcm, make([]float32, 5*16000)...) // silence: the utterance ends
	name := filepath.Join(t.TempDir(), "jfk.wav")
	if err := os.WriteFile(name, wavOf(pcm), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// A browser is a Chromium that is driven over its DevTools protocol.
type browser struct {
	t    *testing.T
	conn *websocket.Conn
	id   int
}

func browse(t *testing.T, program, microphone string) *browser {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	c := exec.CommandContext(ctx, program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
		"--remote-debugging-port=0", "--user-data-dir="+t.TempDir(), "--autoplay-policy=no-user-gesture-required",
		"--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream", "--use-file-for-fake-audio-capture="+microphone+"%noloop", "about:blank")
	lines, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		c.Wait()
		time.Sleep(200 * time.Millisecond) // its children still write to the profile
	})
	var address string
	for in := bufio.NewScanner(lines); in.Scan(); {
		if _, at, ok := strings.Cut(in.Text(), "DevTools listening on ws://"); ok {
			address, _, _ = strings.Cut(at, "/")
			break
		}
	}
	go bufio.NewReader(lines).WriteTo(nowhere{})
	r, err := http.Get("http://" + address + "/json/list")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	var pages []struct {
		Type string
		URL  string `json:"webSocketDebuggerUrl"`
	}
	if err := json.NewDecoder(r.Body).Decode(&pages); err != nil {
		t.Fatal(err)
	}
	for _, p := range pages {
		if p.Type != "page" {
			continue
		}
		conn, _, err := websocket.Dial(ctx, p.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		conn.SetReadLimit(64 << 20)
		t.Cleanup(func() { conn.CloseNow() })
		return &browser{t: t, conn: conn}
	}
	t.Fatal("chromium has no page")
	return nil
}

// nowhere discards.
type nowhere struct{}

func (nowhere) Write(b []byte) (int, error) { return len(b), nil }

// call calls a method of the protocol.
func (b *browser) call(method string, params, result any) {
	b.t.Helper()
	b.id++
	ask, err := json.Marshal(map[string]any{"id": b.id, "method": method, "params": params})
	if err != nil {
		b.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(b.t.Context(), time.Minute)
	defer cancel()
	if err := b.conn.Write(ctx, websocket.MessageText, ask); err != nil {
		b.t.Fatal(err)
	}
	for {
		_, data, err := b.conn.Read(ctx)
		if err != nil {
			b.t.Fatal(err)
		}
		var answer struct {
			ID     int
			Result json.RawMessage
			Error  *struct{ Message string }
		}
		if err := json.Unmarshal(data, &answer); err != nil {
			b.t.Fatal(err)
		}
		if answer.ID != b.id {
			continue // an event
		}
		if answer.Error != nil {
			b.t.Fatalf("%s: %s", method, answer.Error.Message)
		}
		if result != nil {
			if err := json.Unmarshal(answer.Result, result); err != nil {
				b.t.Fatal(err)
			}
		}
		return
	}
}

// text evaluates an expression, which may be a promise.
func (b *browser) text(expression string) string {
	b.t.Helper()
	var r struct {
		Result           struct{ Value any }
		ExceptionDetails *struct {
			Exception struct{ Description string }
		}
	}
	b.call("Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true, "userGesture": true}, &r)
	if r.ExceptionDetails != nil {
		b.t.Fatalf("%.100s: %s", expression, r.ExceptionDetails.Exception.Description)
	}
	return fmt.Sprint(r.Result.Value)
}

func (b *browser) do(expression string) { b.t.Helper(); b.text(expression) }

// press presses a key.
func (b *browser) press(key string, code int) {
	b.t.Helper()
	for _, kind := range []string{"keyDown", "keyUp"} {
		b.call("Input.dispatchKeyEvent", map[string]any{"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code}, nil)
	}
}

// clickWord clicks on a word, and wants the sound to go on from the word's time, which
// must be inside the recording's speech and not that of the whole segment.
func (b *browser) clickWord(word string) {
	b.t.Helper()
	b.do(`$("player").pause();
		window.chosen = [...$("text").querySelectorAll("[role=button]")].findLast(w => w.textContent.includes("` + word + `"));
		chosen.click()`)
	b.wait(10*time.Second, `!$("player").paused && $("player").currentTime > 0`)
	at := b.text(`JSON.stringify([chosen.start > segments.findLast(s => s.start < chosen.start).start, chosen.start > 8, chosen.start < 11.5,
		$("player").currentTime >= chosen.start - 0.01, $("player").currentTime < chosen.start + 3, document.activeElement === chosen])`)
	if at != "[true,true,true,true,true,true]" {
		b.t.Errorf("%s is heard at %s, its word at %s: %s", word, b.text(`$("player").currentTime`), b.text(`chosen.start`), at)
	}
	b.do(`$("player").pause()`)
}

// wait waits until an expression is true.
func (b *browser) wait(most time.Duration, expression string) {
	b.t.Helper()
	for end := time.Now().Add(most); b.text("Boolean("+expression+")") != "true"; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			b.t.Fatalf("%s never came true: %s", expression, b.text(`$("status").textContent + " | " + $("text").textContent + " | " + $("tentative").textContent`))
		}
	}
}

func (b *browser) open(url string) {
	b.t.Helper()
	b.call("Page.enable", nil, nil)
	b.call("Page.navigate", map[string]any{"url": url}, nil)
	b.wait(time.Minute, `document.readyState === "complete" && typeof Live === "function"`)
}

// pictures takes pictures in two widths, light and dark.
func (b *browser) pictures(dir, name string) {
	b.t.Helper()
	for _, width := range []int{1280, 390} {
		for _, scheme := range []string{"light", "dark"} {
			b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}, nil)
			b.call("Emulation.setEmulatedMedia", map[string]any{"features": []any{map[string]string{"name": "prefers-color-scheme", "value": scheme}}}, nil)
			if wide := b.text(`String(document.documentElement.scrollWidth > innerWidth)`); wide != "false" {
				b.t.Errorf("%s: at %d the page is wider than the window", name, width)
			}
			var shot struct{ Data []byte }
			b.call("Page.captureScreenshot", map[string]any{"format": "png"}, &shot)
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%d-%s.png", name, width, scheme)), shot.Data, 0o644); err != nil {
				b.t.Fatal(err)
			}
		}
	}
}

// axe has axe-core look at the page, light and dark.
func (b *browser) axe(state string) {
	b.t.Helper()
	source, err := os.ReadFile(os.Getenv("VERITY_AXE"))
	if err != nil {
		b.t.Logf("*** SKIPPED: no axe-core: %v ***", err)
		return
	}
	b.do(string(source) + "; 0")
	for _, scheme := range []string{"light", "dark"} {
		b.call("Emulation.setEmulatedMedia", map[string]any{"features": []any{map[string]string{"name": "prefers-color-scheme", "value": scheme}}}, nil)
		found := b.text(`axe.run().then(r => r.violations.map(v => v.id + ": " + v.nodes.map(n => n.html).join(" ")).join("\n"))`)
		if found != "" {
			b.t.Errorf("axe-core, %s, %s:\n%s", state, scheme, found)
		}
	}
}

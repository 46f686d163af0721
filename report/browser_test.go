package report

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestBrowser opens pages in Chromium at the widths of a desktop and a phone: they
// load without an error or a word on the console, nothing of them is wider than the
// window, the replay runs from its beginning to its end, and recordings can be heard.
// With VERITY_SCREENSHOTS=DIR it leaves pictures there to look at, light and dark. With
// VERITY_AXE=FILE, the axe.min.js of axe-core, pages must be accessible by its rules.
func TestBrowser(t *testing.T) {
	chromium := browser(t)
	predicted := 2.31
	identical := compared(t, 120, nil)
	identical.Comparisons[0].Predicted = &predicted
	identical.Scores[0].Memory, identical.Scores[1].Memory = 50<<20, 54<<20
	different := compared(t, 12, func(r []*Record) {
		r[3].Hypothesis, r[3].Segments[0].Tokens[0] = "seven "+r[3].Hypothesis, 1
		r[5].Segments[0].AvgLogProb += 1e-16
		r[7].Error = "audio file: unexpected end"
	})
	dir := t.TempDir()
	write(t, filepath.Join(dir, "beside.wav"), beep())
	identical.Sound = func(r *Record) string {
		if r == identical.sets[0].some[0] {
			return "data:audio/wav;base64," + base64.StdEncoding.EncodeToString(beep())
		}
		return "./beside.wav#t=0.1,0.2"
	}
	var page strings.Builder
	if err := identical.HTML(&page); err != nil {
		t.Fatal(err)
	}
	sounds := fmt.Sprintf("%[1]d of %[1]d", strings.Count(page.String(), "<audio "))
	single := &Document{Title: "Digits, demo model", Scores: identical.Scores[:1]}
	tests := []struct {
		name, why     string
		doc           *Document
		replay, sound string
	}{
		{"identical", "every part of a comparison", identical, "ok", sounds},
		{"different", "the list of differences, a failure", different, "ok", "0 of 0"},
		{"single", "one set: no comparison", single, "none", "0 of 0"},
		{"partial", "shards are missing", partial(t), "none", "0 of 0"},
		{"arms", "three arms of two precisions", threeArms(t, 12), "ok of 2 texts in 3 panes", "0 of 0"},
	}
	var views []view
	for _, tt := range tests {
		var b bytes.Buffer
		if err := tt.doc.HTML(&b); err != nil {
			t.Fatal(err)
		}
		for _, width := range []int{1280, 390} {
			views = append(views, view{fmt.Sprintf("%s-%d", tt.name, width), b.String(), width})
		}
	}
	said, log := look(t, chromium, dir, views)
	for i, v := range views {
		if want := "errors 0, overflow 0, replay " + tests[i/2].replay + ", sound " + tests[i/2].sound; said[i] != want {
			t.Errorf("%s, %s: the page says %q, want %q", v.name, tests[i/2].why, said[i], want)
		}
		if axe := os.Getenv("VERITY_AXE"); axe != "" {
			accessible(t, chromium, dir, axe, v)
		}
		if pictures := os.Getenv("VERITY_SCREENSHOTS"); pictures != "" {
			picture(t, chromium, dir, filepath.Join(pictures, v.name), v)
		}
	}
	if strings.Contains(log, "CONSOLE") {
		t.Errorf("the console has something to say:\n%s", log)
	}
}

// TestBrowserNotices breaks a page in every way that TestBrowser looks for.
func TestBrowserNotices(t *testing.T) {
	chromium := browser(t)
	var b bytes.Buffer
	if err := compared(t, 30, nil).HTML(&b); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, old, new, want string }{
		{"sound that is not there", "</main>", `</main><audio src="x.wav"></audio>`, "errors 0, overflow 0, replay ok, sound 0 of 1"},
		{"an error", "</main>", `</main><script>throw new Error("planted")</script>`, "errors 1 Uncaught Error: planted, overflow 0, replay ok, sound 0 of 0"},
		{"something from elsewhere", "</main>", `</main><img src="x.png">`, "errors 1 img-src, overflow 0, replay ok, sound 0 of 0"},
		{"something wide", "</main>", `</main><div style="width:2000px">x</div>`, "errors 0, overflow 1, replay ok, sound 0 of 0"},
		{"a replay without end", "if (now >= end) playing = false;", "now = Math.min(now, 0.9 * end);", "errors 0, overflow 0, replay does not end, sound 0 of 0"},
		{"a replay that jumps", "now = Math.min(end, now +", "now = Math.min(end, end +", "errors 0, overflow 0, replay jumps, sound 0 of 0"},
		{"a replay that loses words", `p.words[p.shown++].el.classList.add("on")`, `p.words[p.shown++].el.classList.toggle("on", p.shown % 7)`, "errors 0, overflow 0, replay ends without all words, sound 0 of 0"},
	}
	var views []view
	for i, tt := range tests {
		page := strings.Replace(b.String(), tt.old, tt.new, 1)
		if page == b.String() {
			t.Fatalf("%s: %q is not in the page", tt.name, tt.old)
		}
		views = append(views, view{fmt.Sprint(i), page, 1280})
	}
	said, log := look(t, chromium, t.TempDir(), views)
	for i, tt := range tests {
		if said[i] != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, said[i], tt.want)
		}
	}
	if !strings.Contains(log, "CONSOLE") {
		t.Error("an error is not on the console")
	}
}

// beep returns a sound file of half a second.
func beep() []byte {
	b := []byte("RIFF\x64\x1f\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x80\x3e\x00\x00\x02\x00\x10\x00data\x40\x1f\x00\x00")
	return append(b, make([]byte, 8000)...)
}

// browser returns the program, or skips the test loudly.
func browser(t *testing.T) string {
	t.Helper()
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("SKIPPED: chromium is not installed (apt-get install chromium): the page is not looked at")
	}
	if testing.Short() {
		t.Skip("a browser takes seconds")
	}
	return chromium
}

// listener goes into the head of a page: it must be there before anything goes
// wrong. Frames come by the clock, since a browser without a screen has none.
const listener = `<head><script>
window.problems = [];
addEventListener("error", (e) => problems.push(e.message));
window.requestAnimationFrame = (f) => setTimeout(() => f(performance.now()), 16);
addEventListener("securitypolicyviolation", (e) => problems.push(e.effectiveDirective));
</script>`

// probe is what pages are asked: it writes their answers into its title, for
// --dump-dom to show. A frame as wide as a phone has a phone's layout.
const probe = `<!DOCTYPE html><title>waiting</title><body style="margin:0">%s<script>
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const replay = async (d) => {
  const button = d.querySelector(".replay button");
  if (!button) return "none";
  const panes = [...d.querySelectorAll(".pane")];
  const words = (p) => [...p.querySelectorAll(".text span")];
  const on = (p) => words(p).filter((s) => s.classList.contains("on")).length;
  const state = () => panes.map(on).join(" "), whole = panes.map((p) => words(p).length).join(" ");
  if (state() !== whole) return "does not begin with all words";
  const text = (p) => [...p.querySelectorAll(".text p")].map((l) => { const c = l.cloneNode(true); c.querySelectorAll("del").forEach((x) => x.remove()); return c.textContent; }).join("\n");
  const texts = new Set(panes.map(text)).size; // arms of one precision have one
  button.click();
  if (button.textContent !== "Pause" || state() === whole) return "does not begin";
  const seen = new Set();
  for (let i = 0; i < 300 && button.textContent === "Pause"; i++) {
    await pause(100);
    seen.add(state());
  }
  if (button.textContent !== "Play") return "does not end";
  if (seen.size < 10) return "jumps";
  if (state() !== whole) return "ends without all words";
  if (panes.some((p) => Math.abs(parseFloat(p.querySelector("time").textContent) - p.dataset.total) >= 0.06)) return "ends at another time";
  return texts === 1 ? "ok" : "ok of " + texts + " texts in " + panes.length + " panes";
};
const heard = async (d) => {
  const all = [...d.querySelectorAll("audio")];
  for (const a of all) { a.preload = "metadata"; a.load(); }
  for (let i = 0; i < 50 && all.some((a) => !(a.duration > 0) && !a.error); i++) await pause(100);
  return all.filter((a) => a.duration > 0).length + " of " + all.length;
};
const ask = async (w) => {
  const d = w.document, play = await replay(d), sound = await heard(d);
  const errors = w.problems ? [w.problems.length, ...w.problems].join(" ") : "not listened to";
  return "errors " + errors + ", overflow " + (d.documentElement.scrollWidth > d.documentElement.clientWidth ? 1 : 0) + ", replay " + play + ", sound " + sound;
};
onload = async () => {
  await pause(300);
  const answers = await Promise.all([...document.querySelectorAll("iframe")].map((f) => ask(f.contentWindow)));
  document.title = answers.join("|");
};
</script>`

// A view is a page in a window of a width.
type view struct {
	name, page string
	width      int
}

// look opens all views in one browser and returns what each says, and what the
// browser logs.
func look(t *testing.T, chromium, dir string, views []view) (said []string, log string) {
	t.Helper()
	frames := ""
	for _, v := range views {
		write(t, filepath.Join(dir, v.name+".html"), []byte(strings.Replace(v.page, "<head>", listener, 1)))
		frames += fmt.Sprintf(`<iframe src="%s.html#still" style="border:0;width:%dpx;height:900px"></iframe>`, v.name, v.width)
	}
	write(t, filepath.Join(dir, "probe.html"), fmt.Appendf(nil, probe, frames))
	dom, log := browse(t, chromium, dir, "--allow-file-access-from-files", "--virtual-time-budget=60000", "--dump-dom", "file://"+filepath.Join(dir, "probe.html"))
	title := regexp.MustCompile(`<title>([^<]*)`).FindStringSubmatch(dom)
	if title == nil {
		t.Fatalf("no title in %q", dom)
	}
	if said = strings.Split(title[1], "|"); len(said) != len(views) {
		t.Fatalf("%d pages say %q", len(views), title[1])
	}
	return said, log
}

// auditor runs axe in a page, everything unfolded, and writes what it finds into the
// title. The page's own policy would not let it in.
const auditor = `<script>%s</script><script>
for (const d of document.querySelectorAll("details")) d.open = true;
axe.run().then((r) => {
  const found = r.violations.map((v) => v.id + " " + v.nodes.map((n) => n.html).slice(0, 3).join(" "));
  document.title = "AXE " + r.passes.length + " rules passed; " + found.length + " violated" + found.join("; ");
});
</script></body>`

var policy = regexp.MustCompile(`<meta http-equiv="Content-Security-Policy"[^>]*>`)

// accessible wants no violation of the rules of axe-core, whose axe.min.js is at path,
// light and dark.
func accessible(t *testing.T, chromium, dir, path string, v view) {
	t.Helper()
	axe, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	script := strings.ReplaceAll(string(axe), "</script", `<\/script`)
	page := policy.ReplaceAllString(v.page, "")
	page = strings.Replace(page, "</body>", strings.Replace(auditor, "%s", script, 1), 1)
	write(t, filepath.Join(dir, "axe.html"), []byte(page))
	for style, flag := range styles {
		dom, _ := browse(t, chromium, dir, flag, "--virtual-time-budget=20000", fmt.Sprintf("--window-size=%d,2000", max(v.width, 500)), "--dump-dom", "file://"+filepath.Join(dir, "axe.html#still"))
		title := regexp.MustCompile(`<title>AXE (\d+) rules passed; (\d+) violated([^<]*)`).FindStringSubmatch(dom)
		if title == nil || title[2] != "0" {
			t.Errorf("%s, %s: axe-core says %q", v.name, style, title)
			continue
		}
		t.Logf("%s, %s: axe-core: %s rules passed, none violated", v.name, style, title[1])
	}
}

// styles are flags that make Chromium prefer a colour scheme.
var styles = map[string]string{"light": "--blink-settings=preferredColorScheme=1", "dark": "--blink-settings=preferredColorScheme=0"}

// picture takes pictures of the whole page, light and dark. Chromium's windows have
// a least width, so a narrow page is shown in a frame.
func picture(t *testing.T, chromium, dir, to string, v view) {
	height := 5200
	frame := fmt.Sprintf(`<!DOCTYPE html><body style="margin:0"><iframe src="%s.html#still" style="border:0;width:%dpx;height:%dpx"></iframe>`, v.name, v.width, height)
	write(t, filepath.Join(dir, "frame.html"), []byte(frame))
	for style, flag := range styles {
		name := to + "-" + style + ".png"
		browse(t, chromium, dir, flag, "--hide-scrollbars", "--virtual-time-budget=2000", fmt.Sprintf("--window-size=%d,%d", max(v.width, 500), height), "--screenshot="+name, "file://"+filepath.Join(dir, "frame.html"))
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := png.Decode(f); err != nil {
			t.Error(err)
		}
	}
}

func browse(t *testing.T, chromium, dir string, args ...string) (out, log string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	c := exec.CommandContext(ctx, chromium, append([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--enable-logging=stderr",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--user-data-dir=" + filepath.Join(dir, "profile"),
	}, args...)...)
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Run(); err != nil {
		t.Fatalf("chromium: %v\n%s", err, stderr.String())
	}
	return stdout.String(), stderr.String()
}

func write(t *testing.T, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(name, content, 0o666); err != nil {
		t.Fatal(err)
	}
}

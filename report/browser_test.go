package report

import (
	"bytes"
	"context"
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
// load without a word on the console, do not scroll sideways and have a replay that
// ends. With VERITY_SCREENSHOTS=DIR it leaves pictures there to look at.
func TestBrowser(t *testing.T) {
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("SKIPPED: chromium is not installed (apt-get install chromium): the page is not looked at")
	}
	if testing.Short() {
		t.Skip("a browser takes seconds")
	}
	predicted := 2.31
	identical := compared(t, 120, nil)
	identical.Comparisons[0].Predicted = &predicted
	different := compared(t, 12, func(r []*Record) {
		r[3].Hypothesis, r[3].Segments[0].Tokens[0] = "seven "+r[3].Hypothesis, 1
		r[5].Segments[0].AvgLogProb += 1e-16
		r[7].Error = "audio file: unexpected end"
	})
	single := &Document{Title: "Digits, demo model", Scores: identical.Scores[:1]}
	for _, tt := range []struct {
		name, why string
		doc       *Document
	}{
		{"identical", "every part of a comparison", identical},
		{"different", "the list of differences, a failure", different},
		{"single", "one set: no comparison", single},
	} {
		for _, width := range []int{1280, 390} {
			t.Run(fmt.Sprintf("%s/%d", tt.name, width), func(t *testing.T) {
				look(t, chromium, tt.doc, tt.name, width)
			})
		}
	}
}

// probe is what the page is asked: it writes its answers into the title, for
// --dump-dom to show. A frame as wide as a phone has a phone's layout.
const probe = `<!DOCTYPE html><title>waiting</title><body style="margin:0"><iframe src="page.html#still" style="border:0;width:%dpx;height:900px"></iframe><script>
let errors = 0;
frames[0].addEventListener("error", () => errors++);
onload = () => setTimeout(() => {
  const w = frames[0], d = w.document, button = d.querySelector(".replay button");
  const spans = [...d.querySelectorAll(".pane .text span")];
  let played = "none";
  if (button) {
    const all = spans.every((s) => s.classList.contains("on"));
    button.click();
    const begun = spans.filter((s) => s.classList.contains("on")).length;
    played = all && begun < spans.length && button.textContent === "Pause" ? "ok" : "broken";
  }
  document.title = ["errors", errors, "overflow", d.documentElement.scrollWidth - d.documentElement.clientWidth, "replay", played, "words", spans.length].join(" ");
}, 300);
</script>`

func look(t *testing.T, chromium string, d *Document, name string, width int) {
	dir := t.TempDir()
	var b bytes.Buffer
	if err := d.HTML(&b); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "page.html"), b.Bytes())
	write(t, filepath.Join(dir, "probe.html"), fmt.Appendf(nil, probe, width))
	dom, log := browse(t, chromium, dir, "--allow-file-access-from-files", "--virtual-time-budget=3000", "--dump-dom", "file://"+filepath.Join(dir, "probe.html"))
	title := regexp.MustCompile(`<title>([^<]*)`).FindStringSubmatch(dom)
	if title == nil || !strings.HasPrefix(title[1], "errors 0 overflow 0 ") {
		t.Errorf("the page says %q, want no errors and no sideways scrolling", title)
	} else if want := "replay ok"; len(d.Comparisons) > 0 && !strings.Contains(title[1], want) {
		t.Errorf("the page says %q, want %s", title[1], want)
	}
	if strings.Contains(log, "CONSOLE") {
		t.Errorf("the console has something to say:\n%s", log)
	}
	if pictures := os.Getenv("VERITY_SCREENSHOTS"); pictures != "" {
		picture(t, chromium, dir, filepath.Join(pictures, fmt.Sprintf("%s-%d.png", name, width)), width)
	}
}

// picture takes a picture of the whole page. Chromium's windows have a least
// width, so a narrow page is shown in a frame.
func picture(t *testing.T, chromium, dir, to string, width int) {
	height := 3600
	frame := fmt.Sprintf(`<!DOCTYPE html><body style="margin:0"><iframe src="page.html#still" style="border:0;width:%dpx;height:%dpx"></iframe>`, width, height)
	write(t, filepath.Join(dir, "frame.html"), []byte(frame))
	browse(t, chromium, dir, "--hide-scrollbars", "--virtual-time-budget=2000", fmt.Sprintf("--window-size=%d,%d", max(width, 500), height), "--screenshot="+to, "file://"+filepath.Join(dir, "frame.html"))
	f, err := os.Open(to)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := png.Decode(f); err != nil {
		t.Error(err)
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

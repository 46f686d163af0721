package serve

import (
	"os"
	"os/exec"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestPageServed: the page and its parts are served, and may load nothing from elsewhere.
func TestPageServed(t *testing.T) {
	h, _ := newServer(t, Options{})
	for path, kind := range map[string]string{
		"/": "text/html", "/page/main.js": "text/javascript", "/page/style.css": "text/css",
		"/page/worklet.js": "text/javascript", "/page/sample.mp3": "audio/mpeg",
	} {
		r, _ := ask(t, "GET", h.URL+path, nil)
		policy := r.Header.Get("Content-Security-Policy")
		if kept, _ := ask(t, "GET", h.URL+path, nil, "If-None-Match", r.Header.Get("ETag")); kept.StatusCode != 304 {
			t.Errorf("%s again: %v", path, kept)
		}
		if r.StatusCode != 200 || !strings.HasPrefix(r.Header.Get("Content-Type"), kind) ||
			!strings.Contains(policy, "default-src 'none'; script-src 'self';") {
			t.Errorf("%s: %s %v", path, r.Status, r.Header)
		}
	}
}

// TestPageWrites: the files of the page are those of the command line, whatever the transcript says.
func TestPageWrites(t *testing.T) {
	h, _ := newServer(t, Options{})
	const body = `{"name": "talk", "language": "english", "duration": 4, "segments": [{"speaker": "Ann & Bo", "start": 0.5, "end": 2, "text": "Ask not.",
		"words": [{"word": "Ask", "start": 0.5, "end": 1}, {"word": " not.", "start": 1, "end": 1.2}]}, {"start": 3, "end": 4, "text": "No.", "fixed": true}]}`
	for _, x := range [][3]string{
		{`"format": "srt", "names": true`, body, "200 OK\n1\n00:00:00,500 --> 00:00:01,559\nAnn & Bo: Ask not.\n\n2\n00:00:03,000 --> 00:00:04,000\nNo.\n\n"},
		{`"format": "vtt"`, body, "200 OK\nWEBVTT\n\n00:00.500 --> 00:01.500\nAsk not.\n\n"},
		{`"format": "rows", "rules": "shorts"`, body, `200 OK` + "\n" + `[{"start":0.5,"end":1.2,"text":"Ask not.","first":0,"words":2,"lines":[],"cps":11.4286,"fast":false,"long":false,"wide":false,"fixed":false},{"start":3,`},
		{`"format": "md", "about": "Today", "times": true`, body, "200 OK\n# talk\n\n*Today*\n\n`0:00:00` **Ann \\& Bo:** Ask not.\n\n`0:00:03` No.\n"},
		{`"format": "docx", "locale": "en-US", "table": true`, body, "200 OK\nPK\x03\x04"},
		{`"format": "srt"`, "[", "400 "},
		{`"format": ""`, body, "400 "},
		{`"format": "srt"`, `{"segments": [{"words": [{"word": "` + strings.Repeat("\u0301", 4000) + `"}, {"word": "́", "start": -1e300, "end": 1e300}]}]}`, "200 "},
	} {
		r, answer := ask(t, "POST", h.URL+"/page/write", strings.NewReader(`{`+x[0]+`, "transcript": `+x[1]+`}`))
		if got := r.Status + "\n" + answer; !strings.HasPrefix(got, x[2]) {
			t.Errorf("%.300s as %s: got %.300q, want %q", x[1], x[0], got, x[2])
		}
	}
}

// TestPageReads: what was saved as JSON, SRT or VTT can be opened again.
func TestPageReads(t *testing.T) {
	h, _ := newServer(t, Options{})
	for _, x := range [][3]string{
		{"a.srt", "1\n00:00:01,000 --> 00:00:02,500\nAsk\nnot.\n", `200 OK` + "\n" + `{"duration":2.5,"language":"","lost":null,"segments":[{"id":0,"seek":0,"start":1,"end":2.5,"text":"Ask\nnot.","tokens":null,"fixed":true`},
		{"a.srt", "00:00:01,000 --> 00:00:02,500\nAsk\n\n00:00:0x,000 --> 00:00:04,000\nnot.\n", `200 OK` + "\n" + `{"duration":2.5,"language":"","lost":["Left out, as the time cannot be read: line 4."],"segments":[`},
		{"a.json", `{"language": "de", "segments": [{"start": 0, "end": 1, "text": "Ja."}]}`, `200 OK` + "\n" + `{"duration":1,"language":"german","lost":null`},
		{"a.json", `{"text": "Ja."}`, "400 "},
		{"a.vtt", "Hello", "400 "},
	} {
		r, answer := ask(t, "POST", h.URL+"/page/read?name="+x[0], strings.NewReader(x[1]))
		if got := r.Status + "\n" + answer; !strings.HasPrefix(got, x[2]) {
			t.Errorf("%s: got %.400q, want %q", x[0], got, x[2])
		}
	}
}

// imports are the modules that a module imports.
var imports = regexp.MustCompile(`from "\./([^"]+)"`)

// TestPageModules: the page is plain modules, each of at most 300 lines, that import each other, libraries of lib, and
// nothing from elsewhere.
func TestPageModules(t *testing.T) {
	names, err := files.ReadDir("page")
	if err != nil || len(names) < 5 {
		t.Fatal(names, err)
	}
	for _, f := range names {
		if f.IsDir() {
			continue
		}
		data, err := os.ReadFile("page/" + f.Name())
		if err != nil {
			t.Fatal(err)
		}
		if path.Ext(f.Name()) == ".mp3" {
			continue
		}
		if n := strings.Count(string(data), "\n"); n > 300 {
			t.Errorf("%s has %d lines", f.Name(), n)
		}
		if f.Name() == "index.html" && !strings.Contains(string(data), `rel="icon" href="data:`) {
			t.Error("the page has no icon, so browsers request one and log an error")
		}
		text := strings.ReplaceAll(string(data), "http://www.w3.org/", "") // names of formats, from where nothing is loaded
		if strings.Contains(text, "http://") || strings.Contains(text, "https://") {
			t.Errorf("%s names an address", f.Name())
		}
		for _, name := range imports.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat("page/" + name[1]); err != nil {
				t.Errorf("%s imports a file that is missing: %v", f.Name(), err)
			}
		}
	}
}

// TestPageParts: the modules that need no browser (paragraphs, edits, formats), in Node.
func TestPageParts(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("needs Node 20: the page's modules: Node is not installed")
	}
	out, err := exec.Command(node, "--version").Output()
	major, _, _ := strings.Cut(strings.TrimPrefix(string(out), "v"), ".")
	if n, _ := strconv.Atoi(major); err != nil || n < 20 {
		t.Skipf("needs Node 20: the page's modules: want Node 20 or newer, got %s", out)
	}
	cmd := exec.Command(node, "--experimental-default-type=module", "--test", "../tools/page/unit/page.test.mjs")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

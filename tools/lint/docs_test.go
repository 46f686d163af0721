package lint_test

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"verity/transcript"
)

var (
	link     = regexp.MustCompile(`\]\(([^)\s]*)\)`)
	heading  = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	fenced   = regexp.MustCompile("(?ms)^```.*?^```$")
	noAnchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// documents returns the Markdown files of the repository by their paths.
func documents(t *testing.T) map[string]string {
	t.Helper()
	names, err := exec.CommandContext(t.Context(), "git", "ls-files", "*.md").Output()
	if err != nil {
		t.Skipf("needs git: git lists no files: %v", err)
	}
	texts := map[string]string{}
	for _, name := range strings.Fields(string(names)) {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = fenced.ReplaceAllString(string(raw), "")
	}
	return texts
}

// anchors returns the names by which links reach the headings of a document.
func anchors(text string) (names []string) {
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		plain := link.ReplaceAllString(m[1], "]")
		names = append(names, strings.ReplaceAll(noAnchor.ReplaceAllString(strings.ToLower(plain), ""), " ", "-"))
	}
	return names
}

// TestLinks checks that links between documents lead to a file or heading that exists.
func TestLinks(t *testing.T) {
	texts := documents(t)
	for name, text := range texts {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			at := name
			if target != "" {
				at = path.Join(folderOf(name), target)
			}
			info, err := os.Stat(filepath.FromSlash(at))
			if err != nil {
				t.Errorf("%s: %s: there is no such file", name, m[1])
				continue
			}
			if info.IsDir() {
				at = path.Join(at, "README.md")
			}
			if anchor != "" && !slices.Contains(anchors(texts[at]), anchor) {
				t.Errorf("%s: %s: %s has no such heading", name, m[1], at)
			}
		}
	}
}

// folderOf returns the folder that the links of a document start from.
func folderOf(name string) string {
	if name == "tools/dist/README.md" {
		return "." // of a release archive, which has the same docs
	}
	return path.Dir(name)
}

// TestGoInDocuments checks that the Go code of LIBRARY compiles: it is part of a program or example of the repository.
func TestGoInDocuments(t *testing.T) {
	indent := regexp.MustCompile(`(?m)^\s+`)
	programs := ""
	for _, name := range []string{"examples/library/main.go", "example_test.go", "transcribe/live/example_test.go", "serve/example_test.go"} {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		programs += indent.ReplaceAllString(string(raw), "")
	}
	raw, err := os.ReadFile("docs/LIBRARY.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?ms)^```go\n(.*?)^```$").FindAllStringSubmatch(string(raw), -1)
	if len(blocks) < 5 {
		t.Errorf("docs/LIBRARY.md: got %d blocks of Go, want at least 5", len(blocks))
	}
	for _, b := range blocks {
		if !strings.Contains(programs, indent.ReplaceAllString(b[1], "")) {
			t.Errorf("docs/LIBRARY.md: no example that is compiled contains\n%s", b[1])
		}
	}
}

// formatLists match where each document lists the formats of transcripts. A link or an example elsewhere is no list.
var formatLists = map[string]*regexp.Regexp{
	"docs/GUIDE.md":                      regexp.MustCompile(`(?m)^\| format \| contents \|\n(\|.*\n)+`),
	"docs/LIBRARY.md":                    regexp.MustCompile("(?m)^\\| `transcript.Write\\(.*$"),
	"docs/reference/CLI.md":              regexp.MustCompile("(?m)^\\| `-f, --output-format .*$"),
	"docs/dev/ARCHITECTURE.md":           regexp.MustCompile("(?m)^\\| `transcript` \\|.*$"),
	"tools/wheel/verity_asr/_results.py": regexp.MustCompile(`(?m)^# The formats .*\nFORMATS = .*$`),
}

// TestFormatsInDocuments: every format of transcripts is in the lists where users look for it.
func TestFormatsInDocuments(t *testing.T) {
	for name, list := range formatLists {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		found := list.Find(text)
		for _, f := range transcript.Formats() {
			if !regexp.MustCompile(`(?i)\b` + string(f) + `\b`).Match(found) {
				t.Errorf("%s: the list of formats lacks %s: %q", name, f, found)
			}
		}
	}
}

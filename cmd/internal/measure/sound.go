package measure

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"verity/eval/report"
	"verity/internal/input"
	"verity/internal/output"
)

// Sizes of sound that a page may hold: of one recording, and of all.
const (
	embedOne = 512 << 10
	embedAll = 3 << 20
)

// playable are the types of sound files that browsers play, by extension.
var playable = map[string]string{
	".wav": "audio/wav", ".flac": "audio/flac", ".mp3": "audio/mpeg", ".ogg": "audio/ogg", ".opus": "audio/ogg",
	".m4a": "audio/mp4", ".webm": "audio/webm",
}

// soundFinder finds the sound of records for a page: small files are embedded, others
// linked if they lie in the directory of the page or below it.
type soundFinder struct {
	page string
	own  bool  // the records are of a dataset that the user named to this command
	left int64 // bytes that may be embedded
}

func newSoundFinder(page string, own bool) *soundFinder { return &soundFinder{page, own, embedAll} }

// url returns the address of a record's sound; empty if a browser cannot play it. For a part of a
// file, the address has its times.
func (l *soundFinder) url(r *report.Record) string {
	kind := playable[strings.ToLower(filepath.Ext(r.Audio))]
	info, err := os.Stat(r.Audio)
	if kind == "" || err != nil || !info.Mode().IsRegular() {
		return ""
	}
	part := ""
	if r.Offset > 0 {
		part = fmt.Sprintf("#t=%.3f,%.3f", r.Offset, r.Offset+r.Duration)
	}
	rel := l.beside(r.Audio)
	if n := info.Size(); n <= embedOne && n <= l.left && (l.own || rel != "") {
		if raw, err := input.Read(context.Background(), r.Audio, n); err == nil && int64(len(raw)) == n {
			l.left -= n
			return "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(raw) + part
		}
	}
	if rel != "" {
		return (&url.URL{Path: rel}).EscapedPath() + part
	}
	return ""
}

// beside returns the path from the page to a file in its directory or below, after following
// symbolic links; empty for other files. Others would not move with the page, and a record from
// elsewhere may name any file of this machine: none may get into a page that is made to be shared.
func (l *soundFinder) beside(name string) string {
	if l.page == "" || l.page == output.Stdout {
		return ""
	}
	page, err := resolved(filepath.Dir(l.page))
	file, problem := resolved(name)
	rel, unrelated := filepath.Rel(page, file)
	if errors.Join(err, problem, unrelated) != nil || !filepath.IsLocal(rel) {
		return ""
	}
	return "./" + filepath.ToSlash(rel)
}

// resolved returns the path of a file from the root, without symbolic links.
func resolved(name string) (string, error) {
	path, err := filepath.EvalSymlinks(name)
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

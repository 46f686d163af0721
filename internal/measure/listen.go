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

	"verity/internal/input"
	"verity/internal/output"
	"verity/report"
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
	own  bool  // the records are of datasets that the user named to this command
	left int64 // bytes that may be embedded
}

func newSoundFinder(page string, own bool) *soundFinder { return &soundFinder{page, own, embedAll} }

// url returns the address of a record's sound; empty if it has none that plays. Where the
// utterance is a part of the file, the address says which.
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
	if n := info.Size(); n <= embedOne && n <= l.left && (l.own || l.inside(r.Audio)) {
		if raw, err := input.Read(context.Background(), r.Audio, n); err == nil && int64(len(raw)) == n {
			l.left -= n
			return "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(raw) + part
		}
	}
	if rel := l.beside(r.Audio); rel != "" {
		return (&url.URL{Path: rel}).EscapedPath() + part
	}
	return ""
}

// inside reports whether a file lies below the directory of the page, symbolic links
// followed. Records of somebody else may name any file of this machine, and a page is
// made to be shared: such a file must not get into it.
func (l *soundFinder) inside(name string) bool {
	page, err := filepath.EvalSymlinks(filepath.Dir(l.page))
	file, problem := filepath.EvalSymlinks(name)
	return errors.Join(err, problem) == nil && l.beside(name) != "" && relative(page, file) != ""
}

// beside returns the path from the page to a file in its directory or below; empty for
// others, which would not move with the page.
func (l *soundFinder) beside(name string) string {
	if l.page == "" || l.page == output.Stdout {
		return ""
	}
	rel := relative(filepath.Dir(l.page), name)
	if rel == "" {
		return ""
	}
	return "./" + filepath.ToSlash(rel)
}

// relative returns the path from a directory to a file in it or below; empty for others.
func relative(dir, file string) string {
	from, err := filepath.Abs(dir)
	to, problem := filepath.Abs(file)
	rel, unrelated := filepath.Rel(from, to)
	if errors.Join(err, problem, unrelated) != nil || !filepath.IsLocal(rel) {
		return ""
	}
	return rel
}

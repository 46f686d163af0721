package serve

import (
	"crypto/sha256"
	"embed"
	"fmt"
	"net/http"
	"path"
)

//go:embed page openapi.json
var files embed.FS

// page serves the files of the page.
func page(w http.ResponseWriter, r *http.Request) {
	name := "page/" + r.PathValue("file")
	kinds := map[string]string{".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
	if _, err := files.ReadFile(name); err != nil || kinds[path.Ext(name)] == "" {
		writeProblem(w, unknownPath(r))
		return
	}
	embedded(name, kinds[path.Ext(name)])(w, r)
}

// embedded returns the handler of a file of this package. The page may load nothing
// from elsewhere. Browsers keep files, and ask whether they have changed.
func embedded(name, kind string) http.HandlerFunc {
	data, err := files.ReadFile(name)
	if err != nil {
		panic("serve: a file is not embedded")
	}
	tag := fmt.Sprintf(`"%x"`, sha256.Sum256(data))[:20] + `"`
	return func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", kind)
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; "+
			"connect-src 'self'; media-src blob:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-cache")
		h.Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Write(data)
	}
}

package serve

import (
	"embed"
	"net/http"
)

//go:embed page.html page.js worklet.js openapi.json
var files embed.FS

// embedded returns the handler of a file of this package. The page may load nothing
// from elsewhere.
func embedded(name, kind string) http.HandlerFunc {
	data, err := files.ReadFile(name)
	if err != nil {
		panic("serve: a file is not embedded")
	}
	return func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Set("Content-Type", kind)
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; "+
			"connect-src 'self'; media-src blob:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
		h.Set("Referrer-Policy", "no-referrer")
		w.Write(data)
	}
}

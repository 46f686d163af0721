package serve

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"html/template"
	"net/http"
	"strings"
)

// An apiDescription is what the page /docs shows of openapi.json.
type apiDescription struct {
	Info  struct{ Description string }
	Paths map[string]map[string]struct {
		Summary, Description string
		Parameters           []struct {
			Name, Description string
			Schema            schema
		}
		RequestBody struct {
			Content map[string]struct{ Schema schema }
		}
		Responses map[string]struct {
			Ref         string `json:"$ref"`
			Description string
			Content     map[string]any
		}
	}
	Components struct {
		Schemas   map[string]schema
		Responses map[string]struct{ Description string }
	}
}

// A schema describes a value in JSON or in a form.
type schema struct {
	Ref         string `json:"$ref"`
	Type        any    // a string or several
	Description string
	Enum        []string
	Properties  map[string]schema
	Items       *schema
}

// nameOf returns the last part of a reference within openapi.json.
func nameOf(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] }

// Fields returns the fields of a form.
func (d *apiDescription) Fields(s schema) map[string]schema {
	return d.Components.Schemas[nameOf(s.Ref)].Properties
}

// Error returns the description of an answer that refers to one.
func (d *apiDescription) Error(ref string) string {
	return d.Components.Responses[nameOf(ref)].Description
}

const docsStyle = `body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}
h2{font-size:1rem;margin:2rem 0 .3rem}table{border-collapse:collapse;width:100%}
td{border-top:1px solid #8886;padding:.2rem .5rem .2rem 0;vertical-align:top}td:first-child{width:16rem}
code{overflow-wrap:anywhere}`

var docsPage = template.Must(template.New("docs").Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Verity: the API</title><link rel="icon" href="data:,"><style>` + docsStyle + `</style></head><body>
<h1>The API of this server</h1><p>{{.Info.Description}} <a href="openapi.json">openapi.json</a></p>
{{range $path, $methods := .Paths}}{{range $method, $o := $methods}}
<h2><code>{{$method}} {{$path}}</code></h2><p>{{$o.Summary}}. {{$o.Description}}</p>
<table>{{range $o.Parameters}}
<tr><td><code>?{{.Name}}</code></td><td>{{.Description}}{{range .Schema.Enum}} <code>{{.}}</code>{{end}}</td></tr>{{end}}
{{range $o.RequestBody.Content}}{{range $name, $s := $.Fields .Schema}}
<tr><td><code>{{$name}}</code></td><td>{{$s.Description}}{{range $s.Enum}} <code>{{.}}</code>{{end}}
{{with $s.Items}}{{range .Enum}} <code>{{.}}</code>{{end}}{{end}}</td></tr>{{end}}{{end}}
{{range $status, $r := $o.Responses}}
<tr><td>{{$status}}</td><td>{{if $r.Ref}}{{$.Error $r.Ref}}{{else}}{{$r.Description}}{{end}}
{{range $kind, $_ := $r.Content}} <code>{{$kind}}</code>{{end}}</td></tr>{{end}}</table>{{end}}{{end}}
</body></html>
`))

// handleDocs returns the handler of a page that shows openapi.json.
func handleDocs() http.HandlerFunc {
	var d apiDescription
	var page bytes.Buffer
	data, err := files.ReadFile("openapi.json")
	if err == nil {
		err = json.Unmarshal(data, &d)
	}
	if err == nil {
		err = docsPage.Execute(&page, &d)
	}
	if err != nil {
		panic("serve: openapi.json cannot be shown: " + err.Error())
	}
	style := sha256.Sum256([]byte(docsStyle))
	policy := "default-src 'none'; img-src data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; " +
		"style-src 'sha256-" + base64.StdEncoding.EncodeToString(style[:]) + "'"
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", policy)
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Write(page.Bytes())
	}
}

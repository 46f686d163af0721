package cli

import (
	"strconv"

	"verity/serve"
)

// The options under the heading Serving.
var servingRows = []*Option{
	{Name: "listen", Kind: Text, Arg: "address", Default: "127.0.0.1:8000", Max: maxPath, Scope: Server, Common: true,
		Help: "address to listen on: host:port, or unix:PATH for a unix socket"},
	{Name: "wyoming", Kind: Text, Arg: "address", Max: maxPath, Scope: Server,
		Help: "also serve the Wyoming protocol of Home Assistant on this address, such as :10300. The protocol has no keys"},
	{Name: "metrics", Kind: Text, Arg: "address", Max: maxPath, Scope: Server,
		Help: "serve /metrics on this address instead, such as 127.0.0.1:9000. It needs no key"},
	{Name: "check", Scope: Server, Help: "check the options, keys, certificate, addresses and model, and exit; addresses may be those of a server that runs"},
	{Name: "no-open", Scope: Server, Help: "do not open the page in the browser; without a terminal or a desktop it is never opened"},
	{Name: "api-key-file", Kind: Text, Arg: "file", Max: maxPath, Scope: Server, Common: true,
		Help: "file of accepted API keys, one per line, with a name for the log after a space and #; empty lines and " +
			"lines that begin with # are ignored. none lets other machines connect without a key"},
	{Name: "origin", Kind: Text, Arg: "origins", Max: maxPrompt, Scope: Server, Field: "Origins",
		Help: "origins of web pages that may call the server, separated by commas: https://example.org, " +
			"https://*.example.org for all its hosts, desktop for desktop programs such as Obsidian, or *"},
	{Name: "tls-cert", Kind: Text, Arg: "file", Max: maxPath, Scope: Server,
		Help: "PEM file with the HTTPS certificate and its key, or CERTIFICATE,KEY for two files; SIGHUP reloads them"},
	{Name: "queue", Kind: Whole, Default: strconv.Itoa(serve.DefaultWaiting), Max: 1e5, Scope: Server,
		Help: "maximum requests waiting; others are rejected and may be retried"},
	{Name: "max-upload", Kind: Whole, Arg: "MiB", Default: strconv.Itoa(serve.DefaultMaxBytes >> 20), Min: 1, Max: 1 << 20, Scope: Server,
		Help: "maximum upload size"},
	{Name: "max-audio", Kind: Time, Default: duration(serve.DefaultMaxAudio), Above: true, Max: maxMonth, Scope: Server,
		Help: "maximum audio length per request, and maximum length of a realtime session"},
	{Name: "timeout", Kind: Time, Default: duration(serve.DefaultTimeout), Above: true, Max: maxMonth, Scope: Server,
		Help: "maximum time for a request"},
}

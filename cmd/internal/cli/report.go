package cli

import (
	"verity/internal/show"
	"verity/wer/normalize"
)

// The options under the heading Report.
var reportRows = []*Option{
	{Name: "out", Short: "o", Kind: Text, Arg: "directory", Max: maxPath,
		Brief: "write records here", Help: "write records to this directory"},
	{Name: "html", Kind: Text, Arg: "file", Max: maxPath,
		Brief: "write an HTML page",
		Help: "write an HTML page to this file; it works offline. It embeds small recordings (report: only those in " +
			"the page's directory or below) and links to larger ones in that directory or below"},
	{Name: "normalizer", Kind: Choice, Arg: "name", Default: "auto",
		Choices: append([]string{"auto"}, normalize.Names()...),
		Help:    "text normalization before scoring: auto, " + show.JoinOr(normalize.Names())},
	{Name: "by", Kind: Text, Arg: "field", Max: maxLine,
		Help: "also score the utterances of each value of a field of the manifest, such as lang, tag or speaker; language is " +
			"the detected one where the manifest has none"},
	{Name: "json", Brief: "write JSON", Help: "write JSON"},
}

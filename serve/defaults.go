package serve

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"verity/internal/options"
	"verity/tokenizer"
	"verity/transcribe"
)

// checkDefaults refuses default options that no request could have: each is a matter of
// one file, or set by the path and the fields of a request.
func checkDefaults(o transcribe.Options) error {
	refuse := func(field string, value any, why string) error {
		return &transcribe.OptionError{Field: field, Value: value, Reason: why}
	}
	switch {
	case o.Task != "" && o.Task != transcribe.Transcribe:
		return refuse("Task", o.Task, "the path of a request says what to do, /v1/audio/translations that it translates")
	case o.Chunked != nil:
		return refuse("Chunked", true, "a server transcribes several requests at the same time, not several parts of one")
	case o.Spans != nil:
		return refuse("Spans", o.Spans, "it is for one file, not for all requests")
	case o.Prefix != "":
		return refuse("Prefix", o.Prefix, "it is for one file, not for all requests")
	case o.MarkAccepted:
		return refuse("MarkAccepted", true, "a request asks for it")
	}
	return nil
}

// fit resolves what the fields of a form and the server's defaults say together: what
// the form says goes before.
func fit(o transcribe.Options, words bool) transcribe.Options {
	o.WordTimestamps = o.WordTimestamps || words
	o.Multilingual = o.Multilingual && o.Language == ""
	o.CarryInitialPrompt = o.CarryInitialPrompt && o.InitialPrompt != ""
	if o.BeamSize < 2 {
		o.Patience = 0
	}
	return o
}

// spokenIn returns the language of a field: of a tag with a region, as en-US, which some
// clients send where OpenAI takes en, the language; auto is none.
func spokenIn(tag string) string {
	if strings.EqualFold(tag, "auto") {
		return ""
	}
	if i := strings.IndexAny(tag, "-_"); i > 0 && !tokenizer.KnownLanguage(tag) && tokenizer.KnownLanguage(tag[:i]) {
		return tag[:i]
	}
	return tag
}

// fields are OpenAI's form fields that set options; others have their names in the table
// of options. What no field sets is not the client's business.
var fields = map[string]string{
	"InitialPrompt": "prompt", "Task": "model", "WordTimestamps": "timestamp_granularities[]", "VAD": "chunking_strategy",
}

// asProblem returns the problem that err is, or the one with an option, whose parameters begin
// with a prefix; nil if that is not one that the client set.
func asProblem(err error, prefix string) *problem {
	if p, ok := errors.AsType[*problem](err); ok {
		return p
	}
	option, ok := errors.AsType[*transcribe.OptionError](err)
	if !ok {
		return nil
	}
	name := fields[option.Field]
	if o := options.ByField(option.Field); name == "" && o != nil && o.Who&options.Request != 0 {
		name = o.FormField()
	}
	if name == "" {
		return nil
	}
	name = prefix + name
	switch option.Field {
	case "Task":
		return wrong(http.StatusBadRequest, name, "", "This model knows English only and cannot translate.")
	case "WordTimestamps":
		return wrong(http.StatusBadRequest, name, "", "This model cannot give the times of words.")
	}
	return wrong(http.StatusBadRequest, name, "", "%s: got %q: %s", name, fmt.Sprint(option.Value), option.Reason)
}

package scribe

import (
	"context"
	"fmt"
	"io"

	"verity/internal/show"
	"verity/tokenizer"
	"verity/transcript"
)

// A languageNote output tells which language was found in a file, where nobody named one:
// a wrong guess explains a strange text.
type languageNote struct {
	sink
	w io.Writer
}

func (d *languageNote) finish(ctx context.Context, name string, t *transcript.Transcript) error {
	if err := d.sink.finish(ctx, name, t); err != nil {
		return err
	}
	if t.LanguageProb > 0 { // 0 if the language was named, or the model knows one only
		fmt.Fprintf(d.w, "%s: %s (detected, %.0f %%); --language names another\n", show.Name(name), languageName(t.Language), 100*t.LanguageProb)
	}
	return nil
}

// languageName returns openai's name of a language; its code for one of a checkpoint's own.
func languageName(code string) string {
	for _, l := range tokenizer.KnownLanguages() {
		if l.Code == code {
			return l.Name
		}
	}
	return code
}

package cli

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"verity"
	"verity/internal/show"
	"verity/transcribe"
)

// A Run has the flags of every command that turns sound into text, and opens what they name.
type Run struct {
	Env
	Model     ModelFlags
	Sound     SoundFlags
	Decoding  Decoding
	Speakers  SpeakerFlags
	Log       LogFlags
	TextFlags *pflag.FlagSet // those that can change the text
	Align     string         // the text to align
	Drafts    *TextSource    // to draft from; set by OpenTexts, as is the next
	Texts     *TextSource    // to align
}

// Check refuses flags that do not go together or name nothing.
func (r *Run) Check() error {
	if r.Speakers.Channels && r.Sound.Channel > 0 {
		return Usagef("--speakers channels cannot be combined with --channel")
	}
	if r.Speakers.Channels && r.Align != "" {
		return Usagef("--align cannot be combined with --speakers channels: the text is of all channels; --speakers voice tells voices apart")
	}
	return cmp.Or(r.Sound.Check(), r.Speakers.Check())
}

// Loading shows on a terminal that the model is being loaded, until the caller calls done.
func (r *Run) Loading() (done func()) {
	if r.Log.Quiet || r.Log.chatty() || r.Log.Progress == "never" {
		return func() {}
	}
	r.Stage("loading " + show.Name(r.Model.Name))
	return r.ClearStage
}

// Load reads the voices of speakers that have names, and loads the model for decoding with opt.
func (r *Run) Load(ctx context.Context, opt transcribe.Options) (*verity.Model, error) {
	var err error
	if opt.Speakers, err = r.Speakers.Options(ctx, r.Env, &r.Sound); err != nil {
		return nil, err
	}
	defer r.Loading()()
	return r.Model.Load(ctx, opt)
}

// Note writes a line about the run, unless --quiet is given.
func (r *Run) Note(format string, args ...any) {
	if !r.Log.Quiet {
		fmt.Fprintf(r.Err, format, args...)
	}
}

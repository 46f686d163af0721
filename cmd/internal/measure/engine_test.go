package measure

import (
	"strings"
	"testing"

	"verity/assistant"
	"verity/audio"
	"verity/cmd/internal/cli"
	"verity/datasets"
	"verity/transcribe"
)

// TestPieces checks that the pieces of a record are its text, to the letter, and that
// they say which round chose them and what it refused.
func TestPieces(t *testing.T) {
	flags := cli.ModelFlags{Name: "../../../model/digits/target", Assistant: cli.AssistantFlags{
		Name: "self", Policy: func() assistant.Policy { return assistant.Constant(3) },
	}}
	m, err := flags.Load(t.Context(), transcribe.Options{TokenOrigins: true, Strategy: transcribe.Upstream})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	e := newEngine(m, nil)
	clip, err := audio.Open(t.Context(), "../../../model/digits/digits.wav")
	if err != nil {
		t.Fatal(err)
	}
	defer clip.Close()
	tr, err := e.transcribe(t.Context(), clip, datasets.Utterance{})
	if err != nil {
		t.Fatal(err)
	}
	accepted, words, round, refused := 0, 0, 0, 0
	for _, s := range tr.Segments {
		var text strings.Builder
		for _, p := range s.Runs {
			text.WriteString(p.Text)
			words++
			if p.Round < round || p.Round > tr.Stats.Drafts.Rounds {
				t.Errorf("piece %+v after round %d, of %d", p, round, tr.Stats.Drafts.Rounds)
			}
			round = p.Round
			if p.Refused != "" {
				refused++
			}
			if p.Accepted {
				accepted++
			}
		}
		if text.Len() > 0 && text.String() != s.Text {
			t.Errorf("pieces %q, want the text of the segment, %q", text.String(), s.Text)
		}
	}
	// Every fourth token is the model's own, so some words are and most are not.
	if accepted == 0 || accepted == words {
		t.Errorf("%d of %d pieces were drafted, want some and not all; %d refused some", accepted, words, refused)
	}
}

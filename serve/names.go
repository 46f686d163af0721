package serve

import (
	"slices"
	"strings"

	"verity/transcribe"
)

// knows reports whether a request may use a name for the first model: its own in any of the
// forms in which models of Whisper are published, one of OpenAI's hosted models, which
// clients send by default, an alias, or none.
func (s *Server) knows(model string) bool {
	return model == "" || plainName(model) == plainName(s.opt.Name) || hosted(model) ||
		slices.Contains(s.opt.Aliases, model) || slices.Contains(s.opt.Aliases, "*")
}

// hosted reports whether a name is one of OpenAI's models of transcription, or a dated
// edition of one.
func hosted(model string) bool {
	for _, name := range []string{"whisper-1", "gpt-4o-transcribe", "gpt-4o-mini-transcribe"} {
		if rest, ok := strings.CutPrefix(model, name); ok && (rest == "" || strings.HasPrefix(rest, "-20")) {
			return true
		}
	}
	return false
}

// plainName returns small of openai/whisper-small, Systran/faster-whisper-small,
// ggml-small.bin and small.pt; large and turbo are the models that they stand for.
func plainName(model string) string {
	name := strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	for _, affix := range []string{"faster-", "ggml-", "whisper-"} {
		name = strings.TrimPrefix(name, affix)
	}
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".bin"), ".pt")
	switch name {
	case "large":
		return "large-v3"
	case "turbo":
		return "large-v3-turbo"
	}
	return name
}

// A language is one that the model knows.
type language struct {
	Code string `json:"code"`
	Name string `json:"name"`
}

func languagesOf(m *transcribe.Model) []language {
	list := []language{}
	for _, l := range m.Tokenizer.Languages() {
		list = append(list, language{l.Code, l.Name})
	}
	if len(list) == 0 || !m.Generation.Multilingual {
		return []language{{"en", "English"}}
	}
	return list
}

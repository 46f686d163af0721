package hub

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// repoName matches owner/name as the hub allows it.
var repoName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*$`)

// repos holds the short names of published models.
var repos = map[string]string{
	"large-v1": "openai/whisper-large", "large": "openai/whisper-large-v3", "turbo": "openai/whisper-large-v3-turbo",
	"distil-small.en": "distil-whisper/distil-small.en", "distil-medium.en": "distil-whisper/distil-medium.en",
	"distil-large-v2": "distil-whisper/distil-large-v2", "distil-large-v3": "distil-whisper/distil-large-v3",
	"distil-large-v3.5": "distil-whisper/distil-large-v3.5",
}

func init() {
	for _, size := range []string{"tiny", "tiny.en", "base", "base.en", "small", "small.en", "medium", "medium.en",
		"large-v2", "large-v3", "large-v3-turbo"} {
		repos[size] = "openai/whisper-" + size
	}
}

// Names returns the short names of published models.
func Names() []string { return slices.Sorted(maps.Keys(repos)) }

// Repo returns the owner/name that a name stands for, and false if it cannot be a model
// of the hub.
func Repo(name string) (string, bool) {
	if repo, ok := repos[name]; ok {
		return repo, true
	}
	return name, repoName.MatchString(name) && !strings.Contains(name, "..") && !strings.Contains(name, "--")
}

// also returns the repositories that hold the same weights for CTranslate2.
func also(repo string) []string {
	if size, ok := strings.CutPrefix(repo, "openai/whisper-"); ok {
		switch size {
		case "large":
			size = "large-v1"
		case "large-v3-turbo":
			return []string{"mobiuslabsgmbh/faster-whisper-large-v3-turbo"}
		}
		return []string{"Systran/faster-whisper-" + size}
	}
	if size, ok := strings.CutPrefix(repo, "distil-whisper/distil-"); ok {
		return []string{"Systran/faster-distil-whisper-" + size}
	}
	return nil
}

// Partners returns the published models that can draft for a model, the best first:
// its distilled decoder, then a small model of the same vocabulary.
func Partners(repo string) []string {
	switch {
	case strings.HasSuffix(repo, "whisper-large-v3"), strings.HasSuffix(repo, "whisper-large-v3-turbo"):
		return []string{"distil-whisper/distil-large-v3.5", "distil-whisper/distil-large-v3"}
	case strings.HasSuffix(repo, "whisper-large-v2"):
		return []string{"distil-whisper/distil-large-v2", "openai/whisper-tiny"}
	case strings.HasSuffix(repo, "whisper-medium.en"):
		return []string{"distil-whisper/distil-medium.en", "openai/whisper-tiny.en"}
	case strings.HasSuffix(repo, "whisper-small.en"):
		return []string{"distil-whisper/distil-small.en", "openai/whisper-tiny.en"}
	case strings.HasSuffix(repo, "whisper-medium"), strings.HasSuffix(repo, "whisper-small"),
		strings.HasSuffix(repo, "whisper-large"):
		return []string{"openai/whisper-tiny"}
	}
	return nil
}

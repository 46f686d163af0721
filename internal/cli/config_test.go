package cli

import (
	"slices"
	"strings"
	"testing"
)

// TestConfigKeys checks that every key is a flag of transcribe, and that no command
// takes defaults from a file unless it is told which.
func TestConfigKeys(t *testing.T) {
	c, _, err := newRoot(env{}).Find([]string{"transcribe"})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range configKeys {
		if c.Flags().Lookup(key) == nil {
			t.Errorf("transcribe has no flag --%s", key)
		}
	}
}

// TestConfigReaches checks that a setting becomes the default of every command that
// transcribes and has the flag, and of no other command.
func TestConfigReaches(t *testing.T) {
	values := map[string]string{
		"model": "small", "threads": "3", "language": "nl", "task": "translate", "output-format": "srt,json",
		"output-dir": "subs", "precision": "int8", "batch": "2", "assistant": "self", "vad": "true",
		"word-timestamps": "true", "max-line-width": "40", "max-line-count": "2", "initial-prompt": "Verity",
		"hotwords": "bits", "beam-size": "5", "best-of": "5", "timestamps": "true", "highlight": "auto",
		"progress": "always", "ffmpeg": "never", "strict": "true", "quiet": "true", "log-level": "debug",
	}
	t.Setenv(modelVariable, "")
	reached := map[string]int{}
	for _, key := range configKeys {
		root := newRoot(env{})
		if err := configure(root, []setting{{key, values[key], 1}}); err != nil {
			t.Fatalf("%s: %v", key, err)
		}
		for _, c := range root.Commands() {
			f := c.Flags().Lookup(key)
			if f == nil {
				continue
			}
			want := factory(f)
			if slices.Contains(configured, c.Name()) {
				want = values[key]
				reached[c.Name()]++
			}
			if f.DefValue != want || f.Value.String() != want {
				t.Errorf("%s --%s: default %q, value %q, want %q", c.Name(), key, f.DefValue, f.Value, want)
			}
		}
	}
	for name, most := range map[string]int{"transcribe": len(configKeys), "eval": 15, "compare": 15, "serve": 15} {
		if reached[name] < most {
			t.Errorf("%s takes %d keys, want %d", name, reached[name], most)
		}
	}
}

// FuzzConfig reads files of any content; what it takes must survive being printed.
func FuzzConfig(f *testing.F) {
	f.Add("# mine\nmodel = small\n\nlanguage=\"nl\\n\"\n")
	f.Add("model = \"")
	f.Fuzz(func(t *testing.T, text string) {
		settings, err := parseConfig(strings.NewReader(text))
		if err != nil {
			return
		}
		var b strings.Builder
		for _, s := range settings {
			b.WriteString(s.key + " = " + quoted(s.value) + "\n")
		}
		again, err := parseConfig(strings.NewReader(b.String()))
		same := func(a, b setting) bool { return a.key == b.key && a.value == b.value }
		if err != nil || !slices.EqualFunc(settings, again, same) {
			t.Errorf("%q: %v became %v, %v", b.String(), settings, again, err)
		}
	})
}

package cli

import (
	"path/filepath"
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

// FuzzConfig reads files of any content; what it takes must survive being written.
func FuzzConfig(f *testing.F) {
	f.Add("# mine\nmodel = small\n\nlanguage=\"nl\\n\"\n", "a b")
	f.Add("model = \"", " x\x00")
	f.Fuzz(func(t *testing.T, text, value string) {
		if settings, err := parseConfig(strings.NewReader(text)); err == nil {
			var b strings.Builder
			for _, s := range settings {
				b.WriteString(s.key + " = " + quoted(s.value) + "\n")
			}
			again, err := parseConfig(strings.NewReader(b.String()))
			same := func(a, b setting) bool { return a.key == b.key && a.value == b.value }
			if err != nil || !slices.EqualFunc(settings, again, same) {
				t.Errorf("%q: %v became %v, %v", b.String(), settings, again, err)
			}
		}
		path := filepath.Join(t.TempDir(), "config")
		if err := editConfig(path, "hotwords", "hotwords = "+quoted(value)); err != nil {
			t.Fatal(err)
		}
		settings, err := readConfig(path)
		if err != nil || len(settings) != 1 || settings[0].value != value {
			t.Errorf("%q became %v, %v", value, settings, err)
		}
	})
}

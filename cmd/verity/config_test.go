package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"verity/cmd/internal/cli"
	"verity/cmd/internal/options"
)

// another returns a value of an option that is not its default.
func another(o *options.Option) string {
	switch o.Kind {
	case options.Switch:
		return map[string]string{"true": "false", "false": "true"}[o.DefaultText()]
	case options.Choice:
		return o.Choices[(slices.Index(o.Choices, o.Default)+1)%len(o.Choices)]
	case options.Whole:
		return strconv.Itoa(int(o.Max))
	case options.Real:
		return strconv.FormatFloat(o.Max, 'g', -1, 64)
	case options.Unsigned:
		return "18446744073709551615"
	case options.Time:
		return "7m0s"
	}
	switch o.Name {
	case "language", "audio-track":
		return "nl"
	case "output-format":
		return "srt,json"
	case "suppress-tokens", "audio-context", "draft-tokens":
		return "7"
	case "precision", "assistant-precision":
		return "int8"
	case "terms":
		return "testdata/terms.txt"
	}
	return "x"
}

// TestConfigApplies sets every key to another value, in the file and in the environment.
// It becomes the default of every command that has the flag, from the file only of those
// that transcribe.
func TestConfigApplies(t *testing.T) {
	reached := map[string]int{}
	for _, key := range configKeys() {
		o := options.Find(key)
		for _, inEnv := range []bool{false, true} {
			root, settings := newRoot(cli.Env{}), []setting{{key, another(o), 1}}
			if inEnv {
				settings = nil
				t.Setenv(o.Variable(), another(o))
			}
			if err := configure(root, "", settings); err != nil {
				t.Fatalf("%s: %v", key, err)
			}
			for _, c := range root.Commands() {
				f := c.Flags().Lookup(key)
				if f == nil {
					continue
				}
				changed := f.Annotations[cli.FromKey] != nil && f.DefValue == f.Value.String()
				if want := inEnv || slices.Contains(commandsOf(key), c.Name()); changed != want {
					t.Errorf("%s --%s: default %q, value %q; changed %v, want %v", c.Name(), key, f.DefValue, f.Value, changed, want)
				}
				if _, known := f.Value.(*cli.OptionFlag); known && changed && f.DefValue != another(o) {
					t.Errorf("%s --%s: default %q, want %q", c.Name(), key, f.DefValue, another(o))
				}
				reached[c.Name()]++
			}
			t.Setenv(o.Variable(), "")
		}
	}
	shared := 0
	for _, key := range configKeys() {
		if len(commandsOf(key)) > 1 {
			shared++
		}
	}
	if reached["transcribe"] != 2*shared || reached["serve"] < 2*15 || reached["eval"] < 2*30 {
		t.Errorf("keys reached: %v, want all %d of transcribe", reached, shared)
	}
}

// TestConfigRefuses: an error names the variable, or the line of the file.
func TestConfigRefuses(t *testing.T) {
	for _, key := range configKeys() {
		o := options.Find(key)
		if o.Kind == options.Text {
			continue
		}
		t.Setenv(o.Variable(), "x,,x")
		if err := configure(newRoot(cli.Env{}), "", nil); err == nil || !strings.HasPrefix(err.Error(), "$"+o.Variable()+"=x,,x: ") {
			t.Errorf("%s: %v", o.Variable(), err)
		}
		t.Setenv(o.Variable(), "")
		if err := configure(newRoot(cli.Env{}), "c", []setting{{key, "x,,x", 3}}); err == nil || !strings.HasPrefix(err.Error(), "config file c: line 3: "+key+" = ") {
			t.Errorf("%s: %v", key, err)
		}
	}
}

// FuzzConfig reads arbitrary config files; accepted settings must survive printing.
func FuzzConfig(f *testing.F) {
	f.Add("# mine\nmodel = small\n\nlanguage=\"nl\\n\"\n")
	f.Add("model = \"")
	f.Fuzz(func(t *testing.T, text string) {
		settings, err := parseConfig(text)
		if err != nil {
			return
		}
		var b strings.Builder
		for _, s := range settings {
			b.WriteString(s.key + " = " + quoted(s.value) + "\n")
		}
		again, err := parseConfig(b.String())
		same := func(a, b setting) bool { return a.key == b.key && a.value == b.value }
		if err != nil || !slices.EqualFunc(settings, again, same) {
			t.Errorf("%q: %v became %v, %v", b.String(), settings, again, err)
		}
	})
}

// TestConfigMark: PowerShell begins a file with a byte order mark.
func TestConfigMark(t *testing.T) {
	settings, err := parseConfig("\ufeffmodel = small\r\n# x\r\n")
	if err != nil || len(settings) != 1 || settings[0].key != "model" || settings[0].value != "small" {
		t.Errorf("got %v, %v, want model = small", settings, err)
	}
}

// TestConfigSize: a huge config file is refused.
func TestConfigSize(t *testing.T) {
	name := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(name, bytes.Repeat([]byte("# x\n"), 1<<18), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readConfig(t.Context(), name); err == nil || !strings.Contains(err.Error(), name) {
		t.Errorf("1 MB of config: %v", err)
	}
}

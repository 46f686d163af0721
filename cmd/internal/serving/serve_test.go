package serving

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"verity/serve"
	"verity/transcribe"
)

// TestFormFields: requests set what the table of options lets them set, within the bounds of flags.
func TestFormFields(t *testing.T) {
	for _, tt := range []struct {
		name, value string
		wrong       string // the error; empty for none
		set         func(o transcribe.Options) bool
	}{
		{"hotwords", "seven", "", func(o transcribe.Options) bool { return o.Hotwords == "seven" }},
		{"beam_size", "2", "", func(o transcribe.Options) bool { return o.BeamSize == 2 }},
		{"beam_size", "many", "a whole number from 0 to 64", nil},
		{"beam_size", "1000000", "a value from 0 to 64", nil},
		{"best_of", "1e300", "a whole number from 0 to 64", nil},
		{"no_speech_threshold", "none", "", func(o transcribe.Options) bool { return o.MaxNoSpeech > 1 }},
		{"compression_ratio_threshold", "-1000000", "a value from 0 to 1000, or none", nil},
		{"condition_on_previous_text", "false", "", func(o transcribe.Options) bool { return o.ForgetPrevious }},
	} {
		i := slices.IndexFunc(formFields(), func(f serve.Field) bool { return f.Name == tt.name })
		if i < 0 {
			t.Errorf("%s is no field", tt.name)
			continue
		}
		var o transcribe.Options
		switch err := formFields()[i].Set(&o, tt.value); {
		case (err != nil) != (tt.wrong != ""), err != nil && err.Error() != tt.wrong:
			t.Errorf("%s=%s: %v, want %q", tt.name, tt.value, err, tt.wrong)
		case err == nil && !tt.set(o):
			t.Errorf("%s=%s sets %+v", tt.name, tt.value, o)
		}
	}
	for _, f := range formFields() {
		if f.Option == "" || slices.Contains([]string{"prefix", "threads", "listen"}, f.Name) {
			t.Errorf("%s must be no field", f.Name)
		}
	}
}

// TestKeyFile: lines that are empty or comments are no keys, and no message has a key.
func TestKeyFile(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct {
		name, text string
		want       []string
		problem    string
	}{
		{"plain", "one\ntwo\n", []string{"one", "two"}, ""},
		{"comments, empty lines, spaces at the ends", "# of the kitchen\n\n  sk-one \n\t# old: sk-zero\n\ntwo", []string{"sk-one", "two"}, ""},
		{"Windows", "\ufeffone\r\n\r\n# x\r\ntwo\r\n", []string{"one", "two"}, ""},
		{"a number sign inside", "one#1\n", []string{"one#1"}, ""},
		{"empty", "", nil, "there is no key in it: want one a line"},
		{"comments alone", "# one\n\n", nil, "there is no key in it: want one a line"},
		{"names", "one # of the kitchen\ntwo\t#Ann\nthree #\n", []string{"one", "two", "three"}, ""},
		{"two in a line", "# keys\none\nsecret two\n", nil, "line 3: a key has a space"},
		{"beyond ASCII", "geheim-schlüssel\n", nil, "line 1: a key has a space, or a character that a header cannot hold"},
	} {
		file := filepath.Join(dir, "keys")
		if err := os.WriteFile(file, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		keys, err := readKeys(t.Context(), file)
		var secrets []string
		for _, k := range keys {
			secrets = append(secrets, k.Secret)
		}
		if tt.name == "names" && (keys[0].Name != "of the kitchen" || keys[1].Name != "Ann" || keys[2].Name != "") {
			t.Errorf("the names are %+v", keys)
		}
		if tt.problem == "" && (err != nil || !slices.Equal(secrets, tt.want)) {
			t.Errorf("%s: %q, %v, want %q", tt.name, keys, err, tt.want)
		}
		if tt.problem != "" && (err == nil || !strings.Contains(err.Error(), file+": "+tt.problem)) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.problem)
		}
		if err != nil && (strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "geheim")) {
			t.Errorf("%s: the message has the key: %v", tt.name, err)
		}
	}
	for _, name := range []string{filepath.Join(dir, "none"), dir} {
		if _, err := readKeys(t.Context(), name); err == nil || strings.Contains(err.Error(), "open ") || strings.Contains(err.Error(), "read ") {
			t.Errorf("%s: %v, want an error without the system call", name, err)
		}
	}
}
